import { utf8Length } from "../../../base/bytes.ts";
import { isLocalHost, parseEndpoint } from "../../../base/hosts.ts";
import type { DestinationContext } from "../../../config.ts";
import { blankFault } from "../../../formats/secrets/blanks.ts";
import { parsePairs } from "../conf.ts";
import type { ConfParts, DestinationKind, Parsed, Place, Plan, PlannedObject } from "../destination.ts";
import { decoded, MASK, maskText } from "../masks.ts";
import { openReceiver } from "./open.ts";
import type { Options, Receiver, ReceiverDestination } from "./receiver.ts";
import { hostOf, isShownBy, PLAIN_HTTP, receiverTerms } from "./receiver-form.ts";
import { bodyOf, headOf, type SentBody, tooMuch } from "./request.ts";

/**
 * A destination of a receiver: `<scheme>://<host>[:<port>]/<path>?header_<Name>=…&<other>=…`.
 * Requests go to `https://` at the same host and path, with the other parameters as they are.
 */
export function receiverKind(scheme: string, receivers: readonly Receiver[]): DestinationKind {
  /** The receiver of an address. */
  const of = (host: string, path: string): Receiver => {
    const found = receivers.find(({ isAt }) => isAt === undefined || isAt(host, path));
    if (found === undefined) throw new Error("a receiver for no address");
    return found;
  };
  const at = ({ endpoint }: Place): Receiver => of(endpoint.hostname, endpoint.pathname);
  const read = (parts: ConfParts, context: DestinationContext) =>
    readReceiver(parts, context, of(hostOf(parts.authority), `/${parts.path}`));
  return {
    schemes: [scheme],
    isShown: (parameter) => receivers.some((each) => isShownBy(each, parameter)),
    hasSecretPath: receivers.some(({ hasSecretPath }) => hasSecretPath === true),
    terms: (place) => receiverTerms(at(place)),
    place: (parts, context) => {
      const found = read(parts, context);
      return found.ok ? { ok: true, value: found.value.place } : found;
    },
    destination: (parts, context) => {
      const found = read(parts, context);
      if (!found.ok) return found;
      const { place, url, options } = found.value;
      const why = at(place).fault?.(options) ?? null;
      return why === null ? { ok: true, value: { ...place, credentials: { url, options } } } : { ok: false, why };
    },
    plan: (parts, context, object, nowMs) => {
      const found = read(parts, context);
      return found.ok ? planOf(found.value, at(found.value.place), object, nowMs) : null;
    },
    // Made by the method above.
    open: (destination, _path, platform) => openReceiver(destination as ReceiverDestination, at(destination), platform),
  };
}

const HEADER = "header_";

/** Headers that are made here, or that belong to the connection: RFC 9110, section 7.6.1. */
const NOT_GIVEN: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "host",
  "idempotency-key",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** RFC 9110, sections 5.1 and 5.5: a token; visible characters, with blanks inside. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/;
const HEADER_VALUE = /^[\u0021-\u007e](?:[\u0020-\u007e]*[\u0021-\u007e])?$/;

/** What has no blank inside. Others that are masked may be texts. */
const KEY_NAME = /key|token|secret|pass|auth|sig|code|jwt|bearer|hmac|sas|pwd/i;

interface Read {
  place: Place;
  url: string;
  options: Options;
}

function readReceiver(parts: ConfParts, context: DestinationContext, receiver: Receiver): Parsed<Read> {
  const { authority, path } = parts;
  const read = readParameters(parts.query, receiver);
  if (!read.ok) return read;
  const { headers, parameters, kept, held } = read.value;
  const isPlain = parameters.get(PLAIN_HTTP) === "off";
  const endpoint = parseEndpoint(`${isPlain ? "http" : "https"}://${authority}`, "the address", context.allowLoopback);
  if (!endpoint.ok) return endpoint;
  if (isPlain && !(context.allowLoopback && isLocalHost(endpoint.value.hostname)))
    return { ok: false, why: "tls=off is for local development" };
  // A URL takes such segments and characters for others: it would lead elsewhere than it seems to.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\u0000-\u0020\u007f\\#]/.test(path)) return { ok: false, why: "the path must not contain blanks, \\ or #" };
  if (path.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment)))
    return { ok: false, why: "the path must not contain . or .. as a segment" };
  if (receiver.hasSecretPath === true && secretOf(path) === "")
    return { ok: false, why: "the path must end with the receiver's code" };
  const blank = receiver.hasSecretPath === true ? blankFault("the path", decoded(secretOf(path))) : null;
  if (blank !== null) return { ok: false, why: blank };
  const query = kept.join("&");
  const shown = maskText(`?${[...kept, ...held].join("&")}`, {
    isSecret: (name) => !isShownBy(receiver, name),
    hasCode: false,
  });
  const at = (shownPath: string, text: string): string =>
    `${endpoint.value.origin}/${shownPath}${text === "" ? "" : `?${text}`}`;
  const shownPath = receiver.hasSecretPath === true ? path.slice(0, path.length - secretOf(path).length) + MASK : path;
  return {
    ok: true,
    value: {
      place: {
        scheme: parts.scheme,
        endpoint: new URL(at(shownPath, shown.slice(1))),
        accountId: null,
        bucket: "",
        path: "",
      },
      url: at(receiver.requestPath?.(path) ?? path, query),
      options: { path, parameters, headers },
    },
  };
}

/** The last segment of a path. */
function secretOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

interface Parameters {
  headers: Map<string, string>;
  parameters: Map<string, string>;
  /** What goes into the address, as it is written. */
  kept: string[];
  /** What says where the records are held, and does not. */
  held: string[];
}

