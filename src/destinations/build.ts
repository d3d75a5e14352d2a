import { withoutOuterSlashes } from "./conf.ts";
import type { DestinationContext, Parsed } from "./destination.ts";
import { MASK, parsePlace, sameStore } from "./parse.ts";

/**
 * A `destination_conf` of an S3 store in its parts, as a form has them. An empty text stands for
 * none.
 */
export interface DestinationEntry {
  scheme: "objstore" | "r2" | "s3";
  bucket: string;
  path: string;
  /** Of `objstore` alone. */
  accountId: string;
  /** The next three, of `s3` alone. */
  region: string;
  endpoint: string;
  sse: boolean;
  /** `env`: the keys are in a secret of the deployment, of which the entry has the name. */
  credentials: "keys" | "env";
  accessKeyId: string;
  secretAccessKey: string;
  /** `DEST_<NAME>`. */
  secretName: string;
}

/** The defaults of a new form. */
export function emptyEntry(scheme: DestinationEntry["scheme"], accountId: string): DestinationEntry {
  return {
    scheme,
    bucket: "",
    path: "logs/{DATE}",
    accountId,
    region: "",
    endpoint: "",
    sse: false,
    credentials: "keys",
    accessKeyId: "",
    secretAccessKey: "",
    secretName: "",
  };
}

function isS3(scheme: string): scheme is DestinationEntry["scheme"] {
  return scheme === "objstore" || scheme === "r2" || scheme === "s3";
}

/** Characters that would end the bucket. */
const ENDS_BUCKET = /[/?#]/;

/**
 * The string of an entry: {@link entryOf} and `parseDestination` read exactly what was entered, but
 * for slashes at the path's ends.
 * @returns why there is none. Only `parseDestination` says whether it is a destination.
 */
export function buildDestination(entry: DestinationEntry): Parsed<string> {
  const { scheme, bucket, path } = entry;
  if (ENDS_BUCKET.test(bucket)) return { ok: false, why: "the bucket must not contain a slash, ? or #" };
  if (path.includes("?")) return { ok: false, why: "the path must not contain a ?" };
  const parameters = parametersOf(entry);
  if (!parameters.every(([, value]) => value.isWellFormed())) return { ok: false, why: "this is not well-formed text" };
  const query = parameters.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return {
    ok: true,
    value: `${scheme}://${bucket}/${withoutOuterSlashes(path)}${query === "" ? "" : `?${query}`}`,
  };
}

function parametersOf(entry: DestinationEntry): (readonly [name: string, value: string])[] {
  const place: (readonly [string, string])[] =
    entry.scheme === "s3"
      ? [
          ["region", entry.region],
          ["endpoint", entry.endpoint],
          ["sse", entry.sse ? "AES256" : ""],
        ]
      : [["account-id", entry.accountId]];
  const credentials: (readonly [string, string])[] =
    entry.credentials === "env"
      ? [["credentials", entry.secretName === "" ? "" : `env:${entry.secretName}`]]
      : [
          ["access-key-id", entry.accessKeyId],
          ["secret-access-key", entry.secretAccessKey],
        ];
  return [...place, ...credentials].filter(([, value]) => value !== "");
}

/**
 * A string in its parts, masked secrets left out. @returns in words why it is no destination, apart
 * from its credentials.
 */
export function entryOf(conf: string, context: DestinationContext): Parsed<DestinationEntry> {
  const place = parsePlace(conf, context);
  if (!place.ok) return place;
  const { scheme } = place.value;
  if (!isS3(scheme)) return { ok: false, why: `there is no form for ${scheme}:// yet; use the API` };
  const at = conf.indexOf("?");
  const parameters = new Map(
    (at === -1 ? "" : conf.slice(at + 1))
      .split("&")
      .map((pair) => pair.split("="))
      // It parses: every part is correctly encoded.
      .map(([name = "", ...value]) => [decodeURIComponent(name), decodeURIComponent(value.join("="))]),
  );
  const secret = (name: string): string => {
    const value = parameters.get(name) ?? "";
    return value === MASK ? "" : value;
  };
  return {
    ok: true,
    value: {
      scheme,
      bucket: place.value.bucket,
      path: place.value.path,
      accountId: parameters.get("account-id") ?? "",
      region: parameters.get("region") ?? "",
      endpoint: parameters.get("endpoint") ?? "",
      sse: parameters.has("sse"),
      credentials: parameters.has("credentials") ? "env" : "keys",
      accessKeyId: secret("access-key-id"),
      secretAccessKey: secret("secret-access-key"),
      secretName: (parameters.get("credentials") ?? "").replace(/^env:/, ""),
    },
  };
}

/**
 * Whether the keys of one entry may be kept for the other: the same store, as {@link sameStore}
 * says.
 */
export function sameStoreEntry(a: DestinationEntry, b: DestinationEntry, context: DestinationContext): boolean {
  const [before, after] = [placeOf(a, context), placeOf(b, context)];
  return before?.ok === true && after?.ok === true && sameStore(before.value, after.value);
}

function placeOf(entry: DestinationEntry, context: DestinationContext): ReturnType<typeof parsePlace> | null {
  const built = buildDestination(entry);
  return built.ok ? parsePlace(built.value, context) : null;
}
