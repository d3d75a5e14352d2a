import { cut, isObject, type Json, parsedJson } from "../../base/bytes.ts";
import {
  CF_MAX_UNITS,
  EXTRA_MAX_UNITS,
  EXTRA_TEXT_MAX_UNITS,
  HEADER_MAX_UNITS,
  STACK_MAX_UNITS,
  STACKS_MAX,
  STACKS_MAX_UNITS,
} from "../../base/limits.ts";
import { jsonText } from "./encode.ts";
import { emptyText, type LogError, TAKEN_FIELDS, type TakenField } from "./fields.ts";
import { type Findings, isRecordForm, type MappingContext, Reader } from "./record.ts";

/**
 * The headers of a request that may be taken. No other is, whatever EXTRA_FIELDS says: `cookie`,
 * `authorization` and all that carries a credential (tokens, keys, signatures, subprotocols of
 * WebSockets, entity tags) are not among them. Of `referer` and `origin` the origin alone is
 * taken: a path or query may hold a token, and the platform redacts only the request's own address.
 */
export const HEADERS = [
  "accept",
  "accept-encoding",
  "accept-language",
  "cache-control",
  "cf-connecting-ip",
  "cf-ipcountry",
  "cf-ray",
  "content-length",
  "content-type",
  "host",
  "origin",
  "range",
  "referer",
  "sec-ch-ua",
  "sec-ch-ua-mobile",
  "sec-ch-ua-platform",
  "sec-fetch-dest",
  "sec-fetch-mode",
  "sec-fetch-site",
  "sec-purpose",
  "traceparent",
  "user-agent",
  "x-forwarded-proto",
  "x-request-id",
  "x-requested-with",
] as const;

/**
 * What of `request.cf` may be taken: texts, numbers and flags. Nothing that finds a person (postal
 * code, coordinates) or proves one (certificates, randoms and fingerprints of TLS).
 * https://developers.cloudflare.com/workers/runtime-apis/request/#incomingrequestcfproperties
 */
export const CF_KEYS = [
  "asn",
  "asOrganization",
  "city",
  "clientTcpRtt",
  "colo",
  "continent",
  "country",
  "httpProtocol",
  "isEUCountry",
  "region",
  "regionCode",
  "timezone",
  "tlsCipher",
  "tlsVersion",
  "verifiedBotCategory",
] as const;

/** What is taken of the preview deployment that ran. */
export const PREVIEW_KEYS = ["id", "slug", "name"] as const;

/** A credential in a header that should have none: a bearer, or a JSON Web Token. */
const CREDENTIAL = /\b(?:bearer|basic)\s+\S|\beyJ[\w-]+\.[\w-]+/i;

/**
 * A record on its way to the queue: its canonical line; with extra fields, this character, which no
 * JSON contains, and their JSON.
 */
export type Entry = string;
const SEPARATOR = "\u001e";

export function entryOf(line: string, extra: string): Entry {
  return extra === "" ? line : `${line}${SEPARATOR}${extra}`;
}

export function splitEntry(entry: Entry): { line: string; extra: string } {
  const at = entry.indexOf(SEPARATOR);
  return at === -1 ? { line: entry, extra: "" } : { line: entry.slice(0, at), extra: entry.slice(at + 1) };
}

type Values = { [name in TakenField]?: unknown };

/**
 * The extra fields of an event that are on, as JSON: an object in the order of
 * {@link TAKEN_FIELDS}, without those that are empty; "": all are. What is too long is cut.
 * @param input an event of which `toRecord` made a record. @param at as there.
 * @throws never.
 */
export function extrasOf(input: unknown, context: MappingContext, at: string, findings: Findings): string {
  if (context.extraFields === undefined || !isObject(input)) return "";
  try {
    return jsonOf(input, context.extraFields, new Reader(context, findings), at);
  } catch {
    // What the platform or RPC made, and cannot be read: a record does not depend on it.
    return "";
  }
}

function jsonOf(input: Json, on: readonly TakenField[], read: Reader, at: string): string {
  const sources = isRecordForm(input) ? inRecord(input, at) : inItem(input, read, at);
  const values: Values = {};
  for (const name of TAKEN_FIELDS) {
    if (!on.includes(name)) continue;
    const value = READ[name](...sources[name], read);
    if (!isEmpty(value)) values[name] = value;
  }
  return Object.keys(values).length === 0 ? "" : jsonText(values);
}

/** Of what foreign code wrote as extra fields, only what {@link extrasOf} takes. */
export function vettedExtras(extra: string): string {
  if (extra === "" || extra.length > EXTRA_MAX_UNITS) return "";
  const parsed = parsedJson(extra);
  if (parsed === undefined) return "";
  // As of a record: EventTimestampMs makes it one.
  const context = { takenInMs: 0, defaultScriptName: "", lenient: true, extraFields: TAKEN_FIELDS };
  const input = isObject(parsed) ? { ...parsed, EventTimestampMs: 0 } : parsed;
  return extrasOf(input, context, "", { faults: [], unknownKeys: new Set() });
}

/**
 * The JSON of one field. No name in the values is that of a field, so that one in quotes and with a
 * colon is a field's. @param extra as of {@link extrasOf}.
 */
export function extraText(extra: string, name: TakenField): string {
  if (extra === "") return emptyText(name);
  const key = `"${name}":`;
  const at = extra.indexOf(key);
  if (at === -1) return emptyText(name);
  const from = at + key.length;
  for (let next = TAKEN_FIELDS.indexOf(name) + 1; next < TAKEN_FIELDS.length; next++) {
    const end = extra.indexOf(`,"${TAKEN_FIELDS[next]}":`, from);
    if (end !== -1) return extra.slice(from, end);
  }
  return extra.slice(from, -1);
}

