import { cut } from "../../base/bytes.ts";
import { withoutSecrets } from "../../base/secret-shapes.ts";
import { isGibberish } from "./gibberish.ts";

/** Longest masked message, in UTF-16 code units. */
export const MESSAGE_MAX = 160;

/** What of a message is read, likewise: so much that values before its end seldom matter. */
const READ_MAX = 1_000;

const LONG_MAX = 20_000;

/** Masks of messages that came before, and of what numbers leave of them. */
const whole = new Map<string, string>();
const known = new Map<string, string>();
/** Each such memory is cleared when it has so many. */
const KNOWN_MAX = 500;

export function note(into: Map<string, string>, text: string, mask: string): string {
  if (into.size >= KNOWN_MAX) into.clear();
  into.set(text, mask);
  return mask;
}

/**
 * A message without secrets, and what differs each time: ids, numbers, times, addresses, paths,
 * quoted values, JSON are `#`. Of JSON, its code stays; of an address of the web, the end of its
 * host. All that is masked looks the same, as an id of ten characters may be all digits, or all
 * letters. Masking twice changes nothing. Cut to {@link MESSAGE_MAX}; takes linear time, and reads
 * as much as {@link READ_MAX} says.
 */
export function masked(message: string): string {
  const before = whole.get(message);
  if (before !== undefined) return before;
  // A long one is mostly JSON, and what is behind it says more.
  const head = message.length > READ_MAX ? withoutJson(cut(message, LONG_MAX)) : message;
  const mask = settled(withoutNumbers(cut(head, READ_MAX)), 0);
  return message.length > READ_MAX ? mask : note(whole, message, mask);
}

const ROUNDS_MAX = 5;

/** Masks until nothing changes: what is masked, or cut off, may change what the rest looks like. */
function settled(text: string, round: number): string {
  const before = known.get(text);
  if (before !== undefined) return before;
  const next = cut(details(text), MESSAGE_MAX);
  const mask = next === text || round === ROUNDS_MAX ? next : settled(withoutNumbers(next), round + 1);
  return note(known, text, mask);
}

/** The class of a status stays: `4xx` and `5xx` are different problems. */
const STATUS = /\b(status(?:[ _]?code)?["']?[:=]? ?|HTTP[ /:]*)([1-5])\d\d(?!\d)/gi;

/** Products and standards whose digits are of their names. */
const TERMS =
  "R2|D1|S3|EC2|Auth0|Neo4j|OAuth2|HTTP[23]|IPv[46]|ipv[46]|X509|(?:SHA|sha)-?(?:1|256|384|512)|MD5|md5|[HREP]S256|[Bb]ase(?:32|58|64)|(?:UTF|utf)-?(?:8|16)|CRC32|2FA|3DS|[Kk]8s";
const TERM = new RegExp(`^(?:${TERMS})$`);
const HAS_TERM = new RegExp(`(?<![A-Za-z0-9])(?:${TERMS})(?![A-Za-z0-9])`);

/** UUIDs, words of hexadecimal digits, and numbers. */
const NUMBERS =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-z])(?=[a-f]*[0-9])[0-9a-f]{6,}(?![0-9a-z])|[0-9]+(?!xx)/gi;

/**
 * The cheap part: messages of a kind mostly have the rest in common. Numbers become `0` here, so
 * that the rest can tell them.
 */
