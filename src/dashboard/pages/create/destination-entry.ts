import { EXAMPLE_DESTINATION } from "../../../api/docs/common.ts";
import type { Config } from "../../../config.ts";
import { buildDestination, type DestinationEntry, entryOf, sameStoreEntry } from "../../../destinations/build.ts";
import { withoutOuterSlashes } from "../../../destinations/conf.ts";
import type { DestinationContext } from "../../../destinations/destination.ts";
import { parsePlace, samePlace } from "../../../destinations/parse.ts";
import type { Draft } from "./draft.ts";

/** Names of the form's fields. */
export type EntryField =
  | "bucket"
  | "path"
  | "account_id"
  | "region"
  | "endpoint"
  | "sse"
  | "access_key_id"
  | "secret_access_key"
  | "secret_name";

export type EntryFaults = Partial<Record<EntryField | "whole", string>>;

/** The endpoint of the local bucket, as `npm start` and `npm run demo` set it. */
const LOCAL_ENDPOINT = /^http:\/\/(?:localhost|127\.0\.0\.1)(?::\d+)?\/cdn-cgi\/local\/r2\/s3\/?$/;

/**
 * The bucket of local development; its keys are in wrangler.jsonc and work nowhere else. null: not
 * local.
 */
export function localEntry({ destinations }: Config): DestinationEntry | null {
  if (!destinations.allowLoopback || !LOCAL_ENDPOINT.test(destinations.objstoreEndpoint)) return null;
  const entry = entryOf(EXAMPLE_DESTINATION, destinations);
  return entry.ok ? entry.value : null;
}

/** Reads the form. Keys that were not entered are "". */
export function readEntryForm(form: URLSearchParams): DestinationEntry {
  const text = (name: string): string => (form.get(name) ?? "").trim();
  const scheme = form.get("scheme");
  return {
    scheme: scheme === "s3" || scheme === "r2" ? scheme : "objstore",
    bucket: text("bucket"),
    path: withoutOuterSlashes(text("path")),
    accountId: text("account_id"),
    region: text("region"),
    endpoint: text("endpoint"),
    sse: form.get("sse") === "true",
    credentials: form.get("credentials") === "env" ? "env" : "keys",
    accessKeyId: text("access_key_id"),
    secretAccessKey: text("secret_access_key"),
    secretName: text("secret_name"),
  };
}

/**
 * Fills empty keys from the draft. Keys of a stored job stay with its scheme, endpoint, account and
 * bucket; keys entered in this draft may move to another bucket of the same store.
 */
export function withKeptKeys(
  entry: DestinationEntry,
  { destination, keysOfJob }: Pick<Draft, "destination" | "keysOfJob">,
  context: DestinationContext,
): DestinationEntry {
  if (!mayKeep(entry, destination, keysOfJob, context)) return entry;
  return {
    ...entry,
    accessKeyId: entry.accessKeyId || destination.accessKeyId,
    secretAccessKey: entry.secretAccessKey || destination.secretAccessKey,
  };
}

function mayKeep(
  after: DestinationEntry,
  before: DestinationEntry,
  keysOfJob: boolean,
  context: DestinationContext,
): boolean {
  if (keysOfJob) return sameStoreEntry(before, after, context);
  const [one, other] = [before, after].map((entry) => ({ ...entry, bucket: "any", path: "" })) as [
    DestinationEntry,
    DestinationEntry,
  ];
  // Keys of an invalid destination were never used anywhere.
  return !isPlace(one, context) || sameStoreEntry(one, other, context);
}

/**
 * Judged without the keys: an overlong key must not make the destination invalid and so free the
 * others.
 */
function isPlace(entry: DestinationEntry, context: DestinationContext): boolean {
  const built = buildDestination({ ...entry, credentials: "keys", accessKeyId: "", secretAccessKey: "" });
  return built.ok && parsePlace(built.value, context).ok;
}

/** All missing fields. Other faults come from the API. */
export function missingOf(entry: DestinationEntry): EntryFaults {
  const faults: EntryFaults = {};
  if (entry.bucket === "") faults.bucket = "Enter the bucket name.";
  if (entry.scheme === "s3" && entry.region === "") faults.region = "Enter the region, or auto.";
  if (entry.scheme !== "s3" && entry.accountId === "") faults.account_id = "Enter the account ID of the bucket.";
  if (entry.credentials === "env") {
    if (entry.secretName === "") faults.secret_name = "Enter the secret name.";
    return faults;
  }
  if (entry.accessKeyId === "") faults.access_key_id = "Enter the access key ID.";
  if (entry.secretAccessKey === "") faults.secret_access_key = "Enter the secret access key.";
  return faults;
}

const BLAMED: readonly (readonly [RegExp, EntryField])[] = [
  [/^the bucket\b/, "bucket"],
  [/^the path\b/, "path"],
  [/^region\b/, "region"],
  [/^endpoint\b/, "endpoint"],
  [/^sse\b/, "sse"],
  [/^account-id\b/, "account_id"],
  [/^access-key-id\b/, "access_key_id"],
  [/^secret-access-key\b/, "secret_access_key"],
  [/^(?:credentials\b|the secret \S|there is no secret \S)/, "secret_name"],
];

/** Assigns the API's message to a field. */
export function faultOf(message: string): EntryFaults {
  const field = BLAMED.find(([words]) => words.test(message))?.[1] ?? "whole";
  return { [field]: message };
}

export function sharesKeys(a: DestinationEntry, b: DestinationEntry): boolean {
  return (["accessKeyId", "secretAccessKey"] as const).some((name) => a[name] !== "" && a[name] === b[name]);
}

/** Whether two entries lead to different places: a proof of ownership does not carry over. */
export function isMoved(before: DestinationEntry, after: DestinationEntry, context: DestinationContext): boolean {
  const [one, other] = [before, after].map((entry) => {
    const built = buildDestination(entry);
    return built.ok ? parsePlace(built.value, context) : null;
  });
  return one?.ok !== true || other?.ok !== true || !samePlace(one.value, other.value);
}
