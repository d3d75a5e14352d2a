import * as z from "zod";
import { utf8Length } from "../bytes.ts";
import type { Destination, DestinationContext, DestinationKind, Parsed, Place } from "./destination.ts";
import { folderOf, PROBE_DAY } from "./keys.ts";
import { objstore } from "./objstore.ts";
import { s3 } from "./s3.ts";

/** Longest `destination_conf`, in characters. */
export const DESTINATION_CONF_MAX = 4_096;

/** Every kind of destination there is; a new kind is a file and a line here. */
const KINDS: readonly DestinationKind[] = [objstore, s3];

/** Parameters whose values are secrets, or lead to one. */
const SECRET_PARAMETERS: ReadonlySet<string> = new Set(["access-key-id", "secret-access-key"]);
const CREDENTIAL_PARAMETERS: readonly string[] = [...SECRET_PARAMETERS, "credentials"];

/** What stands for a secret where it is not shown, and for "as it was" where it is sent. */
export const MASK = "****";

const SHAPE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(?:\/([^?]*))?(?:\?(.*))?$/is;
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/;
/** S3 keys are at most 1,024 bytes, and an object's name takes 51 of them; counted with the date in its place. */
const PATH_MAX_BYTES = 900;

/**
 * Reads a `destination_conf`.
 * @returns the destination, or in words what is wrong; never with a secret in it.
 */
export function parseDestination(conf: string, context: DestinationContext): Parsed<Destination> {
  const read = readPlace(conf, context);
  if (!read.ok) return read;
  const { place, parameters } = read.value;
  const credentials = readCredentials(parameters, place.endpoint, context);
  if (!credentials.ok) return credentials;
  return { ok: true, value: { ...place, credentials: credentials.value } };
}

/** Reads where a `destination_conf` leads, whatever its credentials: they may be masked, or not there at all. */
export function parsePlace(conf: string, context: DestinationContext): Parsed<Place> {
  const read = readPlace(conf, context);
  return read.ok ? { ok: true, value: read.value.place } : read;
}

function readPlace(
  conf: string,
  context: DestinationContext,
): Parsed<{ place: Place; parameters: ReadonlyMap<string, string> }> {
  if (conf.length > DESTINATION_CONF_MAX)
    return { ok: false, why: `destination_conf is longer than ${DESTINATION_CONF_MAX} characters` };
  if (!conf.isWellFormed()) return { ok: false, why: "destination_conf must be well-formed text" };
  const match = SHAPE.exec(conf);
  if (match === null) return { ok: false, why: "destination_conf must be <scheme>://<bucket>/<path>?<parameters>" };
  const [, scheme = "", bucket = "", rawPath = "", query = ""] = match;
  const kind = KINDS.find(({ schemes }) => schemes.includes(scheme));
  if (kind === undefined) {
    const known = KINDS.flatMap(({ schemes }) => schemes).map((name) => `${name}://`);
    return { ok: false, why: `unknown scheme; supported are ${known.join(", ")}` };
  }
  if (!BUCKET.test(bucket))
    return { ok: false, why: "the bucket must be 2 to 255 letters, digits, dots, dashes or underscores" };
  const path = parsePath(rawPath);
  if (!path.ok) return path;
  const parameters = parseParameters(query, [...kind.parameters, ...CREDENTIAL_PARAMETERS]);
  if (!parameters.ok) return parameters;
  const parts = { bucket, path: path.value, parameters: parameters.value };
  const place = kind.locate(parts, context);
  if (!place.ok) return place;
  return {
    ok: true,
    value: { place: { scheme, bucket, path: path.value, ...place.value }, parameters: parameters.value },
  };
}

/** A path without slashes at its ends. One look at each: a pattern would try every run of them from each of its slashes. */
export function withoutOuterSlashes(path: string): string {
  let [from, until] = [0, path.length];
  while (path[from] === "/") from += 1;
  while (until > from && path[until - 1] === "/") until -= 1;
  return path.slice(from, until);
}

function parsePath(raw: string): Parsed<string> {
  const path = withoutOuterSlashes(raw);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\u0000-\u001f\u007f]/.test(path)) return { ok: false, why: "the path must not contain control characters" };
  // URLs swallow such segments, and the object would land elsewhere.
  if (path.split("/").some((segment) => segment === "." || segment === "..")) {
    return { ok: false, why: "the path must not contain . or .. as a segment" };
  }
  if (utf8Length(folderOf(path, PROBE_DAY)) > PATH_MAX_BYTES)
    return { ok: false, why: `the path is longer than ${PATH_MAX_BYTES} bytes` };
  return { ok: true, value: path };
}

