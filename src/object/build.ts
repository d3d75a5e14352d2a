import { hasParts, partOf, readTemplate } from "../destinations/keys.ts";
import { compileFilter } from "../filter/compile.ts";
import { parseFilter } from "../filter/parse.ts";
import type { JobConfig } from "../job/config.ts";
import { APPEND_MAX_WRITTEN_UNITS } from "../limits.ts";
import { idOf, type Part } from "../queue/message.ts";
import { EXTRA_FIELDS } from "../record/fields.ts";
import type { RecordLine } from "../record/line.ts";
import { hasRows } from "../record/rows.ts";
import type { Append, AppendedMessage } from "./append.ts";
import type { Encoder } from "./encoder.ts";
import { encoderOf } from "./encoders.ts";
import type { LoadedRecord } from "./load.ts";
import { type Sampler, sampler } from "./sample.ts";

/**
 * What of a message is offered to jobs: all records except those of functions that have opted out.
 */
export interface Offered {
  message: Part;
  records: readonly LoadedRecord[];
  /** Each character of the records is one byte of UTF-8. */
  ascii: boolean;
}

/** The part of a job's configuration that decides what it ships, and how that is written. */
export type ShippingRules = Pick<JobConfig, "id" | "filter" | "sampleRate" | "output">;

/** Why a record is not shipped. */
export const FILTERED = Symbol("filtered");
export const SAMPLED_OUT = Symbol("sampled out");

/** A job's configuration, compiled. */
interface Plan {
  wants(record: RecordLine): boolean;
  /** What is written of a record that it wants. */
  shipped(record: LoadedRecord): RecordLine;
  sample: Sampler;
  encoder: Encoder;
}

/** A configuration never changes: a new version is another object. */
const plans = new WeakMap<ShippingRules, Plan>();

function planOf(job: ShippingRules): Plan {
  const known = plans.get(job);
  if (known !== undefined) return known;
  const parsed = parseFilter(job.filter ?? "", EXTRA_FIELDS);
  // It was valid when it was stored, by a later version of this code. The messages wait.
  if (!parsed.ok) throw new Error(`the filter of job ${job.id} cannot be read: ${parsed.faults[0]}`);
  const passes = parsed.filter === null ? () => true : compileFilter(parsed.filter);
  const { rows, truncate } = job.output;
  const plan: Plan = {
    // What has no row is filtered out: nothing of it could be delivered.
    wants: rows === "log" ? (record) => hasRows(record) && passes(record) : passes,
    shipped: truncate === false ? ({ whole }) => whole : ({ shipped }) => shipped,
    sample: sampler(job.id, job.sampleRate),
    encoder: encoderOf(job.output),
  };
  plans.set(job, plan);
  return plan;
}

/**
 * What a job does with each record of one message: the text that it ships, as a preview shows it,
 * or why it ships none. Pure.
 * @param messageId decides the sample, with the job's id.
 * @throws if the job's filter cannot be read.
 */
export function recordJudge(
  job: ShippingRules,
  messageId: string,
): (record: LoadedRecord) => string | typeof FILTERED | typeof SAMPLED_OUT {
  const { wants, shipped, sample, encoder } = planOf(job);
  const inSample = sample(messageId);
  return (record) => {
    if (!wants(record.whole)) return FILTERED;
    return inSample(record.index) ? encoder.text(shipped(record)) : SAMPLED_OUT;
  };
}

/**
 * Splits what a job is offered into appends, whole messages in order, by how large their records
 * may become when they are written: a format may add much to each of them, and all of an append is
 * in memory at once.
 * @throws as {@link buildAppend}.
 */
export function appendsOf<O extends Offered>(job: JobConfig, offered: readonly O[]): O[][] {
  const { encoder, shipped } = planOf(job);
  const parts: O[][] = [];
  let part: O[] = [];
  let units = 0;
  for (const offer of offered) {
    const size = offer.records.reduce((sum, record) => {
      const written = shipped(record);
      return sum + encoder.unitsAtMost(written.line.length, written);
    }, 0);
    if (part.length > 0 && units + size > APPEND_MAX_WRITTEN_UNITS) {
      parts.push(part);
      part = [];
      units = 0;
    }
    part.push(offer);
    units += size;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** All that decides what a job gets of a message. */
type BuildingRules = ShippingRules & Pick<JobConfig, "path" | "sketches">;

/**
 * Jobs of which this is the same get the same of a message, byte for byte. null: what this job gets
 * depends on itself.
 */
export function rulesOf(job: BuildingRules): string | null {
  const { filter, sampleRate, output, sketches = true } = job;
  // Samples of two jobs are independent.
  if (sampleRate < 1) return null;
  const { hour, script } = readTemplate(job.path);
  return JSON.stringify([filter ?? "", hour, script, sketches, output]);
}

type Made = Pick<Append, "messages" | "fragments">;

/**
 * What jobs of equal rules get of the same messages: made once, as long as they ask for the same.
 * Holds no more than that of all the messages at once, whatever is asked for.
 */
export class SharedBuild {
  readonly #messages: number;
  readonly #made = new Map<string, Made>();

  /** @param messages how many there are in all. */
  constructor(messages: number) {
    this.#messages = messages;
  }

  /** @param wanted those of the messages that are asked for. */
  get(wanted: readonly Offered[], make: () => Made): Made {
    const ids = wanted.map(({ message }) => message.id).join();
    const known = this.#made.get(ids);
    if (known !== undefined) return known;
    const made = make();
    this.#made.set(ids, made);
    let held = [...this.#made.values()].reduce((sum, { messages }) => sum + messages.length, 0);
    for (const [first, { messages }] of this.#made) {
      if (held <= this.#messages) break;
      this.#made.delete(first);
      held -= messages.length;
    }
    return made;
  }

  /** Lets go of what was made. */
  end(): void {
    this.#made.clear();
  }
}

/**
 * What a job gets of these messages: filtered, sampled, encoded, and gathered into fragments. Pure.
 * @param without ids of messages that its log has already.
 * @param queueDoneMs as in {@link Append}.
 * @param shared what jobs of its {@link rulesOf} get of these messages; absent: it is made anew.
 * @throws if the job's filter cannot be read.
 */
export function buildAppend(
  job: BuildingRules & Pick<JobConfig, "version">,
  offered: readonly Offered[],
  without: ReadonlySet<string>,
  queueDoneMs: number,
  shared?: SharedBuild,
): Append {
  const wanted = offered.filter(({ message }) => !without.has(message.id));
  const make = () => made(job, wanted);
  return { version: job.version, ...(shared?.get(wanted, make) ?? make()), queueDoneMs };
}

function made(job: BuildingRules, offered: readonly Offered[]): Made {
  const { wants, shipped, sample, encoder } = planOf(job);
  const template = readTemplate(job.path);
  const gatherer = encoder.gather(
    hasParts(template) ? (record) => partOf(template, record.EventTimestampMs, () => record.ScriptName) : undefined,
    job.sketches !== false,
  );
  const messages: AppendedMessage[] = [];
  for (const { message, records, ascii } of offered) {
    const inSample = sample(message.id);
    let filtered = 0;
    let sampledOut = 0;
    const kept: RecordLine[] = [];
    for (const record of records) {
      if (!wants(record.whole)) filtered += 1;
      else if (!inSample(record.index)) sampledOut += 1;
      else kept.push(shipped(record));
    }
    for (const record of kept) gatherer.add(record, message.takenInMs, ascii);
    messages.push({ ...idOf(message), received: records.length, filtered, sampledOut });
  }
  return { messages, fragments: gatherer.finish() };
}