function withoutNumbers(message: string): string {
  const safe = withoutSecrets(message, "#");
  const text = /status|http/i.test(safe) ? safe.replace(STATUS, "$1$2xx") : safe;
  const plain = HAS_TERM.test(text) ? text.replace(TERMS_AND_NUMBERS, termOf) : text.replace(NUMBERS, "0");
  // What is quoted in JSON may be a code.
  return /["'`]/.test(plain) && !/[{[]/.test(plain) ? plain.replace(PLAIN_QUOTED, quotedOf) : plain;
}

const TERMS_AND_NUMBERS = new RegExp(`(?-i:${HAS_TERM.source})|${NUMBERS.source}`, "gi");

function termOf(found: string): string {
  return TERM.test(found) ? found : "0";
}

function details(text: string): string {
  const flat = text
    .replace(/[\s\p{C}]+/gu, " ")
    .trim()
    .replace(/\bInvalid URL: .*/, "Invalid URL: #");
  const parsing = flat.replace(/Unexpected token .{1,120}? is not valid JSON/g, "Unexpected token # is not valid JSON");
  const plain = withoutJson(parsing.includes(" is not ") ? parsing.replace(SHORT_NAME, "#") : parsing);
  const unquoted = /["'`“”‘’„«»‹›「」『』]/.test(plain) ? plain.replace(QUOTED, quotedOf) : plain;
  return collapsed(unquoted.split(" ").map(chunkOf).join(" "));
}

/** Longest text without a blank that is looked at, in UTF-16 code units. */
const CHUNK_MAX = 200;

/** What stands between blanks. Most are words. */
function chunkOf(chunk: string): string {
  const word = /^\(?[A-Za-z]+(?=[).,;!?]{0,3}:?$)/.exec(chunk)?.[0];
  if (word !== undefined) return word.length < 6 ? chunk : chunk.replace(/[A-Za-z]+/, wordOf);
  const isValue = chunk.length > CHUNK_MAX && /^[\x20-\x7e]+$/.test(chunk);
  return isValue ? "#" : chunk.slice(0, CHUNK_MAX).replace(VALUES, maskedValue);
}

/** A minifier's name of a variable, in what the runtime says of it. */
const SHORT_NAME =
  /(?<![\w$.#'"-])[A-Za-z_$][\w$]?(?=[\w$.[\]()?]{0,80} is not (?:a function|iterable|defined|a constructor|an object))(?![\w$])/g;

const PLAIN_QUOTED = /"[^"]{0,300}"|(?<![A-Za-z0-9])'[^']{0,300}'(?![A-Za-z0-9])|`[^`]{0,300}`/g;

const QUOTED =
  /(?<![\p{L}\p{N}])'[^']{0,300}'(?![\p{L}\p{N}])|"[^"]{0,300}"|`[^`]{0,300}`|[„“”][^“”„]{0,300}[“”]|«[^»]{0,300}»|‹[^›]{0,300}›|‘[^’]{0,300}’|「[^」]{0,300}」|『[^』]{0,300}』/gu;

const FILE =
  "(?:png|jpe?g|gif|webp|avif|svg|ico|pdf|csv|json|xml|txt|html?|css|zip|gz|tar|mp[34]|webm|wav|docx?|xlsx?|parquet|log|bin|wasm)";

/** Whatever may be a value, the longest shapes first. Each alternative is bounded. */
const VALUES = new RegExp(
  [
    `([a-z][a-z0-9+.-]{1,15}://[^\\s"'\`<>(){}|,;]{1,1000})`,
    `(?:data:[\\w/+.-]{1,60}[;,][^\\s"']*`,
    `eyJ[\\w-]{5,}(?:\\.[\\w-]*){0,2}`,
    `(?<![\\p{L}\\p{N}_.+%@-])[\\p{L}\\p{N}_.+%-]{1,64}@[\\p{L}\\p{N}-]{1,63}(?:\\.[\\p{L}\\p{N}-]{1,63})+`,
    `(?<![\\p{L}\\p{N}:])(?:[0-9a-fA-F]{0,4}:){2,9}[0-9a-fA-F]{0,4}(?![\\p{L}\\p{N}:])`,
    `(?<![\\p{L}\\p{N}\\])}#/\\\\])(?:[A-Za-z]:\\\\|~/|\\.{0,2}[/\\\\])(?=[^\\s]{0,20}[\\p{L}\\p{N}#_-])[^\\s"'\`,;()<>|]+)`,
    `((?<![\\p{L}\\p{N}])[\\w.-]{0,20}(?:[iI][dD]|[kK]ey|KEY|[pP]ass|PASS|hash|sha|etag|uuid|user|email|name|session|ray)[=:](?!null|undefined|[\\s/])["']?[^\\s"',;&)}\\]]+["']?)`,
    `((?<![\\w+/=-])[\\w+/=-]{14,}(?![\\w+/=-]|[.@~%]\\w))`,
    `((?<![\\w.@~%+=-])[\\w.@~%+=-]{1,100}(?:/[\\w.@~%+=-]{1,100})+)`,
    `(?:(?<![\\p{L}\\p{N}_.-])[\\p{L}\\p{N}_-]{1,100}(?:\\.[\\p{L}\\p{N}_-]{1,60}){0,3}\\.${FILE}(?![\\p{L}\\p{N}]))`,
    `((?<![\\w.-])(?:[\\w-]{1,63}\\.){2,8}(?:com|net|org|io|dev|app|cloud|internal|local|example|test)(?![\\w-]))`,
    `([\\p{L}\\p{M}\\p{N}_$-]+)`,
  ].join("|"),
  "gu",
);

type Values = [url?: string, keyed?: string, blob?: string, path?: string, host?: string, word?: string];

function maskedValue(text: string, ...[url, keyed, blob, path, host, word]: Values): string {
  if (word !== undefined) return wordOf(word);
  if (url !== undefined) return urlOf(url);
  if (blob !== undefined) return blob.endsWith("=") || (/[+/=]/.test(blob) && isRandom(blob)) ? "#" : pathOf(blob);
  if (path !== undefined) return pathOf(path);
  if (host !== undefined) return hostOf(host);
  return keyed === undefined ? "#" : `${text.slice(0, /[=:]/.exec(text)?.index)}=#`;
}

/** Its scheme, and of its host what {@link hostOf} says. */
function urlOf(url: string): string {
  const [, scheme = "", host = ""] = /^([^:]+):\/\/(?:[^/?#@]*@)?((?:#\.)?[\w.-]*)/.exec(url) ?? [];
  return host === "" ? "#" : `${scheme}://${hostOf(host)}/#`;
}

/** Names of hosts of a service; a customer's has the customer's. */
const SERVICE = /^(?:[a-z]+-)?(?:apis?|auth|oauth|login|accounts|graph|gateway|rpc|identity)$|^[a-z]{3,}apis$/;

/** The last two parts: whose service it is. Of one whose name says that it is an API, all. */
function hostOf(host: string): string {
  const parts = host.split(".");
  const last = parts.slice(-2).map(wordOf);
  if (isService(host)) return host;
  if (last.every((each) => each.includes("#"))) return "#";
  return parts.length > 2 ? `#.${last.join(".")}` : last.join(".");
}

/** Whether each customer calls it the same. */
export function isService(host: string): boolean {
  const parts = host.split(".");
  return parts.slice(0, -1).some((part) => SERVICE.test(part)) && parts.every((part) => wordOf(part) === part);
}

/** Quoted texts after these are names in the code, not values. */
const NAMED_BY =
  /(?:reading|setting|property|properties|access|execute|type|argument|parameter|option|column|table|relation|field|header|method|function|module|import|export|class|binding|constraint|code) ?[:=]? ?$/i;

const NAMED_AS = /^ (?:argument|parameter|option|property|field|column|header|method|binding)\b/;

function quotedOf(quoted: string, at: number, all: string): string {
  const text = quoted.slice(1, -1);
  const [before, after] = [all.slice(Math.max(0, at - 24), at), all.slice(at + quoted.length, at + quoted.length + 12)];
  const isName =
    text.length <= 61 &&
    /^[\p{L}_$][\p{L}\p{N}_$.-]{0,60}$/u.test(text) &&
    (NAMED_BY.test(before) || NAMED_AS.test(after));
  // Of a table.
  const isKey = /^[a-z_]+\.[A-Za-z_]+$/.test(text) && /\bkey $/.test(before);
  if (isName || isKey) return `'${text.split(".").map(wordOf).join(".")}'`;
  // Marks stay: what was expected.
  return /^[,;:(){}[\]<>]{1,2}$/.test(text) ? `'${text}'` : "#";
}

const MIME = /^(?:application|text|image|audio|video|multipart|font)\/[a-z.+*-]+$/;

function pathOf(path: string): string {
  if (MIME.test(path)) return path;
  const parts = path.split("/");
  const isPath = parts.length > 2 || /\.[A-Za-z0]{1,5}$/.test(path) || parts.some((part) => part.length > 40);
  return isPath ? "#" : parts.map((part) => part.replace(/[^.=@%+~]+/g, wordOf)).join("/");
}

/**
 * A word, of which the parts with digits, and those that no one would write, are masked: what is in
 * front of `-` or `_` is often the name of what the id is of.
 */
function wordOf(word: string): string {
  if (/^[1-5]xx$/.test(word) || TERM.test(word)) return word;
  if (isRandom(word)) return `${/^(?:[a-z]{2,7}_){1,2}(?=[A-Za-z0-9]{6,}$)/.exec(word)?.[0] ?? ""}#`;
  const hasDigit = /\p{N}/u.test(word);
  if (!hasDigit && word.length < 6) return word;
  const parts = word.replace(/[^_-]+/g, (part) => partOf(part, hasDigit));
  return parts === word ? word : parts.replace(/^[_-]+(?=#)|(?<=#)[_-]+$/g, "");
}

function partOf(part: string, isMixed: boolean): string {
  if (/\p{N}/u.test(part)) {
    if (TERM.test(part)) return part;
    if (/^[A-Z]0$/.test(part)) return `${part[0]}#`;
    // Texts without blanks: 订单123未找到.
    return /[^ -\u024f]/.test(part) ? part.replace(/[ -\u024f]*\p{N}+[ -\u024f]*/gu, "#") : "#";
  }
  const isPiece = isMixed && (/^[a-f]+$/.test(part) || part.length === 1 || /^[A-Z]\w$/.test(part) || isMixedUp(part));
  return isPiece || /^(?:[a-f]{8,}|[A-F]{8,})$/.test(part) || isGibberish(part) ? "#" : part;
}

/** Upper and lower case as no name has it. */
function isMixedUp(part: string): boolean {
  return /[A-Z]/.test(part) && /[a-z]/.test(part) && !/^[a-z]*(?:[A-Z][a-z]+)*$/.test(part);
}

/** Upper case, lower case and digits in no order, as in base64. */
function isRandom(word: string): boolean {
  let [upper, changes, digits, length] = [0, 0, 0, 0];
  let before = "";
  for (const character of word) {
    const kind = /[A-Z]/.test(character) ? "A" : /[a-z]/.test(character) ? "a" : /[0-9]/.test(character) ? "0" : "";
    if (kind === "") continue;
    length += 1;
    upper += Number(kind === "A");
    digits += Number(kind === "0");
    changes += Number(before !== "" && kind !== before && !(before === "A" && kind === "a"));
    before = kind;
  }
  if (length < 10 || /[^\w+/=-]/.test(word)) return false;
  if (digits > 0) return changes / length >= 0.25;
  return isMixedUp(word) && upper / length >= 0.38 && upper / length <= 0.85;
}

/** Of some languages, in full or as English shortens them. */
const MONTH =
  "(?:Jan(?:uary?|vier)?|Feb(?:ruary?|rero)?|Février|Mar(?:ch|s|zo)?|März|Mayo?|Mai|Apr(?:il)?|Avril|Abril|June?|Juni?o?|Juin|July|Juli?o?|Juillet|Aug(?:ust)?|Août|Agosto|Sep(?:t|tember|tembre|tiembre)?|O[ck]t(?:ober|obre|ubre)?|Nov(?:ember|embre|iembre)?|De[cz](?:ember)?|Décembre|Dic(?:iembre)?|Enero)\\.?(?![\\p{L}\\p{N}])";
const DAY = "(?:\\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?";
const DATES = new RegExp(`#\\.? (?:de )?${MONTH} (?:de )?#`, "giu");
const NAMED_DATES = new RegExp(`${DAY}(?<!\\p{L})(?:${MONTH} #|#,? ${MONTH}(?: #)?)`, "gu");

/** Of times and sizes, which change with the number. */
const UNITS =
  /# ?(?:ns|µs|ms|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|B|bytes?|[kKMGT]i?B|%|AM|PM|UTC|GMT|秒|分|毫秒)(?![\p{L}\p{N}_])/gu;
/** Several values in a row are one: of some, there are more. */
const ROW = /(?:(?<![\p{L}\p{N}])[-+~≈$€£¥])?#+(?:(?:, ?| ?[-–:./|_×~+] ?| )[-+$€£¥]?#+)*/gu;

function collapsed(text: string): string {
  let short = text.replace(UNITS, "#").replace(ROW, "#");
  if (/\p{L} #|# \p{L}/u.test(short)) short = short.replace(NAMED_DATES, "#").replace(DATES, "#");
  return short.replace(UNITS, "#").replace(ROW, "#");
}

/** Names of a code, the surest first. Under the others stand values as well. */
const CODED = ["code", "errorcode", "error_code", "errno", "error", "type", "name", "status"];
const OF_TYPES = CODED.indexOf("type");

const PAIRS =
  /(?<![\w-])(code|error_?code|errno|error|type|name|status)\\?["']?\s*[:=]\s*\\?["']?([A-Za-z][\w.-]{2,39}|[45]xx)\\?["']?\s*(?=[,}\]]|$)/gi;

/** As constants and classes of errors are written; a word alone may be what someone typed in. */
const CONSTANT = /^[45]xx$|^[A-Z]{2,}[A-Z_]*$|(?:Error|Exception)$|^[a-z]+(?:[_.-][a-z]+)+$|^(?:[A-Z][a-z]+){2,}$/;
const FAULT = /^[45]xx$|(?:[Ee]rror|[Ee]xception|[Ff]ault)$|^(?:invalid|not|too|un\w+|missing|failed)[_-]/;
/** Of an error: what stands beside a code that is one word. */
const TELLS = /["']?(?:message|msg|errors?|detail|title|description|status|syscall)["']?\s*[:=]/i;

/**
 * What a JSON or logged object says went wrong, as `code: …`, or of one word as `error: …`;
 * undefined: nothing. @param isTold in words, too, which say more than a type.
 */
function codeIn(object: string, isTold: boolean): string | undefined {
  let [code, best]: [string | undefined, number] = [undefined, isTold ? OF_TYPES : CODED.length];
  for (const [, name = "", value = ""] of object.matchAll(PAIRS)) {
    const rank = CODED.indexOf(name.toLowerCase());
    const isConstant = CONSTANT.test(value);
    const isCode = rank < OF_TYPES ? isConstant || TELLS.test(object) : isConstant && FAULT.test(value);
    if (isCode && rank < best) [code, best] = [`${isConstant ? "code" : "error"}: ${value}`, rank];
  }
  return code;
}

/** What an answer says went wrong. */
const SAID = /"(?:message|error_description|detail|title)"\s*:\s*"((?:[^"\\]|\\.){3,120})/;

/**
 * JSON, and objects as they are logged, as `{#}` and what it says, or as `{code: …}`; a list, which
 * is of several, as `[code: …]`.
 */
function withoutJson(text: string): string {
  if (!/[{[]/.test(text)) return text;
  let [out, from] = ["", 0];
  for (let at = 0; at < text.length; at++) {
    const isObject = text[at] === "{" && !(/["'`]/.test(text[at - 1] ?? "") && text[at - 1] === text[at + 1]);
    if (!isObject && !(text[at] === "[" && /^\[ ?["'{[\]0-9-]/.test(text.slice(at, at + 3)))) continue;
    const end = endOf(text, at);
    const read = text.slice(at, Math.min(end, at + 600));
    const [, said = ""] = isObject ? (SAID.exec(read) ?? []) : [];
    const code = codeIn(read, said !== "");
    const told = isObject ? `{${code}}` : `[${code}]`;
    out += text.slice(from, at) + (code === undefined ? `{#} ${said.replace(/[{}[\]"\\]+/g, " ")}` : told);
    from = end;
    at = end - 1;
  }
  return out + text.slice(from);
}

/** Where what begins here ends, or the end of the text. */
function endOf(text: string, from: number): number {
  let [depth, isText] = [0, false];
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (isText && character === "\\") at += 1;
    else if (character === '"') isText = !isText;
    else if (!isText && (character === "{" || character === "[")) depth += 1;
    else if (!isText && (character === "}" || character === "]")) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return text.length;
}
