import { fillOf, keyBelow, objectName, objectTag, readTemplate, type Template } from "../destinations/keys.ts";
import { type JobConfig, rerunName } from "../job/config.ts";
import { readJobConfig } from "../job/snapshot.ts";
import { decoderOf } from "../object/encoders.ts";
import type { OutputFormat } from "../output/format.ts";
import { first } from "../storage/sql.ts";
import type { GroupFormat, JobShare } from "../trace-log/append.ts";
import { NUMBERS_PER_NODE } from "../trace-log/nodes.ts";
import { UNPARKED } from "./parking.ts";
import { type ObjectRow, type ReaderRow, SET_ASIDE_LAST } from "./rows.ts";

const NO_JOB = "the reader has no job yet";

const DELIVERED = `delivered = delivered + ?, delivered_raw = delivered_raw + ?, delivered_bytes = delivered_bytes + ?,
  deliveries = deliveries + 1`;

/** The one row of a reader: its job, its counts, and how its uploads go. */
export class LogState {
  readonly #sql: SqlStorage;
  /** Makes this reader's object names unique. */
  readonly #identity: string;
  /** The job that was read last: batches are cut often, and it changes rarely. */
  #read: { text: string; config: JobConfig | null } | null = null;
  /** The tables are dropped, until the reader is given a job again. */
  retired = false;

  constructor(sql: SqlStorage, identity: string) {
    this.#sql = sql;
    this.#identity = identity;
  }

  /** null: it has no job yet. */
  row(): ReaderRow | null {
    if (this.retired) return null;
    return first(this.#sql, "SELECT * FROM reader WHERE id = 1");
  }

  /** @param what assignments to the row. */
  #set(what: string, values: readonly SqlStorageValue[] = []): void {
    this.#sql.exec(`UPDATE reader SET ${what} WHERE id = 1`, ...values);
  }

  /** false: it has no job yet. */
  hasJob(): boolean {
    return this.#jobText() !== null;
  }

  /** The column alone: the row is wide, and most of what is done asks for the job several times. */
  #jobText(): string | null {
    if (this.retired) return null;
    return first<{ job: string }>(this.#sql, "SELECT job FROM reader WHERE id = 1")?.job ?? null;
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

  /** @throws if {@link LogState.isReadable} is false. */
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
    this.#set("job = ?", [JSON.stringify(job)]);
  }

  /** Gives a new reader its job. @param cursor position in the log from which on it reads. */
  begin(job: JobConfig, node: number, cursor: number): void {
    this.#sql.exec("INSERT INTO reader (id, node, job, cursor) VALUES (1, ?, ?, ?)", node, JSON.stringify(job), cursor);
  }

  /** It reads no more. */
  seal(nowMs: number): void {
    this.#sql.exec("UPDATE reader SET sealed_ms = ? WHERE id = 1 AND sealed_ms IS NULL", nowMs);
  }

