import { DurableObject } from "cloudflare:workers";
import { toHex } from "../bytes.ts";
import { controlPlane, type StoredJob } from "../control/plane.ts";
import { segmentWith } from "../delivery/chain.ts";
import { dayStamp, keyBelow } from "../delivery/keys.ts";
import { disposition, type UploadError } from "../delivery/policy.ts";
import type { ReplayPage } from "../delivery/replayed.ts";
import { ObjectStore } from "../destinations/object-store.ts";
import { compare } from "../destinations/stored.ts";
import { errorText, log } from "../log.ts";
import { answered, platform, within } from "../platform.ts";
import { migrate } from "../storage/migrate.ts";
import { type CopyOutcome, copyObject } from "./copy.ts";
import { placesOf } from "./places.ts";
import { Plans } from "./plans.ts";
import { type Piece, type ReplayRow, viewOf } from "./rows.ts";
import { Run } from "./run.ts";
import { REPLAY_STEPS } from "./schema.ts";
import type { Problem, ReplayAsk, ReplayBegun, ReplayTrouble, ReplayView } from "./types.ts";
import { waitingWords } from "./words.ts";

/** Copies under way at once, of all replays together, as far as they are more than one for each. */
const COPIES_AT_ONCE = 4;

/** Objects of one run, shared by the replays that have a turn: each is a GET, a PUT, a call of its log, and a HEAD or two; an invocation may make 1,000. */
const OBJECTS_PER_RUN = 240;

/** Objects that are planned with one call of a log, and how many such calls one run makes. */
const PLAN_PAGE = 500;
const PAGES_PER_RUN = 100;

/** A run begins no object after this, in ms. */
const RUN_MS = 300_000;

/** How long an alarm waits for its runs, in ms; they go on. And when it looks again after those that do. */
const ALARM_WAIT_MS = 60_000;
const LOOK_AGAIN_MS = 15_000;

/** How long the cron waits for them, in ms. */
const DRIVE_WAIT_MS = 10_000;

/** How long a part of the service may take for one answer, in ms. */
const PART_MS = 10_000;

/** An alarm that should have fired so long ago, in ms, did not. */
const ALARM_LOST_AFTER_MS = 60_000;

const UNSURE = "it was on its way when the replay ended, and its store does not tell whether it is there";

const INTERNAL: UploadError = { kind: "busy", words: "internal error", retryAfterS: null, cause: "internal" };

/**
 * Ships again what was delivered, in the background. A replay is planned first, each object with the name that its copy will have; then each is copied, its
 * log is told, and it leaves the plan. Any of these steps can be repeated, wherever it broke off: the same key, counted once. docs/replay.md.
 */