function parseParameters(query: string, known: readonly string[]): Parsed<Map<string, string>> {
  const parameters = new Map<string, string>();
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    let name: string;
    let value: string;
    try {
      name = decodeURIComponent(at === -1 ? pair : pair.slice(0, at));
      value = at === -1 ? "" : decodeURIComponent(pair.slice(at + 1));
    } catch {
      return { ok: false, why: "a parameter is not correctly percent-encoded" };
    }
    // An unknown name may be a secret in the wrong place (a key with an unescaped `&`): it is not repeated.
    if (!known.includes(name))
      return { ok: false, why: `unknown parameter; known for this scheme are ${known.join(", ")}` };
    if (parameters.has(name)) return { ok: false, why: `${name} is given twice` };
    if (value === "") return { ok: false, why: `${name} is empty` };
    parameters.set(name, value);
  }
  return { ok: true, value: parameters };
}

const EnvCredentials = z.object({
  host: z.string().min(1),
  access_key_id: z.string().min(1),
  secret_access_key: z.string().min(1),
});

function readCredentials(
  parameters: ReadonlyMap<string, string>,
  endpoint: URL,
  context: DestinationContext,
): Parsed<Destination["credentials"]> {
  const reference = parameters.get("credentials");
  const accessKeyId = parameters.get("access-key-id");
  const secretAccessKey = parameters.get("secret-access-key");
  if (reference === undefined) {
    if (accessKeyId === undefined) return { ok: false, why: "access-key-id is missing" };
    if (secretAccessKey === undefined) return { ok: false, why: "secret-access-key is missing" };
    // A header cannot carry anything else.
    if (/[^\u0021-\u007e]/.test(accessKeyId)) return { ok: false, why: "access-key-id must be printable ASCII" };
    return { ok: true, value: { accessKeyId, secretAccessKey } };
  }
  if (accessKeyId !== undefined || secretAccessKey !== undefined) {
    return { ok: false, why: "give either credentials or access-key-id and secret-access-key" };
  }
  const name = /^env:(DEST_[A-Z0-9_]{1,64})$/.exec(reference)?.[1];
  if (name === undefined) return { ok: false, why: "credentials must be env:DEST_<NAME>" };
  const secret = context.secret(name);
  if (secret === undefined) return { ok: false, why: `there is no secret ${name}` };
  const parsed = EnvCredentials.safeParse(parseJson(secret));
  if (!parsed.success) {
    return { ok: false, why: `the secret ${name} must be JSON with host, access_key_id and secret_access_key` };
  }
  // The secret names the host it is meant for, or whoever may create a job could have it sent anywhere.
  if (parsed.data.host !== endpoint.host)
    return { ok: false, why: `the secret ${name} is for another host than this destination's` };
  return {
    ok: true,
    value: { accessKeyId: parsed.data.access_key_id, secretAccessKey: parsed.data.secret_access_key },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The string with `****` for every secret value; what cannot be read is masked whole after its scheme. */
export function maskDestination(conf: string): string {
  const at = conf.indexOf("?");
  if (at === -1) return conf;
  return (
    conf.slice(0, at + 1) +
    mapParameters(conf.slice(at + 1), (name, value) => (SECRET_PARAMETERS.has(name) ? MASK : value))
  );
}

/** Puts the stored secrets where the sent string has `****`. */
export function unmaskDestination(sent: string, stored: string): string {
  const secrets = new Map<string, string>();
  mapParameters(stored.slice(stored.indexOf("?") + 1), (name, value) => {
    if (SECRET_PARAMETERS.has(name)) secrets.set(name, value);
    return value;
  });
  const at = sent.indexOf("?");
  if (at === -1) return sent;
  return (
    sent.slice(0, at + 1) +
    mapParameters(sent.slice(at + 1), (name, value) => (decoded(value) === MASK ? (secrets.get(name) ?? value) : value))
  );
}

/** Whether a secret in the string is masked. */
export function isMasked(conf: string): boolean {
  return unmaskDestination(conf, "?access-key-id=x&secret-access-key=x") !== conf;
}

/** Maps the values of a query, as they are written; a name may be percent-encoded, and is the same name all the same. */
function mapParameters(query: string, map: (name: string, value: string) => string): string {
  return query
    .split("&")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at === -1 ? pair : `${pair.slice(0, at)}=${map(decoded(pair.slice(0, at)), pair.slice(at + 1))}`;
    })
    .join("&");
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Whether two destinations are the same place for the purpose of keeping a secret: it must never be sent anywhere else. */
export function sameStore(a: Place, b: Place): boolean {
  return (
    a.scheme === b.scheme && a.endpoint.href === b.endpoint.href && a.accountId === b.accountId && a.bucket === b.bucket
  );
}

/** Whether an ownership challenge for one is a challenge for the other: what it is bound to, but for the account. */
export function samePlace(a: Place, b: Place): boolean {
  return sameStore(a, b) && a.path === b.path;
}

/** Whether objects of both come to lie in one folder, by whichever name the two call it. */
export function sameFolder(a: Place, b: Place): boolean {
  return a.endpoint.href === b.endpoint.href && a.bucket === b.bucket && a.path === b.path;
}

/** What may be shown of an address: where it leads. */
export function maskUrl(url: string): string {
  return URL.canParse(url) && new URL(url).origin !== "null" ? `${new URL(url).origin}/${MASK}` : MASK;
}
