import { parseEndpoint } from "../../../base/hosts.ts";
import type { DestinationContext } from "../../../config.ts";
import { KEY_PARAMETERS, KEY_REFERENCE, readKeys } from "../access-keys.ts";
import { type PlaceRead, parseParameters, parsePath, readings, STORE_TERMS } from "../conf.ts";
import type { ConfParts, DestinationKind, Parsed } from "../destination.ts";
import { openStore, whyOf } from "../store/open.ts";
import { type GoogleDestination, googleStore } from "./google-store.ts";

/**
 * Google Cloud Storage: `gs://<bucket>/<path>?access-key-id=…&secret-access-key=…`, an HMAC key, or
 * `credentials=env:DEST_<NAME>`; with `endpoint=`, a regional one.
 */
export const gs = {
  schemes: ["gs"],
  isShown: (parameter) => ["endpoint", KEY_REFERENCE].includes(parameter),
  terms: () => STORE_TERMS,
  ...readings(readPlace, readKeys),
  // Made by the method above.
  open: (destination, path, platform) =>
    openStore(googleStore(destination as GoogleDestination, platform), {
      path,
      platform,
      why: whyOf(destination.endpoint, platform),
    }),
} as const satisfies DestinationKind;

const ENDPOINT = "storage.googleapis.com";

/** https://docs.cloud.google.com/storage/docs/buckets#naming */
const BUCKET = /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/;

function readPlace(
  { scheme, authority: bucket, path: rawPath, query }: ConfParts,
  { allowLoopback }: DestinationContext,
): Parsed<PlaceRead> {
  if (!BUCKET.test(bucket))
    return { ok: false, why: "the bucket must be 3 to 222 lower-case letters, digits, dots, dashes or underscores" };
  const path = parsePath(rawPath);
  if (!path.ok) return path;
  const parameters = parseParameters(query, ["endpoint", ...KEY_PARAMETERS]);
  if (!parameters.ok) return parameters;
  const endpoint = parseEndpoint(parameters.value.get("endpoint") ?? ENDPOINT, "endpoint", allowLoopback);
  if (!endpoint.ok) return endpoint;
  const place = { scheme, bucket, path: path.value, endpoint: endpoint.value, accountId: null };
  return { ok: true, value: { place, parameters: parameters.value } };
}
