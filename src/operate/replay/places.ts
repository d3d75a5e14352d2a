import { type Config, readConfig } from "../../config.ts";
import { decrypt, destinationPurpose, replayPurpose } from "../../formats/secrets/encrypted.ts";
import type { Destination, Parsed } from "../../ship/destinations/destination.ts";
import { parseDestination, parsePlace, sameStore } from "../../ship/destinations/parse.ts";
import type { ReplayRow } from "./rows.ts";

/** Where a replay reads and where it writes. */
export interface Places {
  source: Destination;
  target: Destination;
}

const SEALED = "neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination";

/**
 * A replay stays where it began: it reads where the job was then, with the job's newest keys if the
 * job is still there, and with those of then if it is not.
 * @param destination the job's, sealed, as it is now.
 */
export function placesOf(
  { source, target }: Pick<ReplayRow, "source" | "target">,
  destination: string,
  env: Env,
): Parsed<Places> {
  const read = readConfig(env);
  if (!read.ok) return { ok: false, why: `configuration: ${read.faults.join("; ")}` };
  const { config } = read;
  const from = sourceConf(source ?? destination, destination, config);
  if (from === null) return { ok: false, why: SEALED };
  const readFrom = parseDestination(from, config.destinations);
  if (!readFrom.ok) return readFrom;
  if (target === null) return { ok: true, value: { source: readFrom.value, target: readFrom.value } };
  const to = decrypt(target, replayPurpose(config.accountId), config.keys);
  if (to === null) return { ok: false, why: SEALED };
  const writtenTo = parseDestination(to, config.destinations);
  return writtenTo.ok ? { ok: true, value: { source: readFrom.value, target: writtenTo.value } } : writtenTo;
}

/** null: no key opens it. */
function sourceConf(began: string, current: string, { accountId, keys, destinations }: Config): string | null {
  const [then, now] = [began, current].map((sealed) => decrypt(sealed, destinationPurpose(accountId), keys)) as [
    string | null,
    string | null,
  ];
  if (then === null || now === null) return then;
  const [a, b] = [parsePlace(then, destinations), parsePlace(now, destinations)];
  return a.ok && b.ok && sameStore(a.value, b.value) ? now : then;
}

/** What a place is called beside a key that alone would mislead. */
export function placeName({ bucket, endpoint }: Pick<Destination, "bucket" | "endpoint">): string {
  return `${bucket} at ${endpoint.href}`;
}
