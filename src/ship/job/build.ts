import { dayOf } from "../../base/time.ts";
import { compileFilter } from "../../formats/filter/compile.ts";
import { parseFilter } from "../../formats/filter/parse.ts";
import type { Encoder, Fragment } from "../../formats/object/encoder.ts";
import { encoderOf } from "../../formats/object/encoders.ts";
import { isFinishedFragment, takenOver } from "../../formats/object/fragment.ts";
import { hasParts, type PathParts, partOf, readTemplate } from "../../formats/object/keys.ts";
import { isAsItCame, writtenFields } from "../../formats/output/format.ts";
import type { LoadedRecord } from "../../formats/queue/load-records.ts";
import type { Part, Takeover } from "../../formats/queue/message.ts";
import { EXTRA_FIELDS } from "../../formats/record/fields.ts";
import type { RecordLine } from "../../formats/record/line.ts";
import { hasRows } from "../../formats/record/rows.ts";
import { IdentityWriter } from "../../formats/sketch/identities.ts";
import type { JobConfig } from "./config.ts";

/**
 * What of a message is offered to jobs: all records except those of functions that have opted out.
 */
export interface Offered {
  message: Part;
  records: readonly LoadedRecord[];
  /** All records of the message as they came; absent: they are compressed anew. */
  takeover?: Takeover;
}

/** The part of a job's configuration that decides what it ships, and how that is written. */
export type ShippingRules = Pick<JobConfig, "id" | "filter" | "sampleRate" | "output" | "rerunOf">;

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
    // What is shipped again is the same sample.
    sample: sampler(job.rerunOf ?? job.id, job.sampleRate),
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

/**
 * Whether a job ships all records as they came, whatever they are, so that its objects can take
 * messages over.
 */
export function takesOver({ filter, sampleRate, output, path }: BuildingRules): boolean {
  return !filter && sampleRate >= 1 && isAsItCame(output) && !readTemplate(path).script;
}

/** What a job ships of some parts, and what became of the rest. */
export interface Prepared {
  /** Records that it was offered. */
  received: number;
  filtered: number;
  sampledOut: number;
  fragments: Fragment[];
}

/**
 * What a job ships of these parts: filtered, sampled, encoded, and gathered into fragments. Pure:
 * the queue handler makes it for all jobs, and a reader of the log what the handler could not.
 * @throws if the job's filter cannot be read.
 */
export function prepare(job: BuildingRules, offered: readonly Offered[]): Prepared {
  const { wants, shipped, sample, encoder } = planOf(job);
  const template = readTemplate(job.path);
  const gatherer = encoder.gather(
    hasParts(template) ? (record) => partOf(template, record.EventTimestampMs, () => record.ScriptName) : undefined,
    job.sketches !== false,
  );
  const sum = { received: 0, filtered: 0, sampledOut: 0 };
  const taken: Fragment[] = [];
  const takes = takesOver(job);
  for (const offer of offered) {
    const { message, records } = offer;
    sum.received += records.length;
    const whole = takes ? wholeOf(offer, template, shipped, job) : null;
    if (whole !== null) {
      taken.push(whole);
      continue;
    }
    const inSample = sample(message.id);
    const kept: LoadedRecord[] = [];
    for (const record of records) {
      if (!wants(record.whole)) sum.filtered += 1;
      else if (!inSample(record.index)) sum.sampledOut += 1;
      else kept.push(record);
    }
    for (const record of kept)
      gatherer.add(shipped(record), message.takenInMs, { part: message.id, index: record.index });
  }
  return { ...sum, fragments: [...taken, ...gatherer.finish()] };
}

/**
 * All that is offered of a message, for a job that {@link takesOver}. null: it is no fragment, or
 * some records are left out, truncated, or of another part of a day.
 */
function wholeOf(
  { message, records, takeover }: Offered,
  template: PathParts,
  shipped: Plan["shipped"],
  { sketches, output }: BuildingRules,
): Fragment | null {
  if (takeover === undefined || records.length !== message.records) return null;
  if (!isFinishedFragment(records.length, takeover.raw.length)) return null;
  if (records.some((record) => shipped(record) !== record.whole)) return null;
  const times = records.map(({ whole }) => whole.EventTimestampMs);
  const [firstEventMs, lastEventMs] = [Math.min(...times), Math.max(...times)];
  const partAt = (ms: number): string => partOf(template, ms, () => "");
  const [day, part] = [dayOf(firstEventMs), partAt(firstEventMs)];
  if (day !== dayOf(lastEventMs) || part !== partAt(lastEventMs)) return null;
  const held = { day, part, records: records.length, firstEventMs, lastEventMs, oldestTakenMs: message.takenInMs };
  if (sketches === false) return takenOver(takeover, held, null);
  const identities = new IdentityWriter(writtenFields(output) ?? 0);
  for (const { index } of records) identities.add(message.id, index);
  return takenOver(takeover, held, identities);
}

/** The most that a job may write of these parts, in UTF-16 units. @throws as {@link prepare}. */
export function writtenAtMost(job: BuildingRules, offered: readonly Offered[]): number {
  const { encoder, shipped } = planOf(job);
  let units = 0;
  for (const { records } of offered)
    for (const record of records) {
      units += encoder.unitsAtMost(shipped(record));
    }
  return units;
}

/**
 * Whether a record is in a job's sample: a function of the job, the message and the record's place
 * in it, never of chance. A record that is delivered again gets the same answer, and two jobs draw
 * independent samples.
 */
export type Sampler = (messageId: string) => (index: number) => boolean;

const everything: Sampler = () => () => true;

/**
 * @param rate share to keep, above 0, at most 1. It is met as closely as by chance.
 */
export function sampler(jobId: number, rate: number): Sampler {
  if (rate >= 1) return everything;
  const job = mix(jobId);
  return (messageId) => {
    const words = [0, 8, 16, 24].map((at) => word(messageId, at));
    const first = words.reduce((hash, each) => mix(hash ^ each), job);
    const second = words.reduceRight((hash, each) => mix(hash ^ each), ~job);
    return (index) => {
      const high = mix(first + index);
      const low = mix(second ^ high);
      // 53 bits: a rate of one in a billion is met as well.
      return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53 < rate;
    };
  };
}

function word(hex: string, at: number): number {
  return Number.parseInt(hex.slice(at, at + 8), 16);
}

/**
 * The finalizer of MurmurHash3 over 32 bits: each bit of the input flips each bit of the result
 * with a chance of one half.
 */
function mix(value: number): number {
  let h = value | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
