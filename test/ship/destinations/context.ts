import type { DestinationContext } from "../../../src/config.ts";
import { KINDS } from "../../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import type { S3Destination } from "../../../src/ship/destinations/s3/object-store.ts";

/** As in production: no loopback, the platform's own endpoint, one secret. */
export const PRODUCTION: DestinationContext = {
  objstoreEndpoint: "https://{account-id}.r2.cloudflarestorage.com",
  allowLoopback: false,
  secret: (name) => {
    if (name === "DEST_ARCHIVE")
      return JSON.stringify({ host: "store.example", access_key_id: "env-id", secret_access_key: "env-secret" });
    if (name === "DEST_BROKEN") return '{"host":"store.example"}';
    if (name === "DEST_TEXT") return "not JSON";
    // What a careless context would hand out: nothing but DEST_ names may ever be asked for.
    if (name === "ADMIN_TOKEN")
      return JSON.stringify({ host: "store.example", access_key_id: "x", secret_access_key: "y" });
    return undefined;
  },
  binding: (name) => (name === "KV" ? "other" : name === "GONE" ? "unbound" : "unlisted"),
};

export const LOCAL: DestinationContext = {
  ...PRODUCTION,
  allowLoopback: true,
  objstoreEndpoint: "http://127.0.0.1:8787/cdn-cgi/local/r2/s3",
};

/** Reads a destination that must be one. @throws with the reason if it is none. */
export function destination(conf: string, context: DestinationContext = PRODUCTION): S3Destination {
  const parsed = parseDestination(conf, context);
  if (!parsed.ok) throw new Error(parsed.why);
  return parsed.value as S3Destination;
}

/** Why a destination is refused. @throws if it is not. */
export function refusal(conf: string, context: DestinationContext = PRODUCTION): string {
  const parsed = parseDestination(conf, context);
  if (parsed.ok) throw new Error("this is taken for a destination");
  return parsed.why;
}

/** What is said of a scheme that no kind has. */
export const UNKNOWN_SCHEME = `unknown scheme; supported are ${KINDS.flatMap(({ schemes }) => schemes)
  .map((scheme) => `${scheme}://`)
  .join(", ")}`;
