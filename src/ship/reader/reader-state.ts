import { Tables } from "../../base/storage/sql.ts";
import { decoderOf } from "../../formats/object/encoders.ts";
import { fillOf, keyBelow, objectName, objectTag, readTemplate, type Template } from "../../formats/object/keys.ts";
import type { OutputFormat } from "../../formats/output/format.ts";
import { type JobConfig, rerunName } from "../job/config.ts";
import { readJobConfig } from "../job/snapshot.ts";
import type { GroupFormat, JobShare } from "../log/append-types.ts";
import { NUMBERS_PER_NODE } from "../log/nodes.ts";
import { type ObjectRow, type ReaderRow, SET_ASIDE_LAST } from "./reader-rows.ts";

/** Of the row of a reader of which all is well. */
const UNPARKED = { failures: 0, resume_ms: 0, failing_since_ms: null, parked: 0 } as const;

const NO_JOB = "the reader has no job yet";

/**
 * The one row of a reader: its job, its counts, and how its uploads go. Nothing else writes it, or
 * reads it from its table.
 */
export class ReaderState extends Tables {
  /** What {@link ReaderState.atOnce} is to write; null: outside of it. */
  #changed: Partial<ReaderRow> | null = null;
  /** Makes this reader's object names unique. */
  readonly #identity: string;
  /** The job that was read last: batches are cut often, and it changes rarely. */
  #read: { text: string; config: JobConfig | null } | null = null;
  /** The tables are dropped, until the reader is given a job again. */
  retired = false;

  constructor(sql: SqlStorage, identity: string) {
    super(sql);
    this.#identity = identity;
  }

