import { DurableObject } from "cloudflare:workers";
import { toHex } from "../../base/bytes.ts";
import { log } from "../../base/logger.ts";
import { answered, platform, within } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import type { Failure } from "../../ship/destinations/failure.ts";
import { openDestination, termsOf } from "../../ship/destinations/kinds.ts";
import { controlPlane, type StoredJob } from "../../state/control/plane.ts";
import { Ends, LOG_IS_GONE, LOOK_AGAIN_MS, UNSURE } from "./ends.ts";
import { placesOf } from "./places.ts";
import { Plans } from "./plans.ts";
import { REPLAY_STEPS } from "./replay-migrations.ts";
import type { Problem, ReplayAsk, ReplayBegun, ReplayStatus, ReplayTrouble } from "./replay-status.ts";
import { keyOf, type Piece, type ReplayRow, viewOf } from "./rows.ts";
import { Run } from "./run.ts";
import { PART_MS, Steps } from "./steps.ts";

/** Copies under way at once, of all replays together; at least one for each. */
const COPIES_AT_ONCE = 4;

/**
 * Objects of one run, shared by the replays that are due: each takes a GET, a PUT, a call of its
 * log, and a HEAD or two; an invocation may make 1,000.
 */
const OBJECTS_PER_RUN = 240;

/** Calls of a reader that one run makes to plan. */
const PAGES_PER_RUN = 100;

/** A run begins no object after this, in ms. */
const RUN_MS = 300_000;

/** How long an alarm waits for its runs, in ms; they go on. */
const ALARM_WAIT_MS = 60_000;

/** How long the cron waits for them, in ms. */
const DRIVE_WAIT_MS = 10_000;

/**
 * Ships delivered objects again, in the background. A replay is planned first, each object with the
 * name of its copy; then each is copied, listed by its reader, and dropped from the plan. Any of
 * these steps can be repeated, wherever it broke off: the same key, counted once. docs/recovery.md
 */
export class Replays extends DurableObject<Env> {
  readonly #plans: Plans;
  readonly #alarm: Alarm;
  readonly #ends: Ends;
  /** Public for the tests, which break each. */
  readonly steps: Steps;
  /** Runs of this instance that are under way, by replay. */
  readonly #runs = new Map<number, Promise<void>>();
  /** Overridden by tests. */
  objectsPerRun = OBJECTS_PER_RUN;
  alarmWaitMs = ALARM_WAIT_MS;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#plans = new Plans(ctx.storage.sql);
    this.#alarm = new Alarm(ctx.storage);
    this.#ends = new Ends(this.#plans, this.#alarm, () => this.#arm(platform.now()));
    this.steps = new Steps(ctx, env, this.#plans, this.#ends);
    this.#alarm.begin(ctx, REPLAY_STEPS);
  }

