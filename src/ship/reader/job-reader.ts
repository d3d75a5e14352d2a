import { DurableObject } from "cloudflare:workers";
import { DEDUP_MS, OBJECT_STORED_BYTES, SEGMENT_MAX_BYTES } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { platform, within } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import { migrate } from "../../base/storage/migrate.ts";
import { Sql } from "../../base/storage/sql.ts";
import { readMacKeys, readSigning, readStoredMaxBytes } from "../../config.ts";
import type { Signer } from "../../formats/manifest/signing.ts";
import { sketchesOf } from "../../formats/sketch/sketch-store.ts";
import type { Destination, Parsed } from "../destinations/destination.ts";
import type { JobConfig } from "../job/config.ts";
import type { Pull, Pulled } from "../log/driver.ts";
import { type Following, nodeName } from "../log/nodes.ts";
import { Waker } from "../log/wakes.ts";
import { AsideObjects } from "./aside-objects.ts";
import { Attempts } from "./attempts.ts";
import { Batches } from "./batches.ts";
import { Canary, type CanaryReport } from "./canary.ts";
import { Chunks } from "./chunks.ts";
import { type Delivered, Deliveries, type NodeDeliveries, type Wanted } from "./deliveries.ts";
import { destinationOf, elsewhereOf, stays, staysBelow } from "./job-destination.ts";
import { eachNode } from "./job-nodes.ts";
import { Manifests } from "./manifests.ts";
import { entryOf } from "./object-entry.ts";
import { keepSketch } from "./object-sketch.ts";
import { type EventSpan, Objects } from "./objects.ts";
import { tryNow, WAIT_MAX_MS } from "./parking.ts";
import { READER_STEPS } from "./reader-migrations.ts";
import type { ObjectRow, Target } from "./reader-rows.ts";
import { ReaderState } from "./reader-state.ts";
import { countsOf, statusOf } from "./reader-status.ts";
import { Reading } from "./reading.ts";
import { type Replayable, Replayed, type ReplayedObject, type ReplayPage, type ReplaySpan } from "./replayed.ts";
import { type Searchable, SearchableObjects, type SearchSpan } from "./searchable.ts";
import type { AsideObject, ManifestDays, ObjectEntry, ReaderStatus } from "./statuses.ts";
import { piecewise, streamed } from "./stream.ts";
import { Unmade, type UnmadeNote } from "./unmade.ts";
import { Health, type HealthHour } from "./upload-health.ts";
import { LOOK_AGAIN_MS, Uploads } from "./uploads.ts";

/**
 * How long an alarm waits for uploads before it sets the next one, in ms: a slow store must not
 * hold up the next cut.
 */
const ALARM_WAIT_MS = 8_000;

const SWEEP_EVERY_MS = 86_400_000;

/**
 * A reader of the log: it reads what one job is to get from one shard, and delivers it. What it has
 * committed is on its way to the destination, or counted; every step after that can be repeated. A
 * job has such a chain of segments for each shard ({@link nodeName}), of which only the last one
 * reads.
 */
