import { readConfig } from "../../config.ts";
import { placeMark, rootOf } from "../../formats/manifest/place.ts";
import { readTemplate } from "../../formats/object/keys.ts";
import { decrypt, destinationPurpose, elsewherePurpose } from "../../formats/secrets/encrypted.ts";
import type { Destination, Parsed } from "../destinations/destination.ts";
import { parseDestination, sameHolder } from "../destinations/parse.ts";
import type { JobConfig } from "../job/config.ts";
import type { Target } from "./reader-rows.ts";

/** Where a job's objects go, with its credentials; or why that is unknown, in words. */
export function destinationOf({ destination }: Pick<JobConfig, "destination">, env: Env): Parsed<Destination> {
  return opened(destination, destinationPurpose, env);
}

/** The same of an object that goes elsewhere. */
export function elsewhereOf({ id }: Pick<JobConfig, "id">, { sealed }: Target, env: Env): Parsed<Destination> {
  return opened(sealed, (accountId) => elsewherePurpose(accountId, id), env);
}

function opened(sealed: string, purpose: (accountId: string) => string, env: Env): Parsed<Destination> {
  const read = readConfig(env);
  if (!read.ok) return { ok: false, why: `configuration: ${read.faults.join("; ")}` };
  const { accountId, keys, destinations } = read.config;
  const conf = decrypt(sealed, purpose(accountId), keys);
  if (conf === null)
    return { ok: false, why: "neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination" };
  return parseDestination(conf, destinations);
}

/**
 * Whether objects of a changed job are listed together with those before: it ships to the same
 * bucket, below the same folder. Where that is unknown, it does not.
 */
export function staysBelow(before: JobConfig, after: JobConfig, env: Env): boolean {
  const [from, to] = [destinationOf(before, env), destinationOf(after, env)];
  if (!from.ok || !to.ok) return false;
  return (
    placeMark(from.value, rootOf(readTemplate(before.path))) === placeMark(to.value, rootOf(readTemplate(after.path)))
  );
}

/**
 * Whether a changed job ships to where it did, with other secrets or parameters. True also where
 * that is unknown: what may be there is asked for, or counted, once more than it had to be.
 */
export function stays(
  before: Pick<JobConfig, "destination">,
  after: Pick<JobConfig, "destination">,
  env: Env,
): boolean {
  const [from, to] = [destinationOf(before, env), destinationOf(after, env)];
  return !from.ok || !to.ok || sameHolder(from.value, to.value);
}