  begin(ask: ReplayAsk): ReplayBegun {
    const begun = this.#alarm.transaction(() => {
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
  list(job: number): ReplayStatus[] {
    return this.#plans.list(job);
  }

  get(job: number, id: string): { replay: ReplayStatus; problems: Problem[] } | null {
    const row = this.#plans.find(job, id);
    return row === null ? null : { replay: viewOf(row), problems: this.#plans.pieces.problems(row.seq) };
  }

  /**
   * No further object of it begins; those under way end, and are counted. A replay that is over
   * stays as it is.
   */
  cancel(job: number, id: string): ReplayStatus | null {
    const row = this.#plans.find(job, id);
    if (row === null) return null;
    this.#ends.end(row, "cancelled", null);
    const after = this.#plans.row(row.seq);
    return after === null ? null : viewOf(after);
  }

  /** Replays that make no progress. */
  status(): ReplayTrouble[] {
    return this.#plans.troubles();
  }

  /**
   * For the cron, the second, independent clock: does what the alarm does, forgets what is old, and
   * follows changed and deleted jobs.
   */
  async drive(): Promise<void> {
    const swept = this.#alarm.transaction(() => this.#plans.sweep(platform.now()));
    for (const { id, job } of swept) log.warn("a replay was given up", { replay: id, job });
    const known = this.#plans.jobs();
    if (known.length === 0) return;
    const jobs = await answered("the control plane", PART_MS, controlPlane(this.env.CONTROL).list());
    const versions = new Map(jobs.map(({ config }) => [config.id, config.modifiedVersion]));
    this.#alarm.transaction(() => {
      for (const id of known) if (!versions.has(id)) this.#plans.forgetJob(id, platform.now());
      for (const { seq, job, modified } of this.#plans.underWay()) {
        const newest = versions.get(job);
        if (newest !== undefined && newest !== modified) this.#plans.retryNow(seq, newest);
      }
    });
    await within(DRIVE_WAIT_MS, this.#start(), undefined);
    this.#alarm.transaction(() => this.#arm(platform.now()));
  }

  /** Goes on with what is due, and sets the next alarm. */
  override alarm(): Promise<void> {
    return this.#alarm.fired("Replays", LOOK_AGAIN_MS, async () => {
      await within(this.alarmWaitMs, this.#start(), undefined);
      this.#alarm.transaction(() => this.#arm(platform.now()));
    });
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
        .catch((error: unknown) => this.#ends.broke(row, error))
        .finally(() => {
          this.#runs.delete(row.seq);
          // What is left begins now, not with the next alarm.
          this.#alarm.transaction(() => this.#arm(platform.now()));
        });
      this.#runs.set(row.seq, run);
    }
    const all = Promise.all(this.#runs.values());
    this.ctx.waitUntil(all);
    return all;
  }

  async #runReplay(begun: ReplayRow, lanes: number, objects: number): Promise<void> {
    const { seq, job: jobId } = begun;
    const job: StoredJob | null = await answered(
      "the control plane",
      PART_MS,
      controlPlane(this.env.CONTROL).get(jobId),
    );
    if (job === null) {
      this.#alarm.transaction(() => this.#plans.forgetJob(jobId, platform.now()));
      log.info("replays went with their job", { job: jobId });
    }
    // What may be under way is looked at, as after any end: no copy stands there unlisted.
    const row = this.#plans.row(seq);
    if (row?.source == null) return;
    const places = placesOf(row, job?.config.destination ?? row.source, this.env);
    if (!places.ok) {
      const error: Failure = { kind: "unusable", words: places.why, cause: "configuration" };
      if (row.ended_ms === null) this.#ends.wait(row, error);
      else this.#ends.giveUp(row, "its destination cannot be opened");
      return;
    }
    const { source, target } = places.value;
    const from = openDestination(source, platform);
    const to = { open: openDestination(target, platform, row.path), terms: termsOf(target) };
    const run = new Run(row, from, to, this.#plans, { objects, untilMs: platform.now() + RUN_MS });
    if (row.ended_ms !== null) return this.#lookAtRest(run, objects);
    for (let page = 0; this.#plans.row(seq)?.plan_next != null; page++) {
      if (page >= PAGES_PER_RUN) return;
      if (!(await this.steps.planPage(row))) return;
    }
    const lane = async (): Promise<void> => {
      for (let piece = this.#claim(run); piece !== null; piece = this.#claim(run)) {
        await this.steps.attempt(run, piece);
        run.inFlight.delete(piece.number);
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    this.#conclude(run);
  }

  #claim(run: Run): Piece | null {
    return this.#alarm.transaction(() => run.next(platform.now()));
  }

  /** Ends a run: all is done, or something is tried again. */
  #conclude(run: Run): void {
    const { seq } = run;
    const row = this.#plans.row(seq);
    if (row === null) return;
    if (row.ended_ms !== null) {
      // Cancelled: what was under way has ended.
      this.#alarm.transaction(() => this.#plans.close(seq));
      return;
    }
    if (this.#plans.pieces.list(seq, 0, 1).length === 0) {
      this.#ends.end(row, "done", null);
      return;
    }
    this.#alarm.transaction(() => {
      run.leave();
      if (run.error === null) this.#plans.wentWell(seq);
    });
    if (run.error !== null) this.#ends.wait(row, run.error);
  }

  /**
   * Of a replay that is over: an object that was under way when the instance died may have been
   * written. Each is looked at once.
   */
  async #lookAtRest({ row, seq, target }: Run, objects: number): Promise<void> {
    const untilMs = platform.now() + RUN_MS;
    // After an outage these may be thousands, more than an invocation may ask for.
    for (const piece of this.#plans.pieces.list(seq, 0, objects)) {
      if (platform.now() >= untilMs) break;
      const stands = await target.stands({ ...piece, key: keyOf(row, piece) });
      if (stands === "there") {
        if ((await this.steps.tell(row, piece, true)) === "gone") return this.#ends.giveUp(row, LOG_IS_GONE);
        this.steps.finish(seq, piece);
      } else {
        this.#alarm.transaction(() => {
          if (stands === "unknown") this.#plans.pieces.problem(seq, piece, "failed", UNSURE);
          else this.#plans.pieces.drop(seq, piece.number);
        });
      }
    }
    this.#alarm.transaction(() => this.#plans.close(seq));
  }

  /** Sets the alarm for the next thing to do. */
  #arm(nowMs: number): void {
    const idle = this.#plans.unfinished().filter(({ seq }) => !this.#runs.has(seq));
    const again = this.#runs.size > 0 ? nowMs + LOOK_AGAIN_MS : Number.POSITIVE_INFINITY;
    const due = Math.min(again, ...idle.map(({ resume_ms }) => resume_ms));
    this.#alarm.set(due, nowMs);
  }
}

/** The replays of the account. */
export function replays(namespace: DurableObjectNamespace<Replays>): DurableObjectStub<Replays> {
  return namespace.getByName("replays");
}
