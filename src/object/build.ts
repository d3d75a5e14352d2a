import { hasParts, partOf } from "../destinations/keys.ts";
import { compileFilter } from "../filter/compile.ts";
import { parseFilter } from "../filter/parse.ts";
import { type JobConfig, templateOf } from "../job/config.ts";
import { APPEND_MAX_WRITTEN_UNITS } from "../limits.ts";
import { idOf, type Part } from "../queue/message.ts";
import { EXTRA_FIELDS, type ExtraValues, type TraceRecord } from "../record/fields.ts";
import { seedOf } from "../sketch/words.ts";
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
  wants(record: TraceRecord & ExtraValues): boolean;
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
  const wants = parsed.filter === null ? () => true : compileFilter(parsed.filter);
  const plan: Plan = { wants, sample: sampler(job.id, job.sampleRate), encoder: encoderOf(job.output) };
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
  const { wants, sample, encoder } = planOf(job);
  const inSample = sample(messageId);
  return ({ index, whole, shipped }) => {
    if (!wants(whole)) return FILTERED;
    return inSample(index) ? encoder.text(shipped) : SAMPLED_OUT;
  };
}

/**
 * Splits what a job is offered into appends, whole messages in order, by how large their records
 * may become when they are written: a format may add much to each of them, and all of an append is
 * in memory at once.
 * @throws as {@link buildAppend}.
 */
export function appendsOf<O extends Offered>(job: JobConfig, offered: readonly O[]): O[][] {
  const { encoder } = planOf(job);
  const parts: O[][] = [];
  let part: O[] = [];
  let units = 0;
  for (const offer of offered) {
    const size = offer.records.reduce((sum, { shipped }) => sum + encoder.unitsAtMost(shipped.line.length), 0);
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

/**
 * What a job gets of these messages: filtered, sampled, encoded, and gathered into fragments. Pure.
 * @param without ids of messages that its log has already.
 * @param queueDoneMs as in {@link Append}.
 * @throws if the job's filter cannot be read.
 */
export function buildAppend(
  job: ShippingRules & Pick<JobConfig, "version" | "path" | "floor" | "sketches">,
  offered: readonly Offered[],
  without: ReadonlySet<string>,
  queueDoneMs: number,
): Append {
  const { wants, sample, encoder } = planOf(job);
  const template = templateOf(job);
  const gatherer = encoder.gather(
    hasParts(template) ? (record) => partOf(template, record.EventTimestampMs, () => record.ScriptName) : undefined,
    job.sketches === false ? undefined : seedOf(job.id),
  );
  const messages: AppendedMessage[] = [];
  for (const { message, records, ascii } of offered) {
    if (without.has(message.id)) continue;
    const inSample = sample(message.id);
    let filtered = 0;
    let sampledOut = 0;
    for (const { index, whole, shipped } of records) {
      if (!wants(whole)) filtered += 1;
      else if (!inSample(index)) sampledOut += 1;
      else gatherer.add(shipped, message.takenInMs, ascii);
    }
    messages.push({ ...idOf(message), received: records.length, filtered, sampledOut });
  }
  return { version: job.version, messages, fragments: gatherer.finish(), queueDoneMs };
}