function readParameters(query: string, receiver: Receiver): Parsed<Parameters> {
  const { parameters: known = [], own = [], holder = [] } = receiver;
  const headers = new Map<string, string>();
  const parameters = new Map<string, string>();
  const kept: Parameters["kept"] = [];
  const held: Parameters["held"] = [];
  const pairs = parsePairs(query);
  if (!pairs.ok) return pairs;
  for (const { text, name, value } of pairs.value) {
    // A URL would cut the rest off, or write these in another way.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
    const unfit = /[\u0000-\u0020\u007f#]/.test(text) ? "a parameter must not contain blanks or #" : null;
    if (name.startsWith(HEADER)) {
      const header = name.slice(HEADER.length);
      const lower = header.toLowerCase();
      if (!HEADER_NAME.test(header)) return { ok: false, why: "a header's name is not a valid one" };
      if (NOT_GIVEN.has(lower)) return { ok: false, why: `the header ${lower} cannot be set` };
      // One blank stands behind a scheme (`Bearer <token>`), and any inside what is called no key.
      const credential = lower.endsWith("authorization") ? value.replace(/^[!-~]+ (?=[!-~])/, "") : value;
      const why = blankFault(`header ${lower}`, credential, !KEY_NAME.test(lower)) ?? unfit;
      if (why !== null) return { ok: false, why };
      if (!HEADER_VALUE.test(value)) return { ok: false, why: `header ${lower} must be printable ASCII` };
      if (headers.has(lower)) return { ok: false, why: `header ${lower} is given twice` };
      headers.set(lower, value);
      continue;
    }
    // An unknown name may be a secret in the wrong place (a key with an unescaped `&`): it is not
    // repeated.
    const isOwn = own.includes(name) || (name === PLAIN_HTTP && value === "off");
    if (known !== "any" && !known.includes(name) && !isOwn) {
      const names = [...known, ...own, "header_<Name>"].join(", ");
      return { ok: false, why: `unknown parameter; known for this scheme are ${names}` };
    }
    if (parameters.has(name) && known !== "any") return { ok: false, why: `${name} is given twice` };
    // What has no value may be a token, and is masked as one.
    const [called, secret] = /^=*$/.test(value) ? ["a parameter", name] : [name, value];
    const blank = isShownBy(receiver, name) ? null : blankFault(called, secret, !KEY_NAME.test(called));
    const why = blank ?? unfit;
    if (why !== null) return { ok: false, why };
    parameters.set(name, value);
    if (!isOwn) kept.push(text);
    else if (holder.includes(name)) held.push(`${name}=${encodeURIComponent(value)}`);
  }
  held.sort();
  return { ok: true, value: { headers, parameters, kept, held } };
}

/**
 * The requests that the records of an object would make, by the code that sends them. Where there
 * are several, their ids end with the number of their first record. Pure.
 */
function planOf(
  credentials: ReceiverDestination["credentials"],
  receiver: Receiver,
  { id, lines, text: whole, contentType }: PlannedObject,
  nowMs: number,
): Plan {
  const form = receiver.form?.(credentials.options) ?? null;
  const plan: Plan = { requests: [], refused: [] };
  const all = lines.map((text, record) => ({ text, record, bytes: utf8Length(text) + 1 }));
  type Line = (typeof all)[number];
  const open = cut(all, receiver.takes.limits ?? ANY);
  for (let part = open.shift(); part !== undefined; part = open.shift()) {
    const isWhole = part.length === all.length;
    const own = isWhole ? id : `${id}-${part[0]?.record}`;
    const size = { records: part.length, rawBytes: part.reduce((sum, { bytes }) => sum + bytes, 0) };
    const texts = part.map(({ text }) => text);
    const asIs = (): SentBody => ({
      kind: "body",
      text: isWhole ? whole : texts.map((text) => `${text}\n`).join(""),
      records: [...part.keys()],
    });
    const built = tooMuch(size, receiver, form) ?? (form === null ? asIs() : bodyOf(texts, own, receiver, form, nowMs));
    switch (built.kind) {
      case "body": {
        const { url, headers } = headOf(credentials, receiver, own, form?.contentType ?? contentType);
        plan.requests.push({ url, headers: Object.fromEntries(headers), text: built.text, records: part.length });
        break;
      }
      case "divide": {
        const parts = cut(part, built);
        if (parts.length > 1) open.unshift(...parts);
        else plan.refused.push(...part.map(({ record }) => ({ record, words: "too much for one request" })));
        break;
      }
      case "partly": {
        const of = (numbers: readonly number[]): Line[] => numbers.flatMap((number) => part[number] ?? []);
        for (const { record, words } of built.refused)
          plan.refused.push(...of([record]).map((line) => ({ record: line.record, words })));
        const again = of(built.again);
        if (again.length > 0) open.unshift(again);
        break;
      }
      case "failed":
        plan.refused.push(...part.map(({ record }) => ({ record, words: built.error.words })));
        break;
      default:
        throw new Error(`a preview of what is ${built.kind}`);
    }
  }
  return plan;
}

const ANY = { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/** Parts of at most so many records and bytes, as src/ship/reader/divide.ts makes them. */
function cut<T extends { bytes: number }>(lines: readonly T[], most: { records: number; bytes: number }): T[][] {
  const parts: T[][] = [];
  let part: T[] = [];
  let bytes = 0;
  for (const line of lines) {
    if (part.length > 0 && (part.length >= most.records || bytes + line.bytes > most.bytes)) {
      parts.push(part);
      [part, bytes] = [[], 0];
    }
    part.push(line);
    bytes += line.bytes;
  }
  return part.length > 0 ? [...parts, part] : parts;
}
