/** Requests of tools/bench/run.ts to the measured Worker, and its answers. */

/** What one class of durable objects did. */
export interface ObjectUse {
  /** RPC calls and alarms: each is a billed request. */
  requests: number;
  /** Of these, those that wrote: their answers wait until the write is on disk. */
  writing: number;
  alarms: number;
  /** As the runtime counts them for the bill, plus one for each `setAlarm`. */
  rowsWritten: number;
  rowsRead: number;
  setAlarms: number;
}

/** What was used of the platform's durable parts. */
export interface Use {
  /** By class. */
  objects: { [className: string]: ObjectUse };
  /** How many durable objects did anything. */
  activeObjects: number;
  puts: number;
  /** Any other request to the object store. */
  otherStoreRequests: number;
  /** Lines that the shipper wrote. */
  logLines: number;
}

export interface Scenario {
  /** Ids of all jobs there are: each takes every event. */
  jobs: number[];
  eventsPerSecond: number;
  /**
   * Isolates of the tail handler; events go to a random one. 0: each event is a request of its own.
   */
  isolates: number;
  /** Time before counting begins, in s. */
  warmUpS: number;
  /** Counted time, in s: whole upload intervals, and whole periods of the cron. */
  seconds: number;
  /** Of the queue's consumer, as wrangler.jsonc has them. */
  batchSize: number;
  batchTimeoutMs: number;
  seed: number;
}

/**
 * Time that passes in a scenario, in s, while events come; null: until the cron has run, and none
 * comes.
 */
export interface Passing {
  seconds: number | null;
}

export interface Simulated {
  events: number;
  messages: number;
  messageBytes: number;
  /**
   * Queue operations for one way of these messages (write, read or delete): one for each started 64
   * KB.
   */
  messageUnits: number;
  batches: number;
  crons: number;
  /** Parts that isolates handed to the packer, and messages that it made of them. */
  parts: number;
  packed: number;
  /** How long the packer was at work, in s. */
  packingS: number;
  use: Use;
}

/** A kind of job whose pipeline is measured. */
export interface JobShape {
  /** As in a job's `filter`; null: none. */
  filter: string | null;
  /** null: all fields. */
  fieldNames: string[] | null;
}

export interface PrepareCpu {
  records: number;
  seed: number;
  shape: JobShape;
}

export interface Prepared {
  records: number;
  /** Of these, those that the job ships. */
  shipped: number;
  messages: number;
  /** The records as they travel, before compression. */
  rawBytes: number;
  messageBytes: number;
  /** What the job ships, before compression. */
  shippedBytes: number;
}

/**
 * What is measured: `intake` from trace items to messages, `pipeline` from messages to fragments,
 * `gzip` of what the pipeline ships and nothing else; the pipeline without sketches, and with
 * {@link ALIKE} jobs of equal rules; and steps of the pipeline alone. `nothing` is the cost of a
 * request; it is subtracted from the others.
 */
export const WORKS = [
  ...(["nothing", "gzip", "pipeline", "unsketched", "alike"] as const),
  ...(["intake", "decode", "load", "build", "deflate"] as const),
] as const;

/** Jobs of equal rules that take the same messages. */
export const ALIKE = 5;

/** Further ones: words of what is shipped, in the queue handler, and its sketch, in the log. */
export const SKETCH_WORKS = ["words", "sketch"] as const;
export type Work = (typeof WORKS)[number];
export type SketchWork = (typeof SKETCH_WORKS)[number];

/** The result of a run, to check that two runs did the same. */
export interface Ran {
  bytes: number;
}

/** Kinds of destinations whose uploads are measured; the others are compared with S3. */
export const KIND_NAMES = [
  ...(["s3", "gs", "azure", "binding", "https", "sumo", "splunk", "datadog", "newrelic"] as const),
  ...(["elastic", "loki", "otlp", "clickhouse", "axiom"] as const),
] as const;
export type KindName = (typeof KIND_NAMES)[number];

export interface StackingKind {
  kind: KindName;
  objects: number;
  /** Of each object. */
  records: number;
}

export interface StackedKind {
  /** Of one object. */
  size: CutSize;
  /** Records of an object that is as large as a job of this kind may have it by default. */
  recordsOfFull: number;
}

/** What was used for the uploads of a kind, and sent in them. */
export interface ShippedKind {
  use: Use;
  /** Of bodies. */
  sentBytes: number;
}

export interface Grown {
  records: number;
  delivered: number;
  pending: number;
  objects: number;
  /** Of the job's log and of the account's ledger. */
  logBytes: number;
  ledgerBytes: number;
}

/** Content of the records when memory is measured: logs compress well, random text hardly. */
export type Texture = "logs" | "noise";

export interface PackedSize {
  messages: number;
  records: number;
  /** Before compression. */
  rawBytes: number;
  /** As the queue has them. */
  messageBytes: number;
}

/** An object of a log, as it was cut. */
export interface CutSize {
  records: number;
  rawBytes: number;
  bytes: number;
}

/** Numbers the requests, so that one that is repeated after a broken connection runs once. */
export const ASK_HEADER = "x-bench-ask";

/** A batch of the queue. */
export interface Consuming {
  messages: number;
  /**
   * Collects garbage before a message is read and before a log is called, so that resident memory
   * is what is held; otherwise the runtime decides.
   */
  collecting: boolean;
}

/** Objects as large as a job allows. */
export interface Stacking {
  job: number;
  objects: number;
}

/** One object, as it is stored, and its sketch. */
export interface ObjectSize extends CutSize {
  words: number;
  sketchBytes: number;
  /** Rows of its sketch. */
  segments: number;
}

export interface DaysSketches {
  day: number;
  first: number;
  objects: number;
  /** Of each. */
  words: number;
}

export interface MakeObject {
  records: number;
  /** Of the object that has the rare word of each. */
  holders: number[];
}

/** For the rare word of one object. */
export interface WordSearch {
  objects: number;
  perDay: number;
  /** UTC days since the epoch. */
  firstDay: number;
  holder: number;
}

/** What was read, of objects and of sketches. */
export interface ReadSoFar {
  /** Objects. */
  read: number;
  bytesRead: number;
  sketchBytes: number;
}

export interface FoundWord extends ReadSoFar {
  /** When the hit was told. */
  first: ReadSoFar;
}

export interface TextSearch {
  objects: number;
  text: string;
  limit: number;
}

export interface FoundText {
  hits: number;
  read: number;
}
