import type { JobConfig, Window } from "./config.ts";
import { SWITCHES, type SwitchName } from "./fields.ts";
import type { JobBody } from "./job-schema.ts";
import type { JobMeaning } from "./rules.ts";
import { enabledWindows } from "./windows.ts";

/** What the API writes: the body, its meaning, and the sealed destination. */
export interface JobDraft {
  body: Omit<JobBody, "destination_conf">;
  meaning: JobMeaning;
  destination: string;
  path: string;
  /** It starts in the past, then, in ms since the epoch; absent: now. */
  since?: number;
}

/** A rerun has neither. */
const SWITCHED_OFF = { canary: false, sketches: false };

/** What the control plane gives to each change. */
export type Given = Pick<JobConfig, "version" | "mark">;

/** The configuration of a new job. */
export function created(id: number, draft: JobDraft, { version, mark }: Given, nowMs: number): JobConfig {
  return {
    id,
    version,
    mark,
    modifiedVersion: version,
    outputVersion: version,
    destinationVersion: version,
    windows: enabledWindows([], draft.body.enabled === true, nowMs),
    ...draft.meaning,
    destination: draft.destination,
    path: draft.path,
    deletedMs: null,
    discard: false,
    ...(draft.since !== undefined && {
      windows: [{ fromMs: draft.since, untilMs: null }],
      since: draft.since,
    }),
  };
}

/** What a job is to ship again. */
export interface RerunSpan {
  /** Of intake, in ms since the epoch. */
  sinceMs: number;
  /** Exclusive. */
  untilMs: number;
}

/**
 * The configuration of a rerun: a job like another one, under the rules that it has now, which was
 * enabled in the past alone, and is deleted.
 * @param to absent: where the other one ships.
 */
export function rerunOf(
  job: JobConfig,
  id: number,
  { sinceMs, untilMs }: RerunSpan,
  to: Pick<JobConfig, "destination" | "path"> | null,
  { version, mark }: Given,
  nowMs: number,
): JobConfig {
  return {
    ...job,
    ...(to && { destination: to.destination, path: to.path }),
    ...{ id, version, mark, modifiedVersion: version, outputVersion: version, destinationVersion: version },
    ...{ windows: [{ fromMs: sinceMs, untilMs: untilMs - 1 }], ...SWITCHED_OFF },
    ...{ deletedMs: nowMs, discard: false, since: sinceMs, rerunOf: job.id },
  };
}

/**
 * The configuration of a changed job. @param destinationChanged the destination differs, not only
 * it.
 */
export function updated(
  before: JobConfig,
  draft: JobDraft,
  destinationChanged: boolean,
  { version, mark }: Given,
  nowMs: number,
): JobConfig {
  const outputChanged = JSON.stringify(before.output) !== JSON.stringify(draft.meaning.output);
  // Switches follow from the settings that it has now.
  const rest = Object.entries(before).filter(([name]) => !(name in SWITCHES));
  return {
    ...(Object.fromEntries(rest) as Omit<JobConfig, SwitchName>),
    ...draft.meaning,
    version,
    mark,
    modifiedVersion: version,
    outputVersion: outputChanged ? version : before.outputVersion,
    destinationVersion: destinationChanged ? version : before.destinationVersion,
    windows: enabledWindows(before.windows, draft.body.enabled === true, nowMs),
    destination: draft.destination,
    path: draft.path,
  };
}

/**
 * The configuration of a deleted job; of one deleted earlier, if it is to be discarded now.
 * @param windows in which it was enabled.
 */
export function deleted(
  before: JobConfig,
  discard: boolean,
  windows: Window[],
  { version, mark }: Given,
  nowMs: number,
): JobConfig {
  return {
    ...before,
    version,
    mark,
    modifiedVersion: version,
    // Events taken in before and still on their way belong to the job, unless they are discarded,
    // too.
    windows: discard ? [] : windows,
    deletedMs: before.deletedMs ?? nowMs,
    discard,
  };
}