export class Replays extends DurableObject<Env> {
  readonly #plans: Plans;
  /** Runs of this instance that are under way, by replay. */
  readonly #runs = new Map<number, Promise<void>>();
  /** When the alarm is set for; null: not set. */
  #armedMs: number | null = null;
  /** Overridden by tests. */
  objectsPerRun = OBJECTS_PER_RUN;
  planPageSize = PLAN_PAGE;
  alarmWaitMs = ALARM_WAIT_MS;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#plans = new Plans(ctx.storage.sql);
    ctx.blockConcurrencyWhile(async () => {
      migrate(ctx.storage, REPLAY_STEPS);
      this.#armedMs = await ctx.storage.getAlarm();
    });
  }

  begin(ask: ReplayAsk): ReplayBegun {
    const begun = this.#transaction(() => {
      const result = this.#plans.begin(toHex(crypto.getRandomValues(new Uint8Array(16))), ask);
      this.#arm(platform.now());
      return result;
    });
    if (begun.kind === "begun") {
      const { id, job, planned } = begun.replay;
      log.info("a replay began", { replay: id, job, ...planned });
    }
    return begun;
  }

  /** Those of a job, newest first. */
  list(job: number): ReplayView[] {
    return this.#plans.list(job);
  }

  get(job: number, id: string): { replay: ReplayView; problems: Problem[] } | null {
    const row = this.#plans.find(job, id);
    return row === null ? null : { replay: viewOf(row), problems: this.#plans.problems(row.seq) };
  }

  /** Begins no object of it any more; those under way go on to their end, and are counted. One that is over stays as it is. */
  cancel(job: number, id: string): ReplayView | null {
    const row = this.#plans.find(job, id);
    if (row === null) return null;
    this.#end(row, "cancelled", null);
    const after = this.#plans.row(row.seq);
    return after === null ? null : viewOf(after);
  }

  /** Those that do not get on. */
  status(): ReplayTrouble[] {
    return this.#plans.troubles();
  }

  /** For a second, independent clock: does what the alarm is for, forgets what is old, and sees what became of the jobs. */
  async drive(): Promise<void> {
    const swept = this.#transaction(() => this.#plans.sweep(platform.now()));
    for (const { id, job } of swept) log.warn("a replay was given up", { replay: id, job });
    const known = this.#plans.jobs();
    if (known.length === 0) return;
    const jobs = await answered("the control plane", PART_MS, controlPlane(this.env.CONTROL).list());
    const versions = new Map(jobs.map(({ config }) => [config.id, config.modifiedVersion]));
    this.#transaction(() => {
      for (const id of known) if (!versions.has(id)) this.#plans.forgetJob(id);
      for (const { seq, job, modified } of this.#plans.underWay()) {
        const newest = versions.get(job);
        if (newest !== undefined && newest !== modified) this.#plans.retryNow(seq, newest);
      }
    });
    await within(DRIVE_WAIT_MS, this.#start(), undefined);
    this.#transaction(() => this.#arm(platform.now()));
  }

  /** Goes on with what is due, arms the next. It must not throw: such an alarm is forgotten after six tries. */
  override async alarm(): Promise<void> {
    this.#armedMs = null;
    try {
      await within(this.alarmWaitMs, this.#start(), undefined);
      this.#transaction(() => this.#arm(platform.now()));
    } catch (error) {
      log.error("alarm failed", { durable_object: "Replays", error: errorText(error) });
      await this.ctx.storage.setAlarm(platform.now() + LOOK_AGAIN_MS);
    }
  }

  /** Begins a run of each replay that is due and has none. */
  #start(): Promise<unknown> {
    const now = platform.now();
    const due = this.#plans.unfinished().filter(({ seq, resume_ms }) => resume_ms <= now && !this.#runs.has(seq));
    const shared = Math.max(1, due.length + this.#runs.size);
    for (const row of due) {
      const lanes = Math.max(1, Math.floor(COPIES_AT_ONCE / shared));
      const objects = Math.max(1, Math.floor(this.objectsPerRun / shared));
      const run = this.#runReplay(row, lanes, objects)
        .catch((error: unknown) => this.#broke(row, error))
        .finally(() => {
          this.#runs.delete(row.seq);
          // What is left begins now, and not only when the alarm looks again.
          this.#transaction(() => this.#arm(platform.now()));
        });
      this.#runs.set(row.seq, run);
    }
    const all = Promise.all(this.#runs.values());
    this.ctx.waitUntil(all);
    return all;
  }

  async #runReplay(row: ReplayRow, lanes: number, objects: number): Promise<void> {
    const { seq, job: jobId } = row;
    const job: StoredJob | null = await answered(
      "the control plane",
      PART_MS,
      controlPlane(this.env.CONTROL).get(jobId),
    );
    if (job === null) {
      this.#transaction(() => this.#plans.forgetJob(jobId));
      log.info("replays went with their job", { job: jobId });
      return;
    }
    const places = placesOf(row, job.config.destination, this.env);
    if (!places.ok) {
      const error: UploadError = { kind: "unusable", words: places.why, cause: "configuration" };
      if (row.ended_ms === null) this.#wait(row, error);
      else this.#giveUp(row, "its destination cannot be opened");
      return;
    }
    const { source, target } = places.value;
    const run = new Run(row, new ObjectStore(source, platform), new ObjectStore(target, platform), this.#plans, {
      objects,
      untilMs: platform.now() + RUN_MS,
    });
    if (row.ended_ms !== null) return this.#lookAtRest(run, objects);
    for (let page = 0; this.#plans.row(seq)?.plan_next != null; page++) {
      if (page >= PAGES_PER_RUN) return;
      if (!(await this.planPage(row))) return;
    }
    const lane = async (): Promise<void> => {
      for (let piece = this.#claim(run); piece !== null; piece = this.#claim(run)) {
        await this.#attempt(run, piece);
        run.inFlight.delete(piece.number);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    this.#conclude(run);
  }

  /** Takes the next page of objects into the plan. Public for the tests, as all steps are: they break each. @returns false if there is nothing to plan for. */
  async planPage(row: ReplayRow): Promise<boolean> {
    const { seq, job, since_ms: sinceMs, until_ms: untilMs, asked_ms: askedMs } = row;
    const after = this.#plans.row(seq)?.plan_next ?? null;
    if (after === null) return false;
    const asked = { sinceMs, untilMs, askedMs };
    const page: ReplayPage = await answered(
      `the log of job ${job}`,
      PART_MS,
      segmentWith(this.env.LOG, job, after).replayPage(asked, after, this.planPageSize),
    );
    return this.#transaction(() => {
      const now = this.#plans.row(seq);
      // It was cancelled meanwhile.
      if (now === null || now.ended_ms !== null || now.plan_next !== after) return false;
      this.#plans.plan(seq, page.sources, page.next);
      return true;
    });
  }

  #claim(run: Run): Piece | null {
    return this.#transaction(() => run.next(platform.now()));
  }

  async #attempt(run: Run, piece: Piece): Promise<void> {
    try {
      let outcome = await this.copyOne(run, piece);
      if (outcome.kind === "no_conditional") {
        this.#transaction(() => this.#plans.setUnconditional(run.seq));
        run.conditional = false;
        // The store does not know the condition; the same attempt goes on without it.
        outcome = await this.copyOne(run, piece);
      }
      await this.settle(run, piece, outcome);
    } catch (error) {
      const { id, job } = run.row;
      log.error("a copy broke", { replay: id, job, object: piece.number, error: errorText(error) });
      this.#transaction(() => this.#plans.failed(run.seq, piece.number, true));
      run.failed(INTERNAL);
    }
  }

  copyOne(run: Run, piece: Piece): Promise<CopyOutcome> {
    const { source, target, conditional, row } = run;
    return copyObject(piece, this.#keyOf(row, piece), source, { store: target, path: row.path, conditional });
  }

  /** What follows from an attempt. A copy that stands is told to its log before it leaves the plan. */
  async settle(run: Run, piece: Piece, outcome: CopyOutcome): Promise<void> {
    const { seq, row } = run;
    const { number } = piece;
    switch (outcome.kind) {
      case "delivered": {
        const told = await this.tell(row, piece, outcome.verified);
        if (told === "gone") return this.#logIsGone(row);
        this.finish(seq, piece);
        run.went();
        return;
      }
      case "key_taken":
      case "no_conditional": {
        const { firstEventMs, lastEventMs } = piece;
        const log = segmentWith(this.env.LOG, row.job, number);
        const name = await answered(`the log of job ${row.job}`, PART_MS, log.replayName(firstEventMs, lastEventMs));
        if (name === null) return this.#logIsGone(row);
        this.#transaction(() => this.#plans.rename(seq, number, name));
        // Once is chance; again, and something is wrong with the store.
        if (piece.attempts === 0) return run.went();
        const words = "the store says that another object stands under a new key";
        return run.failed({ kind: "busy", words, retryAfterS: null, cause: "key_taken" });
      }
      case "damaged":
        // A proxy may have cut it short: it is believed when it is read a second time.
        if (piece.attempts === 0) this.#transaction(() => this.#plans.failed(seq, number, false));
        else this.#problem(run, piece, "damaged", outcome.words);
        return run.went();
      case "missing":
        this.#problem(run, piece, "missing", outcome.words);
        return run.went();
      case "refused":
        this.#problem(run, piece, "failed", `its copy is refused: ${outcome.words}`);
        return run.went();
      case "failed":
        this.#transaction(() => this.#plans.failed(seq, number, outcome.doubtful));
        return run.failed(outcome.error);
    }
  }

  /** Has the job's log list and count a copy that stands. */
  tell(row: ReplayRow, piece: Piece, verified: boolean): Promise<"counted" | "known" | "gone"> {
    const { number, attempts } = piece;
    const log = segmentWith(this.env.LOG, row.job, number);
    const { doubtful: _doubtful, ...source } = piece;
    const copy = {
      ...source,
      replay: row.id,
      key: this.#keyOf(row, piece),
      attempts: attempts + 1,
      verified,
      elsewhere: row.elsewhere,
    };
    return answered(`the log of job ${row.job}`, PART_MS, log.replayed(copy));
  }

  /** The last step of an object. */
  finish(seq: number, piece: Piece): void {
    this.#transaction(() => this.#plans.done(seq, piece));
  }

  /** What a run came to: all is done, or something is tried again. */
  #conclude(run: Run): void {
    const { seq } = run;
    const row = this.#plans.row(seq);
    if (row === null) return;
    if (row.ended_ms !== null) {
      // Cancelled: what was under way has ended.
      this.#transaction(() => this.#plans.close(seq));
      return;
    }
    if (this.#plans.pieces(seq, 0, 1).length === 0) {
      this.#end(row, "done", null);
      return;
    }
    this.#transaction(() => {
      run.leave();
      if (run.error === null) this.#plans.wentWell(seq);
    });
    if (run.error !== null) this.#wait(row, run.error);
  }

  /** Of a replay that is over: what was on its way when it was killed may have arrived, and nobody knows. Each is looked at once. */
  async #lookAtRest({ row, seq, target }: Run, objects: number): Promise<void> {
    const untilMs = platform.now() + RUN_MS;
    // After an outage these may be thousands: beyond what an invocation may ask, each would seem not to be told of.
    for (const piece of this.#plans.pieces(seq, 0, objects)) {
      if (platform.now() >= untilMs) break;
      const shown = compare(await target.head(this.#keyOf(row, piece)), piece);
      if (shown === "same") {
        if ((await this.tell(row, piece, true)) === "gone") return this.#giveUp(row, "the job's log is gone");
        this.finish(seq, piece);
      } else {
        const isThere = shown === "hidden" || shown === "unknown";
        this.#transaction(() => {
          if (isThere) this.#plans.problem(seq, piece, "failed", UNSURE);
          else this.#plans.drop(seq, piece.number);
        });
      }
    }
    this.#transaction(() => this.#plans.close(seq));
  }

  /** Nobody can look at what is left. */
  #giveUp({ seq, id, job }: ReplayRow, why: string): void {
    log.warn("a replay was given up", { replay: id, job, why });
    this.#transaction(() => {
      for (const piece of this.#plans.pieces(seq, 0, Number.MAX_SAFE_INTEGER))
        this.#plans.problem(seq, piece, "failed", `${UNSURE}: ${why}`);
      this.#plans.close(seq);
    });
  }

  #problem({ seq, row }: Run, piece: Piece, kind: "missing" | "damaged" | "failed", why: string): void {
    this.#transaction(() => this.#plans.problem(seq, piece, kind, why));
    log.warn("an object was not shipped again", { replay: row.id, job: row.job, object: piece.number, kind, why });
  }

  #logIsGone(row: ReplayRow): void {
    this.#end(row, "failed", "the job's log is gone");
  }

  #end(row: ReplayRow, state: "done" | "cancelled" | "failed", error: string | null): void {
    const { seq, id, job } = row;
    const ended = this.#transaction(() => {
      const changed = this.#plans.end(seq, state, error, platform.now());
      this.#arm(platform.now());
      return changed;
    });
    const after = this.#plans.row(seq);
    if (!ended || after === null) return;
    const { done, missing, damaged, failed } = viewOf(after);
    const counts = { objects: done.objects, records: done.records, bytes: done.bytes };
    const others = { missing: missing.objects, damaged: damaged.objects, failed: failed.objects };
    log.info("a replay ended", { replay: id, job, state, ...counts, ...others });
  }

  #wait(row: ReplayRow, error: UploadError): void {
    const now = platform.now();
    const next = disposition(error, row.failures + 1, platform.random());
    const delayMs = next.do === "set_aside" ? LOOK_AGAIN_MS : next.delayMs;
    this.#transaction(() => this.#plans.wait(row.seq, waitingWords(error), now + delayMs, now));
    log.warn("a replay waits", { replay: row.id, job: row.job, why: error.words, ms: delayMs });
  }

  #broke(row: ReplayRow, error: unknown): void {
    log.error("a replay broke", { replay: row.id, job: row.job, error: errorText(error) });
    if (row.ended_ms !== null) {
      this.#transaction(() => this.#plans.postpone(row.seq, platform.now() + LOOK_AGAIN_MS));
      return;
    }
    this.#wait(row, { ...INTERNAL, words: "a part of the service does not answer" });
  }

  #keyOf({ path }: ReplayRow, { day, name }: Piece): string {
    return keyBelow(path, dayStamp(day), name);
  }

  /** Sets the alarm for the next thing to do, if it is not set for an earlier one. Every setting is billed as a write. */
  #arm(nowMs: number): void {
    const idle = this.#plans.unfinished().filter(({ seq }) => !this.#runs.has(seq));
    const again = this.#runs.size > 0 ? nowMs + LOOK_AGAIN_MS : Number.POSITIVE_INFINITY;
    const due = Math.max(Math.min(again, ...idle.map(({ resume_ms }) => resume_ms)), nowMs);
    const armed =
      this.#armedMs !== null && this.#armedMs > nowMs - ALARM_LOST_AFTER_MS ? this.#armedMs : Number.POSITIVE_INFINITY;
    if (!Number.isFinite(due) || armed <= due) return;
    this.ctx.storage.setAlarm(due);
    this.#armedMs = due;
  }

  /** A transaction; if it fails, its alarm is rolled back with its rows, and what we believe of the alarm with it. */
  #transaction<T>(change: () => T): T {
    const armed = this.#armedMs;
    try {
      return this.ctx.storage.transactionSync(change);
    } catch (error) {
      this.#armedMs = armed;
      throw error;
    }
  }
}

/** The replays of the account. */
export function replays(namespace: DurableObjectNamespace<Replays>): DurableObjectStub<Replays> {
  return namespace.getByName("replays");
}