export class JobReader extends DurableObject<Env> {
  readonly #sql: Sql;
  readonly #state: ReaderState;
  readonly #batches: Batches;
  readonly #objects: Objects;
  readonly #health: Health;
  readonly #replayed: Replayed;
  readonly #aside: AsideObjects;
  readonly #searchable: SearchableObjects;
  readonly #deliveries: Deliveries;
  readonly #unmade: Unmade;
  readonly #reading: Reading;
  readonly #uploads: Uploads;
  readonly #alarm: Alarm;
  readonly #waker = new Waker(this.env);
  /** Public for the tests, which wait for the canary, and break attempts at every step. */
  readonly canary: Canary;
  readonly manifests: Manifests;
  readonly attempts: Attempts;
  /** Overridden by tests, which cannot fill a segment, and do not wait. */
  segmentMaxBytes = SEGMENT_MAX_BYTES;
  alarmWaitMs = ALARM_WAIT_MS;
  storedMaxBytes = (): number => readStoredMaxBytes(this.env) ?? OBJECT_STORED_BYTES.fallback;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#sql = new Sql(sql);
    // Reads the settings at the time of use, not of construction.
    const open = (job: JobConfig): Parsed<Destination> => destinationOf(job, this.env);
    this.#state = new ReaderState(sql, ctx.id.toString());
    this.#batches = new Batches(sql, this.#state, () => this.storedMaxBytes());
    this.#objects = new Objects(sql, this.#state);
    this.#health = new Health(sql, this.#state);
    this.#replayed = new Replayed(sql, this.#state);
    const identity = (jobId: number): string => env.READERS.idFromName(nodeName(jobId, 0)).toString();
    const commit = (change: () => void): void =>
      this.#transaction(() => {
        change();
        this.#arm(platform.now());
      });
    this.canary = new Canary(sql, this.#state, { identity, open, commit });
    this.#deliveries = new Deliveries(sql, this.#state);
    const named = (jobId: number, node: number) => env.READERS.getByName(nodeName(jobId, node));
    this.manifests = new Manifests(ctx, this.#state, {
      isOn: () => this.isSigned(),
      signer: () => this.signer(),
      identity,
      open,
      look: async (jobId, wanted) => {
        // This node does not call itself.
        const answers = await eachNode(env, jobId, async (log, node) =>
          node === 0 ? this.deliveries(wanted(0)) : log.deliveries(wanted(node)),
        );
        return answers.map(({ node, answer }) => ({ node, ...answer }));
      },
      page: async (jobId, node, wanted, day) =>
        node === 0 ? this.deliveredOn(wanted, day) : named(jobId, node).deliveredOn(wanted, day),
      sketches: (jobId, node, day) => sketchesOf(env.SKETCHES, jobId, node, day),
      commit,
    });
    this.#aside = new AsideObjects(sql, this.#state);
    const chunks = new Chunks(sql);
    this.#searchable = new SearchableObjects(sql, this.#state, this.#objects);
    this.#unmade = new Unmade(sql);
    this.#reading = new Reading(ctx, env, {
      state: this.#state,
      batches: this.#batches,
      unmade: this.#unmade,
      macKeys: () => readMacKeys(this.env),
      follow: (job, nowMs) => this.#follow(job, nowMs),
      hasRoom: () => sql.databaseSize < this.segmentMaxBytes,
      transaction: (change) => this.#transaction(change),
      arm: () => this.#arm(platform.now()),
      upload: () => {
        this.#uploadFor(0).catch((error: unknown) => log.error("uploads failed", { error: errorText(error) }));
        this.#transaction(() => this.#arm(platform.now()));
      },
      // The first one writes the manifests of all: it follows the job for good.
      holds: () => this.#holds() || this.#state.row()?.node === 0,
    });
    this.attempts = new Attempts({
      open,
      openElsewhere: (job, target) => elsewhereOf(job, target, this.env),
      state: this.#state,
      objects: this.#objects,
      health: this.#health,
      transaction: (change) => this.#transaction(change),
      keepSketch: (object) => {
        const { id: job } = this.#state.requireJob();
        return keepSketch(object, chunks, env.SKETCHES, { job, node: this.#state.requireRow().node });
      },
      discard: (number) => {
        this.#uploads.ended(number);
        this.#discard();
      },
    });
    this.#uploads = new Uploads(this.#state, this.#objects, (object) => this.#upload(object));
    this.#alarm = new Alarm(ctx.storage);
    this.#alarm.begin(ctx, READER_STEPS);
  }

  /**
   * Reads what the log has for the job, and begins to upload what is due. Only the shard calls it.
   * @returns how far it has come.
   * @throws if the log does not answer.
   */
  pull(how: Pull): Promise<Pulled> {
    if (this.#state.retired) {
      migrate(this.ctx.storage, READER_STEPS);
      this.#state.retired = false;
    }
    return this.#reading.pull(how);
  }

  /** An upload that is the first to fail, or with which an object is on hold, wakes the watch. */
  async #upload(object: ObjectRow): Promise<void> {
    const trouble = (): number => {
      const { parked = 0, aside_objects: aside = 0, failing_since_ms: failing = null } = this.#state.row() ?? {};
      return parked + aside + Number(failing !== null);
    };
    const before = trouble();
    await this.attempts.uploadOne(object);
    const waking = trouble() > before ? this.#waker.appended([], true) : null;
    if (waking !== null) this.ctx.waitUntil(waking);
  }

  /**
   * Takes a job's configuration, in the transaction that commits the page that brought it. Batches
   * that are cut for it are cut under the old configuration.
   */
  #follow(job: JobConfig, nowMs: number): void {
    const earlier = this.#state.requireJob();
    // Of a job that cannot be read nothing can be cut: what is open keeps its format.
    if (this.#state.isReadable()) {
      const smaller = job.limits.records < earlier.limits.records || job.limits.bytes < earlier.limits.bytes;
      if (job.outputVersion !== earlier.outputVersion || smaller) this.#batches.cutAll("config", nowMs);
      if (job.deletedMs !== null && earlier.deletedMs === null) this.#batches.cutAll("deleted", nowMs);
    }
    this.#state.setJob(job);
    this.canary.follow(job, nowMs);
    if (job.discard) this.#discard();
    if (job.destinationVersion !== earlier.destinationVersion) {
      this.#objects.readdress(stays(earlier, job, this.env));
      if (!staysBelow(earlier, job, this.env)) this.manifests.moved(job);
    }
    // Not with every new version: a switch of a function's logging does not concern a store that
    // asked for patience.
    if (job.modifiedVersion !== earlier.modifiedVersion) tryNow(this.#sql, this.#state);
  }

  /** Whether anything of it is not delivered yet, or can be sent again. */
  #holds(): boolean {
    const row = this.#state.row();
    if (row === null) return false;
    return countsOf(this.#sql, row).pending > 0 || row.aside_objects > 0 || this.#unmade.sums().entries > 0;
  }

  /**
   * Cuts all that waits and uploads it.
   * @param reason `manual` tries at once even what waits after a failure; `scheduled` keeps to the
   *   delays.
   * @param waitMs how long to wait for the uploads; they go on afterwards.
   */
  async drive(reason: "scheduled" | "manual", waitMs: number): Promise<{ pendingObjects: number }> {
    const now = platform.now();
    const row = this.#state.row();
    if (row === null) return { pendingObjects: 0 };
    let isCut = true;
    const partsBefore = reason === "scheduled" ? this.#batches.partsBefore() : undefined;
    this.#transaction(() => {
      if (this.#state.requireJob().discard) this.#discard();
      if (this.#canCut()) isCut = this.#batches.cutSome(reason, now, partsBefore);
      tryNow(this.#sql, this.#state, reason === "manual" ? 0 : now + WAIT_MAX_MS);
      if (reason === "manual") this.canary.retryNow(now);
      if (Math.abs(now - row.swept_ms) >= SWEEP_EVERY_MS) {
        this.#deliveries.sweep(now, this.isSigned());
        this.#health.sweep(now);
        this.#state.swept(now);
      }
      this.#arm(now);
    });
    while (!isCut) {
      // What is cut stays cut, even if this invocation ends before all is.
      await this.ctx.storage.sync();
      isCut = this.#transaction(() => !this.#canCut() || this.#batches.cutSome(reason, platform.now(), partsBefore));
    }
    await this.#reading.retryUnmade(reason === "manual");
    await this.#uploadFor(waitMs);
    this.#transaction(() => this.#arm(platform.now()));
    return { pendingObjects: this.#objects.countWaiting() };
  }

  /** How it is; null: it has no job. */
  status(): ReaderStatus | null {
    if (!this.#state.hasJob()) return null;
    const now = platform.now();
    const parts = {
      pendingObjects: this.#objects.countWaiting(),
      oldestAsideMs: this.#aside.oldestMs(),
      unmade: this.#unmade.sums(),
      canary: this.canary.status(now),
      manifests: this.manifests.status(),
      lastDay: this.#health.lastDay(now),
      ...this.#following(),
    };
    return statusOf(this.#sql, this.#state, parts, now);
  }

  /**
   * Keeps what was found of the whole job, in the first node: nothing of it that was taken in
   * before this time, in ms, waits anywhere. @returns the time that is kept: it never goes back.
   */
  claimComplete(completeMs: number): number | null {
    if (!this.#state.hasJob()) return null;
    this.#state.completeUpTo(completeMs);
    return this.#state.requireRow().last_complete_ms;
  }

  /**
   * @param after list only objects with a greater number. @param limit 0 for their number alone.
   * @param cutMs instead: those that were cut later, or then and with a greater number, by time.
   * @param span of these, only those that have events of this time.
   */
  objects(
    after: number,
    limit: number,
    cutMs?: number,
    span?: EventSpan,
  ): Following & { entries: ObjectEntry[]; total: number } {
    if (!this.#state.hasJob()) return { entries: [], total: 0, sealed: false };
    const entries = this.#objects.list(after, limit, cutMs, span).map(entryOf);
    return { entries, total: this.#objects.count(after, cutMs, span), ...this.#following() };
  }

  /**
   * Objects with a smaller number, the newest first.
   * @param cutMs instead: those that were cut earlier, or then and with a smaller number.
   */
  objectsBefore(before: number, limit: number, cutMs?: number, span?: EventSpan): ObjectEntry[] {
    return this.#state.hasJob() ? this.#objects.listBefore(before, limit, cutMs, span).map(entryOf) : [];
  }

  /** Whether manifests are signed. Overridden by tests. */
  isSigned(): boolean {
    return readSigning(this.env).isOn;
  }

  /** null: they are not. Overridden by tests. */
  signer(): Promise<Signer | null> {
    return readSigning(this.env).signer();
  }

  /** How far this node's deliveries are to be listed in manifests. null: it has no job. */
  deliveries(wanted: Wanted): (Following & NodeDeliveries) | null {
    if (!this.#state.hasJob()) return null;
    return { ...this.#transaction(() => this.#deliveries.look(wanted)), ...this.#following() };
  }

  /** A part of the deliveries of one day that are to be listed. */
  deliveredOn(wanted: Wanted, day: number): Delivered[] {
    return this.#state.hasJob() ? this.#deliveries.page(wanted, day) : [];
  }

  /** How many manifests each day has, from and up to these, since the epoch; in the first node. */
  manifestDays(from: number, to: number): ManifestDays | null {
    return this.#state.hasJob() ? this.manifests.days(from, to) : null;
  }

  /** What of this node has records of some time. */
  searchable(span: SearchSpan): Following & { objects: Searchable[]; isAll: boolean } {
    if (!this.#state.hasJob()) return { objects: [], isAll: true, sealed: false };
    return { ...this.#searchable.list(span), ...this.#following() };
  }

  /**
   * How many objects of this node have records of some time (the limit does not count), and how
   * many records of any time could not be made.
   */
  searchableCount(span: SearchSpan): Following & { objects: number; unmade: number } {
    if (this.#state.row() === null) return { objects: 0, unmade: 0, sealed: false };
    const { poison, newer } = this.#unmade.sums();
    return { objects: this.#searchable.count(span), unmade: poison + newer, ...this.#following() };
  }

  /** What has become of a batch since it was listed; null: it is gone. */
  searchableBatch(batch: number): Searchable | null {
    return this.#state.hasJob() ? this.#searchable.find(batch) : null;
  }

  /** The bytes of a batch as a whole object, cut or not. null: they are not here. */
  batchBytes(batch: number): ReadableStream<Uint8Array> | null {
    const pieces = this.#state.hasJob() ? this.#searchable.pieces(batch) : null;
    return pieces === null ? null : piecewise(pieces);
  }

  /** Which records a batch has that is here, in the order of its lines. null: it is not known. */
  batchIdentities(batch: number): Uint8Array | null {
    return this.#state.hasJob() ? this.#searchable.identities(batch) : null;
  }

  /** Both, of one moment: an open batch changes. */
  identifiedBatch(batch: number): { bytes: ReadableStream<Uint8Array>; identities: Uint8Array | null } | null {
    const bytes = this.batchBytes(batch);
    return bytes === null ? null : { bytes, identities: this.batchIdentities(batch) };
  }

  /** A part of the objects that are set aside, the oldest first, and how many there are. */
  asideObjects(
    offset: number,
    limit: number,
  ): Following & { entries: AsideObject[]; total: number; unmade: UnmadeNote[] } {
    const row = this.#state.row();
    if (row === null) return { entries: [], total: 0, unmade: [], sealed: false };
    const unmade = this.#unmade.list("poison");
    return { entries: this.#aside.list(offset, limit), total: row.aside_objects, unmade, ...this.#following() };
  }

  /** What follows it; null: it has no job. */
  following(): Following | null {
    return this.#state.hasJob() ? this.#following() : null;
  }

  /** Tries again to make an entry. @returns whether it is made; null: it is not there. */
  unmadeRetry(n: number): Promise<boolean | null> {
    return this.#reading.retryOne(n);
  }

  /** Drops an entry that could not be made. @returns its records; null: it is not there. */
  unmadeDiscard(n: number): number | null {
    return this.#transaction(() => {
      if (!this.#unmade.list("poison").some((each) => each.n === n)) return null;
      const records = this.#unmade.remove(n);
      this.#state.countUnmade(-records, records);
      return records;
    });
  }

  /** null: it is not set aside. @param orWaiting one that waits for its upload, too. */
  asideObject(number: number, orWaiting = false): AsideObject | null {
    if (!this.#state.hasJob()) return null;
    return orWaiting ? this.#aside.find(number) : this.#aside.get(number);
  }

  /**
   * Sets an object aside that waits for its upload. @returns its new state, also if it was set
   * aside before; null: it is neither.
   */
  asidePut(number: number): AsideObject | null {
    const now = platform.now();
    return this.#transaction(() => {
      if (!this.#state.hasJob() || this.#state.requireJob().discard) return null;
      const object = this.#objects.object(number);
      if (object?.state === "waiting") this.#objects.takeOut(object, now, this.#uploads.underWay.has(number));
      // What waited behind it may be due.
      this.#arm(now);
      return this.#aside.get(number);
    });
  }

  /** Its bytes, as they would be uploaded. null: it is not set aside. */
  asideBytes(number: number): ReadableStream<Uint8Array> | null {
    const object = this.#state.hasJob() ? this.#objects.object(number) : null;
    if (object?.state !== "set_aside") return null;
    return streamed(object.bytes, this.#objects.pieces(object));
  }

  /**
   * Uploads an object again that was set aside, or at once one that waits. @returns its new state;
   * null: it is neither, or its job was discarded; "under_way": it is being sent now.
   */
  asideResend(number: number): AsideObject | "under_way" | null {
    return this.#resend(number, null);
  }

  /**
   * The same to another destination than its job's.
   * @param shown the destination, masked.
   */
  asideSendTo(number: number, target: Target, shown: string): AsideObject | "under_way" | null {
    return this.#resend(number, { target, shown });
  }

  #resend(number: number, to: { target: Target; shown: string } | null): AsideObject | "under_way" | null {
    const now = platform.now();
    if (this.#uploads.underWay.has(number)) return "under_way";
    return this.#transaction(() => {
      if (!this.#state.hasJob() || this.#state.requireJob().discard) return null;
      const object = this.#aside.resend(number, now, to);
      if (object === null) return null;
      if (to === null) this.#state.set({ resume_ms: 0 });
      if (this.#objects.failingWith() === null) this.#state.noneFails();
      this.#arm(now);
      return object;
    });
  }

  /** What an object that was set aside lacks for a destination: {@link AsideObjects.lacks}. */
  asideLacks(number: number, fields: readonly string[]): { plain: boolean; missing: string[] } | null {
    return this.#state.hasJob() ? this.#aside.lacks(number, fields) : null;
  }

  /**
   * Drops an object that was set aside; its records count as discarded. @returns its former state;
   * null: it is not set aside.
   */
  asideDiscard(number: number): AsideObject | null {
    return this.#transaction(() => (this.#state.hasJob() ? this.#aside.discard(number) : null));
  }

  /**
   * How the uploads went, by the hour: the hours in which any ended, from `since` up to but not
   * including `until`, both since the epoch.
   */
  health(since: number, until: number): Following & { hours: HealthHour[] } {
    if (!this.#state.hasJob()) return { hours: [], sealed: false };
    return { hours: this.#health.between(since, until), ...this.#following() };
  }

  /** The state of the job's canary. */
  canaryReport(): Following & { report: CanaryReport | null } {
    if (!this.#state.hasJob()) return { report: null, sealed: false };
    return { report: this.canary.report(platform.now()), ...this.#following() };
  }

  /** What a replay can ship again; see {@link Replayed}. */
  replayable(span: ReplaySpan): Following & Replayable {
    return { ...this.#replayed.measure(span), ...this.#following() };
  }

  replayPage(span: ReplaySpan, after: number, limit: number): ReplayPage {
    return this.#transaction(() => this.#replayed.page(span, after, limit));
  }

  /**
   * Another name for a copy whose key is taken. @param key of the original. @returns null: the
   * reader is retired.
   */
  replayName(firstEventMs: number, lastEventMs: number, key = ""): string | null {
    if (!this.#state.hasJob()) return null;
    return this.#transaction(() => this.#state.names([{ firstEventMs, lastEventMs, key }])[0] ?? null);
  }

  /** Lists and counts an object that was shipped again. Idempotent. */
  replayed(object: ReplayedObject): "counted" | "known" | "gone" {
    return this.#transaction(() => this.#replayed.note(object, platform.now()));
  }

  /**
   * Deletes itself if its job was deleted so long ago that no queue can hold a message for it, and
   * nothing that was delivered is still to be listed.
   * @param deletedMs when its job was deleted, as far as others know; in ms.
   * @returns whether it did.
   */
  async retire(deletedMs: number | null = null): Promise<boolean> {
    const job = this.#state.job();
    if (job !== null) {
      const sinceMs = job.deletedMs ?? deletedMs;
      const now = platform.now();
      const done = sinceMs !== null && now - sinceMs > DEDUP_MS && !this.#holds();
      const isToList = this.isSigned() && this.manifests.mayList(job) && this.#deliveries.hasToList(now);
      if (!done || isToList) return false;
    }
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#alarm.cleared();
    this.#state.retired = true;
    return true;
  }

  /** Cuts and uploads what is due, and sets the next alarm. */
  override alarm(): Promise<void> {
    const act = async (): Promise<void> => {
      if (!this.#state.hasJob()) return;
      this.#transaction(() => {
        // An upload may have been under way when the job was discarded and the instance died.
        if (this.#state.requireJob().discard) this.#discard();
        if (this.#canCut()) this.#batches.cutDue(platform.now());
      });
      await this.#reading.retryUnmade(false);
      // Alarms do not run concurrently: the next cut must not wait for an upload.
      const nextCutMs = this.#batches.nextCutMs() - platform.now();
      await this.#uploadFor(Math.max(0, Math.min(this.alarmWaitMs, nextCutMs)));
      this.#transaction(() => this.#arm(platform.now()));
    };
    return this.#alarm.fired("JobReader", LOOK_AGAIN_MS, act, () => ({ job: this.#state.job()?.id }));
  }

  /**
   * Uploads what is due, and waits that long for it and what is under way; the uploads go on
   * afterwards. Neither the canary nor manifests are waited for.
   */
  async #uploadFor(waitMs: number): Promise<void> {
    const canary = this.canary.begin(platform.now());
    if (canary !== null) this.ctx.waitUntil(canary);
    const manifests = this.manifests.begin(platform.now());
    if (manifests !== null) this.ctx.waitUntil(manifests);
    // What waits for these uploads begins at their end, not with the next alarm.
    const uploads = this.#uploads.run().then(() => this.#transaction(() => this.#arm(platform.now())));
    this.ctx.waitUntil(uploads);
    // A pull may have begun some.
    await within(waitMs, Promise.all([uploads, this.#uploads.idle()]), undefined);
  }

  /**
   * Whether its job can be read, or was written by a newer version: then its open batches wait for
   * that one. What is cut is uploaded all the same.
   */
  #canCut(): boolean {
    const canCut = this.#state.isReadable();
    if (!canCut) log.error("a job cannot be read: what waits is not cut", { job: this.#state.requireJob().id });
    return canCut;
  }

  /** What it changes of the reader's row is one written row. */
  #transaction<T>(change: () => T): T {
    return this.#alarm.transaction(() => this.#state.atOnce(change));
  }

  #following(): Following {
    return { sealed: this.#state.row()?.sealed_ms != null };
  }

  /** Sets the alarm for the next thing to do. */
  #arm(nowMs: number): void {
    const row = this.#state.row();
    if (row === null) return;
    const cutMs = this.#batches.nextCutMs();
    const nextCutMs = this.#state.isReadable() ? cutMs : Math.max(cutMs, nowMs + LOOK_AGAIN_MS);
    const due = Math.min(
      nextCutMs,
      this.#uploads.nextMs(row, nowMs),
      this.canary.nextMs(nowMs),
      this.manifests.nextMs(nowMs),
      this.#unmade.nextMs(),
    );
    this.#alarm.set(due, nowMs);
  }

  /** Drops what waits, and counts it. What is under way is counted when it ends. */
  #discard(): void {
    this.#state.countUnmade(-this.#unmade.sums().poison);
    const dropped = this.#batches.drop() + this.#objects.drop(this.#uploads.underWay) + this.#unmade.drop();
    this.#state.countDiscarded(dropped);
  }
}