  /**
   * Counts what was read up to a position of the log.
   * @param batches how many batches it opened.
   */
  read(shares: readonly Omit<JobShare, "id" | "stamp">[], cursor: number, batches: number, nowMs: number): void {
    const sum = { received: 0, filtered: 0, sampledOut: 0 };
    for (const share of shares) {
      sum.received += share.received;
      sum.filtered += share.filtered;
      sum.sampledOut += share.sampledOut;
    }
    this.#set(
      `received = received + ?, filtered = filtered + ?, sampled_out = sampled_out + ?, cursor = max(cursor, ?),
         next_batch = next_batch + ?, last_received_ms = iif(?, ?, last_received_ms)`,
      [sum.received, sum.filtered, sum.sampledOut, cursor, batches, sum.received > 0 ? 1 : 0, nowMs],
    );
  }

  /** The format of the open batches; null: there was none yet. */
  format(): GroupFormat | null {
    const row = first<{ format: string }>(this.#sql, "SELECT format FROM reader WHERE id = 1");
    return row === null || row.format === "" ? null : (JSON.parse(row.format) as GroupFormat);
  }

  setFormat(format: GroupFormat): void {
    this.#set("format = ?", [JSON.stringify(format)]);
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
    const { next_batch } = this.requireRow();
    this.#set("next_batch = ?", [next_batch + 1]);
    return next_batch;
  }

  /** The next object's number and name. */
  nextName(firstEventMs: number, lastEventMs: number, suffix: string): { number: number; name: string } {
    const { node, next_object } = this.requireRow();
    this.#set("next_object = ?", [next_object + 1]);
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
    const { next_object } = this.requireRow();
    this.#set("next_object = ?", [next_object + objects.length]);
    return objects.map(({ firstEventMs, lastEventMs, key }, i) =>
      objectName(firstEventMs, lastEventMs, objectTag(this.#identity, next_object + i), decoderOf(key).suffix),
    );
  }

  /**
   * An object was shipped again; that does not change the state of delivery. @returns the number
   * that it is listed with.
   */
  countReplayed(records: number, bytes: number): number {
    const { node, next_object } = this.requireRow();
    this.#set(
      `next_object = next_object + 1, replayed_objects = replayed_objects + 1, replayed_records = replayed_records + ?,
         replayed_bytes = replayed_bytes + ?, deliveries = deliveries + 1`,
      [records, bytes],
    );
    return node * NUMBERS_PER_NODE + next_object;
  }

  /** An object was delivered: all is well again. */
  countDelivered(records: number, rawBytes: number, bytes: number): void {
    const isWell = `unconditional = unconditional & ~${SET_ASIDE_LAST}, last_error_ms = NULL, error_message = NULL`;
    this.#set(`${DELIVERED}, ${isWell}, ${UNPARKED}`, [records, rawBytes, bytes]);
  }

  /** The same of one that was sent elsewhere, which says nothing of the job's own destination. */
  countDeliveredElsewhere(records: number, rawBytes: number, bytes: number): void {
    this.#set(DELIVERED, [records, rawBytes, bytes]);
  }

  /** Records were sent again to a destination that may have taken them before. */
  countResent(records: number): void {
    this.#set("resent_in_doubt = resent_in_doubt + ?", [records]);
  }

  /** Nothing of the job that was taken in before this time, in ms, waits. It never goes back. */
  completeUpTo(timeMs: number): void {
    const isLater = "? > coalesce(last_complete_ms, 0)";
    this.#sql.exec(`UPDATE reader SET last_complete_ms = ? WHERE id = 1 AND ${isLater}`, timeMs, timeMs);
  }

  /**
   * @param resumeMs nothing is tried before. @param failures in a row; 0: all is well.
   * @param parked see parking.ts.
   */
  failed(error: string, resumeMs: number, nowMs: number, failures: number, parked: boolean): void {
    this.#set(
      `failures = ?, resume_ms = ?, last_error_ms = ?, error_message = ?, failing_since_ms = coalesce(failing_since_ms, ?),
         parked = ?`,
      [failures, resumeMs, nowMs, error, nowMs, parked ? 1 : 0],
    );
  }

  /** All that had failed is due. */
  relieved(nowMs: number): void {
    this.#set("relieved_ms = ?", [nowMs]);
  }

  countSetAside(records: number, error: string, nowMs: number): void {
    this.#set(
      `set_aside = set_aside + ?, aside_objects = aside_objects + 1, last_error_ms = ?, error_message = ?,
         unconditional = unconditional | ?`,
      [records, nowMs, error, SET_ASIDE_LAST],
    );
  }

  /**
   * Records of an entry that could not be made, and that a person has to decide about; less: no
   * longer. @param discarded of these.
   */
  countUnmade(records: number, discarded = 0): void {
    this.#set("set_aside = set_aside + ?, discarded = discarded + ?", [records, discarded]);
  }

  /** The same after it was sent elsewhere. What the job's own uploads fail on goes before. */
  countReturned(records: number, error: string, nowMs: number): void {
    this.#set(
      `set_aside = set_aside + ?, aside_objects = aside_objects + 1,
         last_error_ms = iif(failures = 0, ?, last_error_ms), error_message = iif(failures = 0, ?, error_message)`,
      [records, nowMs, error],
    );
  }

  /**
   * An object is no longer set aside. The reader's error goes with the last one, unless uploads
   * fail: a failed upload counts as a failure, one whose object is set aside does not.
   * @param discarded of its records; the others wait again.
   */
  countTakenUp(records: number, discarded: number): void {
    this.#set("set_aside = set_aside - ?, aside_objects = aside_objects - 1, discarded = discarded + ?", [
      records,
      discarded,
    ]);
    this.#sql.exec(
      `UPDATE reader SET unconditional = unconditional & ~?, last_error_ms = iif(failures = 0, NULL, last_error_ms),
         error_message = iif(failures = 0, NULL, error_message) WHERE id = 1 AND aside_objects = 0`,
      SET_ASIDE_LAST,
    );
  }

  countDiscarded(records: number): void {
    this.#set(
      "discarded = discarded + ?, last_error_ms = NULL, error_message = NULL, failing_since_ms = NULL, parked = 0",
      [records],
    );
  }

  /** What requests to the store leave out, as its kind has found out; 0: nothing. */
  leftOut(): number {
    return (this.row()?.unconditional ?? 0) & (SET_ASIDE_LAST - 1);
  }

  setLeftOut(leaveOut: number): void {
    const known = leaveOut & (SET_ASIDE_LAST - 1);
    this.#set("unconditional = ? | (unconditional & ?)", [known, SET_ASIDE_LAST]);
  }

  /** Whether an object was set aside, and none has been delivered since. */
  wasSetAsideLast(): boolean {
    return ((this.row()?.unconditional ?? 0) & SET_ASIDE_LAST) !== 0;
  }

  /** The job has another destination, of which nothing is known. */
  forgetStore(): void {
    this.#set("unconditional = 0");
  }

  swept(nowMs: number): void {
    this.#set("swept_ms = ?", [nowMs]);
  }
}
