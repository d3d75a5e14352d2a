import { readConfig } from "../config.ts";
import type { Destination, Parsed } from "../destinations/destination.ts";
import { parseDestination } from "../destinations/parse.ts";
import type { JobConfig } from "../job/config.ts";
import { destinationPurpose, unseal } from "../job/secrets.ts";

/** Where a job's objects go, with its credentials; or why that is unknown, in words. */
export function destinationOf({ destination }: Pick<JobConfig, "destination">, env: Env): Parsed<Destination> {
  const read = readConfig(env);
  if (!read.ok) return { ok: false, why: `configuration: ${read.faults.join("; ")}` };
  const { accountId, keys, destinations } = read.config;
  const conf = unseal(destination, destinationPurpose(accountId), keys);
  if (conf === null)
    return { ok: false, why: "neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination" };
  return parseDestination(conf, destinations);
}
