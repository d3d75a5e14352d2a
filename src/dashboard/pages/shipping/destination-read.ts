import type { Config } from "../../../config.ts";
import {
  buildDestination,
  type DestinationEntry,
  entryOf,
  fieldsOf,
  requireForm,
  withSecretsOf,
} from "../../../destinations/entry.ts";
import { MASK, maskDestination } from "../../../destinations/parse.ts";
import { CODE, type ErrorEntry } from "../../../errors.ts";
import { sentEntry } from "../../parts/destination-entry.ts";
import { lines } from "./text.ts";

/** Before the names of the fields of a destination. */
export const PREFIX = "destination-";

/** What a form changes of a stored destination. */
export interface DestinationAsked {
  /** The new `destination_conf`; null: unchanged. */
  conf: string | null;
  challenge: string | null;
  /** What the form may show again: never a secret. `entry` null: the stored one. */
  again: { entry: DestinationEntry | null; conf: string };
  /** Secrets were entered. They are not shown again. */
  hadSecrets: boolean;
  faults: readonly ErrorEntry[];
}

/** A stored destination in its fields, secrets as `****`; null: it cannot be read. */
export function storedEntry(masked: string, { destinations }: Pick<Config, "destinations">): DestinationEntry | null {
  const entry = masked === "" ? null : entryOf(masked, destinations);
  return entry?.ok === true ? entry.value : null;
}

/**
 * Reads the destination fields: a whole `destination_conf`, or else what its form asks for, in the
 * stored one.
 * @param masked the stored one, with secrets as `****`.
 */
export function readDestination(form: URLSearchParams, masked: string, config: Config): DestinationAsked {
  const pasted = lines(form.get("destination_conf") ?? "").trim();
  const challenge = form.get("ownership_challenge")?.trim() || null;
  const stored = storedEntry(masked, config);
  const isSent = stored !== null && fieldsOf(requireForm(stored)).some(({ name }) => form.has(PREFIX + name));
  const sent = isSent ? sentEntry(form, stored, config, PREFIX) : null;
  const hadSecrets = sent !== null && holdsNew(sent);
  const asked = { challenge, again: { entry: sent, conf: "" }, hadSecrets, faults: [] };
  if (pasted !== "") {
    const shows = isHarmless(pasted, config);
    return {
      ...asked,
      conf: pasted,
      again: { entry: sent, conf: shows ? pasted : "" },
      hadSecrets: hadSecrets || !shows,
    };
  }
  if (sent === null || stored === null) return { ...asked, conf: null };
  const built = buildDestination(withSecretsOf(sent, stored));
  if (!built.ok) return { ...asked, conf: null, faults: [faultOf(built.why)] };
  return { ...asked, conf: built.value === masked ? null : built.value };
}

/** Of a destination, as the API would say it. */
export function faultOf(message: string): ErrorEntry {
  return { code: CODE.notAllowed, message, source: { pointer: "/destination_conf" } };
}

/** Whether a secret was entered: none, or `****`, is as it was. */
function holdsNew(entry: DestinationEntry): boolean {
  return fieldsOf(requireForm(entry)).some(({ name, at, isSecret }) => {
    const text = entry.values[name] ?? "";
    return isSecret === true ? text !== "" && text !== MASK : at.masks !== undefined && at.masks.hide(text) !== text;
  });
}

/** Whether a text holds no secret: it is a destination, whose secrets are masked. */
export function isHarmless(conf: string, { destinations }: Pick<Config, "destinations">): boolean {
  // Without its question mark, the secrets become part of the bucket or the path.
  if (/&|key/i.test(conf.split("?", 1)[0] ?? "")) return false;
  return entryOf(conf, destinations).ok && maskDestination(conf) === conf;
}
