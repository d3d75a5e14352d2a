import type { EarlyPart } from "../intake/audience.ts";
import { type OptOut, offNow, optedOut } from "../job/config.ts";
import { errorText, log } from "../log.ts";
import { JobsCache } from "../pipeline/jobs-cache.ts";
import type { ArrivedPart } from "../pipeline/live.ts";
import type { Platform } from "../platform.ts";
import { RecordLine } from "../record/line.ts";
import type { Turn } from "./shown-parts.ts";

/**
 * Of what the consumer brings, what a viewer has not seen early.
 * @param turns of the parts. @param since the viewer's: it saw what was shown early after that.
 */
export function unseen<R>(
  { records, leftOut }: { records: readonly R[]; leftOut: number },
  parts: readonly ArrivedPart[],
  turns: readonly Turn[],
  since: Turn,
): { records: readonly R[]; leftOut: number } {
  const isSeen = turns.map((turn) => turn > since);
  if (!isSeen.includes(true)) return { records, leftOut };
  let at = 0;
  const rest = parts.flatMap(({ lines }, n) => {
    const from = at;
    at += lines;
    return isSeen[n] ? [] : records.slice(from, at);
  });
  return { records: rest, leftOut: parts.reduce((sum, part, n) => sum + (isSeen[n] ? 0 : part.leftOut), 0) };
}

/** Records of parts, as the consumer would show them. null: an unreadable one. */
export function recordsOf<P extends EarlyPart>(
  parts: readonly P[],
  optOuts: readonly OptOut[],
): (P & { records: (RecordLine | null)[] })[] {
  const [wasOff, isOff] = [optedOut(optOuts), offNow(optOuts)];
  return parts.map((part) => {
    const records = part.entries.map((entry) => RecordLine.ofEntry(entry, part.source));
    const isShown = (record: RecordLine | null): boolean =>
      record === null || !(isOff.has(record.ScriptName) || wasOff(record.ScriptName, part.takenInMs));
    return { ...part, records: records.filter(isShown) };
  });
}

/** Deadline of the control plane, in ms: below that of the call that shows records early. */
const RULES_MS = 1_500;

/** Pause between two questions to it, in ms: it has more to do than this. */
const PAUSE_MS = 200;

/**
 * The opt-outs, never older than the question. Many may ask at once: there is one call at a time,
 * and a pause after each.
 */
export class FreshOptOuts {
  readonly #control: Parameters<JobsCache["current"]>[0];
  readonly #platform: Pick<Platform, "sleep">;
  readonly #jobs = new JobsCache();
  #before: Promise<void> = Promise.resolve();
  #next: Promise<readonly OptOut[] | null> | null = null;

  constructor(control: Parameters<JobsCache["current"]>[0], platform: Pick<Platform, "sleep">) {
    this.#control = control;
    this.#platform = platform;
  }

  /** @returns null: they are not known. Never rejects. */
  get(): Promise<readonly OptOut[] | null> {
    this.#next ??= this.#asked();
    return this.#next;
  }

  async #asked(): Promise<readonly OptOut[] | null> {
    await this.#before;
    // Who comes from now on needs another answer.
    this.#next = null;
    const answer = this.#ask();
    this.#before = answer.then(() => this.#platform.sleep(PAUSE_MS));
    return answer;
  }

  async #ask(): Promise<readonly OptOut[] | null> {
    try {
      return (await this.#jobs.current(this.#control, RULES_MS)).optOuts;
    } catch (error) {
      log.warn("live viewers get records later: the opt-outs are not known", { error: errorText(error) });
      return null;
    }
  }
}
