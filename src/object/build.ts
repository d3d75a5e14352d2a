import { isAscii, utf8Length } from "../bytes.ts";
import { compileFilter } from "../filter/compile.ts";
import { parseFilter } from "../filter/parse.ts";
import type { JobConfig } from "../job/config.ts";
import { APPEND_MAX_WRITTEN_UNITS } from "../limits.ts";
import { type RecordEncoder, recordEncoder } from "../output/encoder.ts";
import { batchTexts, recordLayout } from "../output/format.ts";
import { type Envelope, idOf } from "../queue/message.ts";
import type { TraceRecord } from "../record/fields.ts";
import { utcDay } from "../record/record.ts";
import type { Append, AppendedMessage } from "./append.ts";
import { FragmentBuilder } from "./fragment.ts";
import type { LoadedRecord } from "./load.ts";
import { type Sampler, sampler } from "./sample.ts";

/** What of a message is offered to jobs: all but the records of functions that have opted out. */
export interface Offered {
  message: Envelope;
  records: readonly LoadedRecord[];
  /** Each character of the records is one byte of UTF-8. */
  ascii: boolean;
}

/** What of a job's configuration decides what it ships, and how that is written. */
export type ShippingRules = Pick<JobConfig, "id" | "filter" | "sampleRate" | "output">;

/** Why a record is not shipped. */
export const FILTERED = Symbol("filtered");
export const SAMPLED_OUT = Symbol("sampled out");

/** What becomes of a record: the text that is shipped, or why there is none. @param inSample of the message that it came in. */
export type Judge = (
  record: LoadedRecord,
  inSample: (index: number) => boolean,
) => string | typeof FILTERED | typeof SAMPLED_OUT;

/** A job's configuration, compiled. */
interface Plan {
  judge: Judge;
  sample: Sampler;
  delimiter: Uint8Array;
  /** What the format adds to a record is ASCII. */
  ascii: boolean;
  /** How much that is, with the delimiter, in UTF-16 units. */
  textUnits: number;
  /** How often a field is written at most. */
  repeats: number;
}

/** A configuration never changes: a new version is another one. */
const plans = new WeakMap<ShippingRules, Plan>();

function planOf(job: ShippingRules): Plan {
  const known = plans.get(job);
  if (known !== undefined) return known;
  const parsed = parseFilter(job.filter ?? "");
  // It was found to be valid before it was stored: this is an older version of the code than the one that stored it. The messages wait.
  if (!parsed.ok) throw new Error(`the filter of job ${job.id} cannot be read: ${parsed.faults[0]}`);
  const layout = recordLayout(job.output);
  const { fields } = layout;
  const texts = layout.texts.join("");
  const plan: Plan = {
    judge: judgeOf(parsed.filter === null ? () => true : compileFilter(parsed.filter), recordEncoder(job.output)),
    sample: sampler(job.id, job.sampleRate),
    delimiter: batchTexts(job.output).delimiter,
    ascii: isAscii(texts),
    textUnits: texts.length + job.output.recordDelimiter.length,
    // A template may repeat a field; whatever else is written, no field is written twice.
    repeats: Math.max(1, ...repeatsOf(fields)),
  };
  plans.set(job, plan);
  return plan;
}

function judgeOf(wants: (record: TraceRecord) => boolean, encode: RecordEncoder): Judge {
  return ({ index, whole, shipped }, inSample) => {
    if (!wants(whole)) return FILTERED;
    return inSample(index) ? encode(shipped) : SAMPLED_OUT;
  };
}

/**
 * What a job does with each record of one message. Pure.
 * @param messageId decides the sample, with the job's id.
 * @throws if the job's filter cannot be read.
 */
export function recordJudge(job: ShippingRules, messageId: string): (record: LoadedRecord) => ReturnType<Judge> {
  const { judge, sample } = planOf(job);
  const inSample = sample(messageId);
  return (record) => judge(record, inSample);
}

function repeatsOf(fields: readonly string[]): number[] {
  return [...Map.groupBy(fields, (field) => field).values()].map(({ length }) => length);
}

/**
 * Splits what a job is offered into what goes into one append each, whole messages in order: by how large their records may be when they are written, as
 * a format may add much to each of them, and all of an append is in memory at once.
 * @throws as {@link buildAppend}.
 */
export function appendsOf<O extends Offered>(job: JobConfig, offered: readonly O[]): O[][] {
  const { textUnits, repeats } = planOf(job);
  const parts: O[][] = [];
  let part: O[] = [];
  let units = 0;
  for (const offer of offered) {
    const size = offer.records.reduce((sum, { shipped }) => sum + textUnits + repeats * shipped.line.length, 0);
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
  job: ShippingRules & Pick<JobConfig, "version">,
  offered: readonly Offered[],
  without: ReadonlySet<string>,
  queueDoneMs: number,
): Append {
  const plan = planOf(job);
  const { judge, sample, delimiter } = plan;
  const builder = new FragmentBuilder(delimiter);
  const messages: AppendedMessage[] = [];
  for (const { message, records, ascii } of offered) {
    if (without.has(message.id)) continue;
    const lengthIsBytes = ascii && plan.ascii;
    const inSample = sample(message.id);
    let filtered = 0;
    let sampledOut = 0;
    for (const record of records) {
      const text = judge(record, inSample);
      if (text === FILTERED) filtered += 1;
      else if (text === SAMPLED_OUT) sampledOut += 1;
      else {
        const eventMs = record.shipped.EventTimestampMs;
        const bytes = lengthIsBytes ? text.length : utf8Length(text);
        builder.add(text, bytes, utcDay(eventMs), eventMs, message.takenInMs);
      }
    }
    messages.push({ ...idOf(message), received: records.length, filtered, sampledOut });
  }
  return { version: job.version, messages, fragments: builder.finish(), queueDoneMs };
}
