import * as z from "zod";
import { parsedJson } from "../../base/bytes.ts";
import type { DestinationContext } from "../../config.ts";
import { blankFault } from "../../formats/secrets/blanks.ts";
import type { Parsed, Place } from "./destination.ts";

/** An access key, as S3's dialects and HMAC keys of Google have it. */
export interface AccessKey {
  accessKeyId: string;
  secretAccessKey: string;
}

export const KEY_SECRETS: readonly string[] = ["access-key-id", "secret-access-key"];
/** Names a secret of the deployment instead, and is none itself. */
export const KEY_REFERENCE = "credentials";
export const KEY_PARAMETERS: readonly string[] = [...KEY_SECRETS, KEY_REFERENCE];

const EnvCredentials = z.object({
  host: z.string().min(1),
  access_key_id: z.string().min(1),
  secret_access_key: z.string().min(1),
});

/**
 * The key of a string: both of its parts, or a secret of the deployment that has them.
 * @param place that it is for.
 */
export function readKeys(
  parameters: ReadonlyMap<string, string>,
  { endpoint }: Place,
  context: DestinationContext,
): Parsed<AccessKey> {
  const reference = parameters.get(KEY_REFERENCE);
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
  const parsed = EnvCredentials.safeParse(parsedJson(secret));
  if (!parsed.success) {
    return { ok: false, why: `the secret ${name} must be JSON with host, access_key_id and secret_access_key` };
  }
  for (const [part, value] of Object.entries(parsed.data)) {
    const why = blankFault(`the secret ${name}: ${part}`, value);
    if (why !== null) return { ok: false, why };
  }
  // The secret names the host it is meant for; without that, any user who may create a job could
  // have it sent anywhere.
  if (parsed.data.host !== endpoint.host)
    return { ok: false, why: `the secret ${name} is for another host than this destination's` };
  return {
    ok: true,
    value: { accessKeyId: parsed.data.access_key_id, secretAccessKey: parsed.data.secret_access_key },
  };
}
