import { isService } from "./mask.ts";

/** So many words are read at least, whatever clauses there are, and at most. */
const LEAST = 3;
const MOST = 6;

/** Words before which a clause ends: of whom, when and why. */
const AFTERWARDS: ReadonlySet<string> = new Set(
  "for in on at by with from via per after before since during while because due".split(" "),
);

/** They say little. */
const SMALL: ReadonlySet<string> = new Set([
  ...AFTERWARDS,
  ..."a an the of to into as is are was were be been it its this that and or".split(" "),
]);

/** A name in the code, as `orders.total`, `insertOrder`, `ECONNREFUSED`; of D1: `D1_ERROR`. */
const NAME = /^[\p{Script=Latin}_$][\p{Script=Latin}\d_$]*(?:[.:][a-zA-Z_$][\w$]*)*$/u;

/**
 * The words of a masked message that say what went wrong: those of its first clause, three to six,
 * and whatever {@link told} finds. What follows mostly says to whom, and how often it was tried.
 * Values that no mask can tell are left out by their looks: names begin with a capital within a
 * sentence, have letters beyond ASCII, or stand in one word with a number. "": the message has no
 * such words.
 * @param masked as of `masked`. @param least so many words, whatever clauses there are.
 */
export function skeletonOf(masked: string, least = LEAST): string {
  if (FOREIGN.test(masked)) return (masked.split(/[(（:：,、。;]/)[0] ?? "").trim();
  const named = told(masked);
  const plain = masked.replace(/\{[^}]*\}|\[(?:code|error): [^\]]*\]/g, "#");
  const words = wordsOf(named.length === 0 ? plain.replace(UNKNOWN, "$1#") : plain, least);
  for (const each of named) if (!words.includes(each)) words.push(each);
  return words.join(" ") || (CODE.test(masked) ? masked : "");
}

const CODED = /\{(?:code|error): ([^}#]+)\}/;
const HOST = /(?<![\w.-])(?:[a-z-]+\.){1,5}[a-z]{2,20}(?![\w.-])/g;

/** What is read or changed is at a service; what is posted may be anyone's webhook. */
const READ = /\b(?:GET|HEAD|PUT|PATCH|DELETE) (?:https?:\/\/)?(?:#\.)?((?:[a-z-]+\.)+[a-z]{2,20})(?![\w.-])/;

/** In its first clause: what has a name in the code or its tables, and that name. */
const NAMED =
  /^(?:[\w#.]+: )*[^:#]*\b(?:property|properties|column|table|relation|view|index|trigger|field|header|method|function|module|binding|constraint|parameter|variable)(?: failed| name)?(?:: ?| (?='))('[^'#]+'|[a-z_$][\w$.]*|[A-Z][A-Z_]+)(?![^\s,;:.)])/;

/** What was not known is a value, unless it is named so. */
const UNKNOWN = /((?:no such|unknown|unrecogni[sz]ed|duplicate) (?!error|reason)[a-z]+: )[a-z][\w.-]*$/i;

/**
 * What is a cause wherever it stands before the first details: the code of an answer, the host of a
 * service, and names of the schema. With 5xx, the code says it again.
 */
function told(masked: string): string[] {
  const text = masked.split(/[,;(]/, 1)[0] ?? "";
  const code = /\b5xx\b/.test(masked) ? undefined : CODED.exec(text)?.[1];
  const host = text.match(HOST)?.find(isService) ?? READ.exec(text)?.[1];
  const named = NAMED.exec(text)?.[1];
  return [code, host, named].filter((each) => each !== undefined);
}

/** A code for a message: `not-found`, `auth/wrong-password`. */
const CODE = /^[a-z]+(?:[-/][a-z]+)+$/;

/** It begins with a letter of another script: its first clause says what it is about. */
const FOREIGN =
  /^\P{L}*[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Cyrillic}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thai}\p{Script=Greek}\p{Script=Devanagari}]/u;

const MONEY =
  /^(?:USD|EUR|GBP|JPY|CHF|CNY|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|INR|BRL|MXN|ZAR|KRW|SGD|HKD|THB|IDR|ILS|UAH)$/;

function wordsOf(masked: string, least: number): string[] {
  const words: string[] = [];
  let begins = true;
  const tokens = masked.split(" ");
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1] ?? "";
    const isNewClause = (token.startsWith("(") && !next.startsWith("'")) || AFTERWARDS.has(token);
    if (words.length >= least && isNewClause) break;
    const [, opened = "", word = "", closed = ""] = /^([("[]*)(.*?)([)\]"]*[,:;.!?)]*)$/.exec(token) ?? [];
    words.push(...saidBy(word, begins || opened !== "" || FAULTY.test(tokens[at - 1] ?? "")));
    if (words.length >= MOST || (words.length >= least && closed !== "")) break;
    begins = /[.:!?]$/.test(closed) && word.length > 1;
  }
  return words;
}

/** Before a capital: what it says is wrong is no one's name, as in `Invalid Session`. */
const FAULTY =
  /^["(]?(?:Invalid|Missing|Bad|Expired|Insufficient|Unsupported|Malformed|Unexpected|Incorrect|Wrong|Not|No|Too|Internal)$/;

/** Nor are these: `Payment Declined`, `Gateway Timeout`. */
const NO_NAME = /(?:(?<!fr|[ahm]m)ed|[st]ion|ment|[ai]ble|out)$/;

/** Of anyone: a host without a service's name. */
const DOMAIN = /\.(?:com|net|org|info|biz)$/;

/** The word; none: it is a value, or small. */
function saidBy(word: string, begins: boolean): string[] {
  if (/^(?:'[^']+'|[45]xx)$/.test(word)) return [word];
  if (word.length < 2 || MONEY.test(word) || SMALL.has(word.toLowerCase()) || !NAME.test(word)) return [];
  if (DOMAIN.test(word) && !isService(word)) return [];
  const isName = !begins && /^\p{Lu}\p{Ll}/u.test(word) && !/[._$]|(?:Error|Exception)$/.test(word);
  return isName && !NO_NAME.test(word) ? [] : [word];
}
