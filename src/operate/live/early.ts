import { errorText, log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import { RecordLine } from "../../formats/record/line.ts";
import type { EarlyPart } from "../../ship/intake/viewers.ts";
import { type OptOut, offNow, optedOut } from "../../ship/job/config.ts";
import { JobsCache } from "../../ship/job/jobs-cache.ts";
import type { Arrived, ArrivedPart } from "./arrived.ts";
import type { Turn } from "./shown-parts.ts";

/**
 * Of what the log has, what a viewer has not seen early.
 * @param turns of the parts. @param since the viewer's: it saw what was shown early after that.
 */
export function unseen(
  { records, leftOut, parts }: Arrived,
  turns: ReadonlyMap<string, Turn>,
  since: Turn,
): Pick<Arrived, "records" | "leftOut"> {
  const isSeen = ({ id }: ArrivedPart): boolean => (turns.get(id) ?? 0) > since;
  if (!parts.some(isSeen)) return { records, leftOut };
  let at = 0;
  const rest = parts.flatMap((part) => {
    const from = at;
    at += part.records;
    return isSeen(part) ? [] : records.slice(from, at);
  });
  return { records: rest, leftOut: parts.reduce((sum, part) => sum + (isSeen(part) ? 0 : part.leftOut), 0) };
}

/** Records of parts, as the log would show them. null: an unreadable one. */
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
