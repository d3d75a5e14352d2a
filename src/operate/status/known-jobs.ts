import type { ConfigResult } from "../../config.ts";
import { EXTRA_FIELDS } from "../../formats/record/fields.ts";
import { decrypt, destinationPurpose } from "../../formats/secrets/encrypted.ts";
import { expiryOf } from "../../ship/destinations/kinds.ts";
import { parseDestination } from "../../ship/destinations/parse.ts";
import { CLOCK_SKEW_MS, type JobConfig, type UnreadableJob } from "../../ship/job/config.ts";
import { extraFieldsOf } from "../../ship/job/rules.ts";
import type { DestinationFact, KnownJob } from "./facts.ts";

/** The part of a job that the rules use, without secrets. */
export function knownJob(job: JobConfig, config: ConfigResult): KnownJob {
  const last = job.windows.at(-1);
  // Malformed, it is another finding.
  const on = config.ok ? config.config.extraFields : EXTRA_FIELDS;
  const fieldsOff = extraFieldsOf(job).filter((name) => !on.includes(name));
  const isEnabled = job.deletedMs === null && last?.untilMs === null;
  return {
    id: job.id,
    enabledSinceMs: isEnabled ? last.fromMs + CLOCK_SKEW_MS : null,
    deletedMs: job.deletedMs,
    intervalMs: job.limits.intervalMs,
    hasFilter: job.filter !== null,
    sampleRate: job.sampleRate,
    modifiedVersion: job.modifiedVersion,
    destination: destinationFact(job.destination, config),
    ...(job.rerunOf !== undefined && { rerunOf: job.rerunOf }),
    ...(fieldsOff.length > 0 && { fieldsOff }),
  };
}

/** Of a job that cannot be read: what is unknown is as of a job without settings. */
export function knownUnreadable({ id, windows, deletedMs }: UnreadableJob): KnownJob {
  const last = windows.at(-1);
  return {
    id,
    enabledSinceMs: deletedMs === null && last?.untilMs === null ? last.fromMs + CLOCK_SKEW_MS : null,
    deletedMs,
    ...{ intervalMs: 0, hasFilter: false, sampleRate: 1, modifiedVersion: 0 },
    destination: { kind: "unknown" },
    isUnreadable: true,
  };
}

/** Whether an upload could use the sealed destination. */
function destinationFact(sealed: string, config: ConfigResult): DestinationFact {
  if (!config.ok) return { kind: "unknown" };
  const { accountId, keys, destinations } = config.config;
  const conf = decrypt(sealed, destinationPurpose(accountId), keys);
  if (conf === null) return { kind: "lost" };
  const parsed = parseDestination(conf, destinations);
  if (!parsed.ok) return { kind: "unusable", why: parsed.why };
  const expiresMs = expiryOf(parsed.value);
  return { kind: "ok", ...(expiresMs !== null && { expiresMs }) };
}