/** Where a value is, and its JSON pointer. */
type Place = readonly [value: unknown, pointer: string];

function inRecord(record: Json, at: string): { [name in TakenField]: Place } {
  const places = TAKEN_FIELDS.map((name) => [name, [record[name], `${at}/${name}`]] as const);
  return Object.fromEntries(places) as { [name in TakenField]: Place };
}

function inItem(item: Json, read: Reader, at: string): { [name in TakenField]: Place } {
  // Of another type than an object, `toRecord` has said so.
  const event = isObject(item.event) ? item.event : {};
  const request = isObject(event.request) ? event.request : {};
  const stacks = read.list(item.exceptions, `${at}/exceptions`).slice(0, STACKS_MAX);
  return {
    RequestHeaders: [request.headers, `${at}/event/request/headers`],
    RequestCF: [request.cf, `${at}/event/request/cf`],
    ExceptionStacks: [stacks.map((each) => (isObject(each) ? each.stack : null)), `${at}/exceptions`],
    DurableObjectID: [item.durableObjectId, `${at}/durableObjectId`],
    ExecutionModel: [item.executionModel, `${at}/executionModel`],
    Truncated: [item.truncated, `${at}/truncated`],
    // Read where the field is on, unlike the others, which cost nothing.
    get LogErrors(): Place {
      return [loggedErrors(item.logs, `${at}/logs`, read), `${at}/logs`];
    },
    Preview: [item.preview, `${at}/preview`],
  };
}

/** `errorInfo` of all logs as a record has it: the platform gives one an argument, or null. */
function loggedErrors(logs: unknown, pointer: string, read: Reader): Json[] {
  return read.list(logs, pointer).flatMap((log, i) => {
    const at = `${pointer}/${i}/errorInfo`;
    const given = read.list(isObject(log) ? log.errorInfo : null, at);
    return given.flatMap((info, n) =>
      info == null ? [] : { ...read.object(info, `${at}/${n}`), Log: i, Argument: n },
    );
  });
}

const READ: { readonly [name in TakenField]: (value: unknown, pointer: string, read: Reader) => unknown } = {
  RequestHeaders: readHeaders,
  RequestCF: readKeys(CF_KEYS),
  ExceptionStacks: readStacks,
  DurableObjectID: readText,
  ExecutionModel: readText,
  Truncated: (value, pointer, read) => read.boolean(value, pointer),
  LogErrors: readErrors,
  Preview: readKeys(PREVIEW_KEYS),
};

function readHeaders(all: unknown, pointer: string, read: Reader): Record<string, string> {
  const given = read.object(all, pointer);
  const headers: Record<string, string> = {};
  for (const name of HEADERS) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    const sent = textOf(value, `${pointer}/${name}`, read);
    const text = cut(name === "referer" || name === "origin" ? originOf(sent) : sent, HEADER_MAX_UNITS);
    if (text !== "" && !CREDENTIAL.test(text)) headers[name] = text;
  }
  return headers;
}

/** Of an address of the web; "" of anything else. */
function originOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : "";
}

function readKeys(keys: readonly string[]): (typeof READ)[TakenField] {
  return (value, pointer, read) => {
    const given = read.object(value, pointer);
    const taken: Record<string, string | number | boolean> = {};
    for (const key of keys) {
      const each = given[key];
      if (typeof each === "boolean" || (typeof each === "number" && Number.isFinite(each))) taken[key] = each;
      else if (typeof each === "string" && each !== "") taken[key] = cut(each, CF_MAX_UNITS);
    }
    return taken;
  };
}

/** One for each exception; none at all if all are empty. */
function readStacks(value: unknown, pointer: string, read: Reader): string[] {
  let room = STACKS_MAX_UNITS;
  const given = read.list(value, pointer).slice(0, STACKS_MAX);
  const stacks = given.map((each, i) => {
    const stack = cut(textOf(each, `${pointer}/${i}`, read), Math.min(STACK_MAX_UNITS, room));
    room -= stack.length;
    return stack;
  });
  return stacks.every((stack) => stack === "") ? [] : stacks;
}

/** Names, messages and stacks share the room that stacks of exceptions have. */
function readErrors(value: unknown, pointer: string, read: Reader): LogError[] {
  let room = STACKS_MAX_UNITS;
  const given = read.list(value, pointer).slice(0, STACKS_MAX);
  return given.map((each, i) => {
    const error = read.object(each, `${pointer}/${i}`);
    const isOfItem = pointer.endsWith("/logs");
    const at = isOfItem ? `${pointer}/${error.Log}/errorInfo/${error.Argument}` : `${pointer}/${i}`;
    const number = (key: "Log" | "Argument"): number => read.number(error[key], `${at}/${key}`);
    const [name = "", message = "", stack = ""] = ["name", "message", "stack"].map((key) => {
      const text = cut(textOf(error[key] ?? "", `${at}/${key}`, read), Math.min(STACK_MAX_UNITS, room));
      room -= text.length;
      return text;
    });
    return { Log: number("Log"), Argument: number("Argument"), name, message, stack };
  });
}

function readText(value: unknown, pointer: string, read: Reader): string {
  return cut(textOf(value, pointer, read), EXTRA_TEXT_MAX_UNITS);
}

/** Unlike `read.text`, of another type there is nothing. */
function textOf(value: unknown, pointer: string, read: Reader): string {
  if (typeof value === "string") return value;
  read.text(value, pointer);
  return "";
}

function isEmpty(value: unknown): boolean {
  return value === "" || value === false || (typeof value === "object" && Object.keys(value as object).length === 0);
}