  /** null: it has no job yet. */
  row(): ReaderRow | null {
    if (this.retired) return null;
    const row = this.sql.first<ReaderRow>`SELECT * FROM reader WHERE id = 1`;
    return row && { ...row, ...this.#changed };
  }

  /**
   * All that is set meanwhile is one written row, at the end. Belongs into a transaction of its
   * caller: of what throws, nothing is written.
   */
  atOnce<T>(change: () => T): T {
    if (this.#changed !== null) throw new Error("a transaction of a reader began within another one");
    const changed: Partial<ReaderRow> = {};
    this.#changed = changed;
    try {
      const result = change();
      if (Object.keys(changed).length > 0) this.sql.update("reader", 1, changed);
      return result;
    } finally {
      this.#changed = null;
    }
  }

  /** Adds to counts of the row. @returns the row before. */
  #add(more: { [name in keyof ReaderRow]?: number }): ReaderRow {
    const row = this.requireRow();
    const names = Object.keys(more) as (keyof ReaderRow)[];
    this.set(Object.fromEntries(names.map((name) => [name, Number(row[name]) + (more[name] ?? 0)])));
    return row;
  }

  /** Sets columns of the row. */
  set(columns: Partial<ReaderRow>): void {
    if (this.#changed === null) this.sql.update("reader", 1, columns);
    else Object.assign(this.#changed, columns);
  }

  /** false: it has no job yet. */
  hasJob(): boolean {
    return this.#jobText() !== null;
  }

  /** The column alone: the row is wide, and most of what is done asks for the job several times. */
  #jobText(): string | null {
    if (this.retired) return null;
    return this.#changed?.job ?? this.sql.first<{ job: string }>`SELECT job FROM reader WHERE id = 1`?.job ?? null;
  }

  /** @throws if it has no job yet. */
  #requireJobText(): string {
    const text = this.#jobText();
    if (text === null) throw new Error(NO_JOB);
    return text;
  }

  /** @throws if it has no job yet. */
  requireRow(): ReaderRow {
    const row = this.row();
    if (row === null) throw new Error(NO_JOB);
    return row;
  }

  job(): JobConfig | null {
    const text = this.#jobText();
    return text === null ? null : (JSON.parse(text) as JobConfig);
  }

  /** @throws if it has no job yet. */
  requireJob(): JobConfig {
    return JSON.parse(this.#requireJobText()) as JobConfig;
  }

  /** false: a newer version wrote the job. What it is to ship, and how, is unknown here. */
  isReadable(): boolean {
    return this.#readJob() !== null;
  }

  /** @throws if {@link ReaderState.isReadable} is false. */
  readableJob(): JobConfig {
    const job = this.#readJob();
    if (job === null)
      throw new Error(`job ${this.requireJob().id} cannot be read by this version: a newer one wrote it`);
    return job;
  }

  #readJob(): JobConfig | null {
    const text = this.#requireJobText();
    if (text !== this.#read?.text) this.#read = { text, config: readJobConfig(JSON.parse(text)) };
    return this.#read.config;
  }

  setJob(job: JobConfig): void {
    this.set({ job: JSON.stringify(job) });
  }

  /** Gives a new reader its job. @param cursor position in the log from which on it reads. */
  begin(job: JobConfig, node: number, cursor: number): void {
    this.sql.run`INSERT INTO reader (id, node, job, cursor) VALUES (1, ${node}, ${JSON.stringify(job)}, ${cursor})`;
  }

  /** It reads no more. */
  seal(nowMs: number): void {
    if (this.requireRow().sealed_ms === null) this.set({ sealed_ms: nowMs });
  }

  /**
   * Counts what was read up to a position of the log.
   * @param batches how many batches it opened. @param cameMs when the last of it came to the log.
   */
  read(shares: readonly Omit<JobShare, "id" | "stamp">[], cursor: number, batches: number, cameMs: number): void {
    const more = { received: 0, filtered: 0, sampled_out: 0, next_batch: batches };
    for (const share of shares) {
      more.received += share.received;
      more.filtered += share.filtered;
      more.sampled_out += share.sampledOut;
    }
    const row = this.#add(more);
    this.set({ cursor: Math.max(row.cursor, cursor), ...(more.received > 0 && { last_received_ms: cameMs }) });
  }

  /** The format of the open batches; null: there was none yet. */
  format(): GroupFormat | null {
    const { format = "" } = this.row() ?? {};
    return format === "" ? null : (JSON.parse(format) as GroupFormat);
  }

  setFormat(format: GroupFormat): void {
    this.set({ format: JSON.stringify(format) });
  }

  /** How open batches are written. */
  output(): OutputFormat {
    return this.format()?.output ?? this.readableJob().output;
  }

  /** The key of an object below its job's path. @param template the same, if it is read already. */
  keyOf(
    { day, part, first_event_ms }: Pick<ObjectRow, "day" | "part" | "first_event_ms">,
    name: string,
    template: Template = readTemplate(this.requireJob().path),
  ): string {
    return keyBelow(template, fillOf(day, first_event_ms, part), name);
  }

  /** The id of a batch that no append opened: its object comes of another one. */
  nextBatch(): number {
    return this.#add({ next_batch: 1 }).next_batch;
  }

  /** The next object's number and name. */
  nextName(firstEventMs: number, lastEventMs: number, suffix: string): { number: number; name: string } {
    const { node, next_object } = this.#add({ next_object: 1 });
    const { id, rerunOf } = this.requireJob();
    const mark = rerunOf === undefined ? "" : `_${rerunName(id)}`;
    const name = objectName(firstEventMs, lastEventMs, objectTag(this.#identity, next_object) + mark, suffix);
    return { number: node * NUMBERS_PER_NODE + next_object, name };
  }

  /**
   * Names for copies of objects with these first and last events, each its own. The numbers that
   * they come from are used up.
   */
  names(objects: readonly { firstEventMs: number; lastEventMs: number; key: string }[]): string[] {
    if (objects.length === 0) return [];
    const { next_object } = this.#add({ next_object: objects.length });
    return objects.map(({ firstEventMs, lastEventMs, key }, i) =>
      objectName(firstEventMs, lastEventMs, objectTag(this.#identity, next_object + i), decoderOf(key).suffix),
    );
  }

  /**
   * An object was shipped again; that does not change the state of delivery. @returns the number
   * that it is listed with.
   */
  countReplayed(records: number, bytes: number): number {
    const copy = { replayed_objects: 1, replayed_records: records, replayed_bytes: bytes };
    const row = this.#add({ next_object: 1, ...copy, deliveries: 1 });
    return row.node * NUMBERS_PER_NODE + row.next_object;
  }

  /**
   * An object was delivered: the destination takes what it is sent.
   * @param failing what another object still fails on; null: all is well again.
   */
  countDelivered(records: number, rawBytes: number, bytes: number, failing: string | null): void {
    this.countDeliveredElsewhere(records, rawBytes, bytes);
    const { last_error_ms } = this.#add({ passes: 1 });
    this.set({
      ...{ ...UNPARKED, unconditional: this.leftOut(), error_message: failing },
      last_error_ms: failing === null ? null : last_error_ms,
    });
  }

  /** The same of one that was sent elsewhere, which says nothing of the job's own destination. */
  countDeliveredElsewhere(records: number, rawBytes: number, bytes: number): void {
    this.#add({ delivered: records, delivered_raw: rawBytes, delivered_bytes: bytes, deliveries: 1 });
  }

  /** Records were sent again to a destination that may have taken them before. */
  countResent(records: number): void {
    this.#add({ resent_in_doubt: records });
  }

  /** Nothing of the job that was taken in before this time, in ms, waits. It never goes back. */
  completeUpTo(timeMs: number): void {
    if (timeMs > (this.requireRow().last_complete_ms ?? 0)) this.set({ last_complete_ms: timeMs });
  }

  /**
   * @param resumeMs nothing is tried before. @param failures in a row; 0: all is well.
   * @param parked see parking.ts.
   */
  failed(error: string, resumeMs: number, nowMs: number, failures: number, parked: boolean): void {
    const { failing_since_ms } = this.requireRow();
    this.set({
      ...{ failures, resume_ms: resumeMs, last_error_ms: nowMs, error_message: error, parked: parked ? 1 : 0 },
      failing_since_ms: failing_since_ms ?? nowMs,
    });
  }

  /** Nothing that waits has failed: what had was set aside. */
  noneFails(): void {
    this.set(UNPARKED);
  }

  /** All that had failed is due. */
  relieved(nowMs: number): void {
    this.set({ relieved_ms: nowMs });
  }

  countSetAside(records: number, error: string, nowMs: number): void {
    const { unconditional } = this.#add({ set_aside: records, aside_objects: 1 });
    this.set({ last_error_ms: nowMs, error_message: error, unconditional: unconditional | SET_ASIDE_LAST });
  }

  /**
   * Records of an entry that could not be made, and that a person has to decide about; less: no
   * longer. @param discarded of these.
   */
  countUnmade(records: number, discarded = 0): void {
    this.#add({ set_aside: records, discarded });
  }

  /** The same after it was sent elsewhere. What the job's own uploads fail on goes before. */
  countReturned(records: number, error: string, nowMs: number): void {
    const { failures } = this.#add({ set_aside: records, aside_objects: 1 });
    if (failures === 0) this.set({ last_error_ms: nowMs, error_message: error });
  }

  /**
   * An object is no longer set aside. The reader's error goes with the last one, unless uploads
   * fail: a failed upload counts as a failure, one whose object is set aside does not.
   * @param discarded of its records; the others wait again.
   */
  countTakenUp(records: number, discarded: number): void {
    const { aside_objects, failures } = this.#add({ set_aside: -records, aside_objects: -1, discarded });
    if (aside_objects > 1) return;
    this.set({ unconditional: this.leftOut() });
    if (failures === 0) this.set({ last_error_ms: null, error_message: null });
  }

  countDiscarded(records: number): void {
    this.#add({ discarded: records });
    this.set({ last_error_ms: null, error_message: null, failing_since_ms: null, parked: 0 });
  }

  /** What requests to the store leave out, as its kind has found out; 0: nothing. */
  leftOut(): number {
    return (this.row()?.unconditional ?? 0) & (SET_ASIDE_LAST - 1);
  }

  setLeftOut(leaveOut: number): void {
    const known = leaveOut & (SET_ASIDE_LAST - 1);
    this.set({ unconditional: known | (this.requireRow().unconditional & SET_ASIDE_LAST) });
  }

  /** Whether an object was set aside, and none has been delivered since. */
  wasSetAsideLast(): boolean {
    return ((this.row()?.unconditional ?? 0) & SET_ASIDE_LAST) !== 0;
  }

  /** The job has another destination, of which nothing is known. */
  forgetStore(): void {
    this.set({ ...UNPARKED, unconditional: 0 });
  }

  swept(nowMs: number): void {
    this.set({ swept_ms: nowMs });
  }
}
