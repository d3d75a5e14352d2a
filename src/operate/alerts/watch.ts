import { DurableObject } from "cloudflare:workers";
import { errorText, log } from "../../base/logger.ts";
import { answered, platform, within } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import { migrate } from "../../base/storage/migrate.ts";
import { controlPlane } from "../../state/control/plane.ts";
import { type Facts, NO_ANSWER } from "../status/facts.ts";
import { type Finding, keyOf, type Notice } from "../status/finding.ts";
import { kindName, nextDueMs } from "../status/function-kinds.ts";
import { gather, type WatchMemory } from "../status/gather.ts";
import { nextFailingMs } from "../status/job-rules.ts";
import { WEBHOOK, WEBHOOK_FAILING } from "../status/kinds.ts";
import { noticesOf } from "../status/notices.ts";
import { type ProblemState, ProblemStates } from "../status/problem-states.ts";
import type { QueueWaits } from "../status/queue-waits.ts";
import { type Pulse, Rhythm } from "../status/rhythm.ts";
import { findingsOf, isUnknown, keysIn } from "../status/rules.ts";
import { Samples } from "../status/samples.ts";
import { nextDueMs as nextSearchMs } from "../status/search-rules.ts";
import type { TestAnswer } from "./alert-calls.ts";
import type { IncidentEvent } from "./incident-events.ts";
import { IncidentRows, type PastIncident } from "./incident-rows.ts";
import { advance, type Check, confirmMs, isIncident, MORE, mayOpen, type Tracked, trackedByKey } from "./incidents.ts";
import type { ReceiverDraft, ReceiverState } from "./receiver-state.ts";
import { Receivers } from "./receivers.ts";
import { CHECK_FAILED, checkFailed } from "./watch-findings.ts";
import { WATCH_STEPS } from "./watch-migrations.ts";

/** Deadline of a check, in ms: more than gathering takes at most, less than the cron allows. */
const CHECK_MS = 22_000;

/**
 * A check this recent, in ms, is reused, so that frequent requests do not load the service. Tests
 * override it.
 */
export const FRESH = { ms: 10_000 };

/** Failed checks in a row that become a finding. */
const FAILED_CHECKS = 2;

/** How long the cron waits for calls, in ms; they continue afterwards. */
const SEND_WAIT_MS = 3_000;

/**
 * The alarm set while calls are made, in ms from now, in case this object ends before it sets the
 * next one.
 */
const SENDING_MS = 60_000;

/**
 * With a webhook, the watch checks by itself after this long without a cron, in ms: twice five
 * minutes, and one.
 */
const NO_CRON_MS = 11 * 60_000;

/** When a check that was asked for is made again after it failed, in ms from then. */
const LOOK_AGAIN_MS = 60_000;

/** Least time between tests of one receiver, in ms, to protect it. */
const TEST_EVERY_MS = 5_000;

/** Findings of the watch itself. */
const OWN_KINDS: ReadonlySet<string> = new Set([CHECK_FAILED, WEBHOOK_FAILING]);

/** The result of a check before it counts. */
export interface CheckResult {
  readonly findings: readonly Finding[];
  readonly notices?: readonly Notice[];
  /** As of {@link Snapshot}. */
  readonly keptSinceMs?: number | null;
  /** When more may be a finding, in ms since the epoch; null, absent: it is not known. */
  readonly dueMs?: number | null;
  /** As of {@link Check}. */
  isUnknown(finding: Finding): boolean;
}

/** A finding as shown. `sinceMs` is the earliest time that any check found. */
export type ShownFinding = Finding & {
  /** Of the incident that stands for it; null: not confirmed by a second check yet. */
  incidentId: string | null;
};

/** A check as shown: findings and incidents are of the same moment. */
export interface Snapshot {
  checkedMs: number;
  findings: ShownFinding[];
  /** Those that are not over. */
  incidents: PastIncident[];
  notices: readonly Notice[];
  /** The log keeps all that was taken in since then, in ms; null: nothing, or it is unknown. */
  keptSinceMs: number | null;
}

/** What a check sees; of incidents, who was told and who muted them changes in between. */
type Sight = Omit<Snapshot, "incidents">;

/** Checks all parts, remembers since when something is wrong, and calls the webhook. */
export class Watch extends DurableObject<Env> {
  readonly #alarm: Alarm;
  readonly #memory: WatchMemory & { problems: ProblemStates };
  readonly #receivers: Receivers;
  readonly #incidents: IncidentRows;
  #latest: Sight | null = null;
  #checking: Promise<Sight | null> | null = null;
  /** What {@link #latest} says about receivers. */
  #latestOwn: readonly Finding[] = [];
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** When to check because a shard asks for it, or by the latest check, in ms since the epoch. */
  #lookMs = Number.POSITIVE_INFINITY;
  #failedChecks = 0;
  /** When each receiver was last tested, by id. */
  readonly #testedMs = new Map<number, number>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    migrate(ctx.storage, WATCH_STEPS);
    const { sql } = ctx.storage;
    this.#alarm = new Alarm(ctx.storage);
    // What an earlier instance was to look at, its alarm still tells.
    this.#alarm.begin(ctx, null);
    this.#memory = {
      ...{ samples: new Samples(sql), problems: new ProblemStates(sql) },
      ...{ rhythm: new Rhythm(sql), kinds: new Rhythm(sql, "kinds") },
    };
    this.#receivers = new Receivers(ctx.storage, env, platform);
    this.#incidents = new IncidentRows(sql, this.#receivers);
  }

  /** Checks now. Tests replace it. */
  async see(): Promise<CheckResult> {
    const seen = resultOf(await gather(this.env, this.#memory, platform));
    return { ...seen, findings: await named(seen.findings, () => jobNames(this.env)) };
  }

  /**
   * From the cron: one check, and the calls that are due. Never throws: a failed check is logged,
   * and the second in a row is a finding.
   * @param queue null: unknown what waits there, as to handlers of an earlier release.
   */
  async check(queue: QueueWaits | null = null): Promise<void> {
    if (queue !== null) this.#memory.samples.note(queue);
    await this.#check();
    const sending = this.#sendDue();
    this.ctx.waitUntil(sending);
    await within(SEND_WAIT_MS, sending, undefined);
  }

  /**
   * From a shard that counted what may be a finding: checks soon, once for many calls. By the
   * alarm, so that the caller does not wait.
   */
  look(): void {
    const now = platform.now();
    const dueMs = Math.max(now, Math.min(this.#checkedMs, now) + FRESH.ms);
    if (this.#lookMs <= dueMs) return;
    this.#lookMs = dueMs;
    this.#arm();
  }

  /** null: the check failed. */
  async snapshot(): Promise<Snapshot | null> {
    const age = this.#latest === null ? Number.NaN : platform.now() - this.#latest.checkedMs;
    const isFresh = age >= 0 && age < FRESH.ms && this.#isAsBefore();
    const sight = isFresh ? this.#latest : await this.#check();
    return sight && { ...sight, incidents: this.#incidents.open(platform.now()) };
  }

  /** Open incidents first, then the latest. */
  incidents(limit: number): PastIncident[] {
    return this.#incidents.list(limit, platform.now());
  }

  /** An incident, and what happened to it, in order. null: there is none with this id. */
  incident(id: string): { incident: PastIncident; events: IncidentEvent[] } | null {
    const [incident] = this.#incidents.list(Number.POSITIVE_INFINITY, platform.now()).filter((each) => each.id === id);
    return incident === undefined ? null : { incident, events: this.#incidents.events.of(id) };
  }

  /** What is learned of a function's kinds of events. */
  kindPulses(scriptName: string): [string, Pulse][] {
    const start = kindName(scriptName, "").slice(0, -'"]'.length);
    return this.#memory.kinds.pulses().filter(([key]) => key.startsWith(start));
  }

  /** All receivers of alerts, the webhook first, then by id. */
  receivers(): ReceiverState[] {
    return this.#receivers.list();
  }

  /**
   * Stores a receiver. One that is new, moved or switched on again is told every open incident.
   * @param id {@link WEBHOOK}, which need not be there, that of another one, or null: a new one.
   * @param basedOn the mark of the one it replaces; null: none.
   * @param moved it has another address than that one.
   * @returns its id; `changed`: another change came first, and nothing is stored; `none`: there is
   *   no such receiver; `full`: there are too many.
   */
  put(
    id: number | null,
    basedOn: string | null,
    draft: ReceiverDraft,
    moved: boolean,
  ): number | "changed" | "none" | "full" {
    return this.#alarm.transaction(() => {
      const known = id === null ? null : this.#receivers.of(id);
      const before = known?.state() ?? null;
      if (before === null && id !== null && id !== WEBHOOK) return "none";
      if ((before?.mark ?? null) !== basedOn) return "changed";
      if (before !== null) known?.put(draft);
      const calls = before === null ? this.#receivers.add(id === null ? null : WEBHOOK, draft) : known;
      if (calls === null) return "full";
      if (moved || before === null || !before.enabled) this.#incidents.untold(calls.id);
      this.#incidents.tell(platform.now());
      this.#arm();
      return calls.id;
    });
  }

  /** @param id as of {@link put}. @returns whether there was one. */
  remove(id: number): boolean {
    return this.ctx.storage.transactionSync(() => {
      this.#incidents.untold(id);
      return this.#receivers.remove(id);
    });
  }

  /**
   * Notes a test. If it was accepted, the receiver is back, and waiting calls follow at once.
   * @param mark of the receiver that was called.
   */
  noteTest(id: number, mark: string, answer: TestAnswer): void {
    this.#alarm.transaction(() => {
      this.#receivers.of(id)?.noteTest(mark, answer);
      this.#arm();
    });
  }

  /** As {@link IncidentRows.mute}. @param by absent: an earlier release does not say. */
  mute(id: string, untilMs: number | null, by: string | null = null): boolean {
    return this.#alarm.transaction(() => {
      const now = platform.now();
      const isKnown = this.#incidents.mute(id, untilMs, by, now);
      this.#incidents.tell(now);
      this.#arm();
      return isKnown;
    });
  }

  /** What owners decided about problems. */
  problemStates(): ProblemState[] {
    return this.#memory.problems.all();
  }

  /** As {@link ProblemStates.put}; the next check sees it. */
  setProblem(id: string, state: Omit<ProblemState, "id"> | null): void {
    this.ctx.storage.transactionSync(() => this.#memory.problems.put(id, state));
    this.#latest = null;
  }

  /** Whether a receiver may be tested now; if so, not again for {@link TEST_EVERY_MS}. */
  testTurn(id: number): boolean {
    const now = platform.now();
    if (Math.abs(now - (this.#testedMs.get(id) ?? Number.NEGATIVE_INFINITY)) < TEST_EVERY_MS) return false;
    this.#testedMs.set(id, now);
    return true;
  }

  /**
   * Checks again what is suspected, and makes the calls that are due. Must not throw: the
   * platform drops an alarm after six failures.
   */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    try {
      const now = platform.now();
      const isAsked = this.#lookMs <= now;
      if (isAsked) {
        this.#lookMs = Number.POSITIVE_INFINITY;
        // One that is under way may have asked the shard before.
        await this.#checking;
        this.#lookMs = now;
      }
      if (isAsked || this.#isOverdue(now) || mayOpen(this.#incidents.tracked(), now)) await this.#check();
    } catch (error) {
      failed(error);
    }
    await this.#sendDue();
  }

  /**
   * One at a time: a caller meanwhile gets the same result. Every check counts for incidents:
   * otherwise findings and incidents would be of two moments.
   */
  #check(): Promise<Sight | null> {
    this.#checking ??= this.#checkNow().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #checkNow(): Promise<Sight | null> {
    const askedMs = this.#lookMs;
    this.#lookMs = Number.POSITIVE_INFINITY;
    try {
      const seen = await answered("everything", CHECK_MS, this.see());
      const sight = this.#take(seen);
      this.#failedChecks = 0;
      return sight;
    } catch (error) {
      log.error("status check failed", { durable_object: "Watch", error: errorText(error) });
    }
    const now = platform.now();
    this.#lookMs = Math.min(this.#lookMs, askedMs <= now ? now + LOOK_AGAIN_MS : askedMs);
    this.#failedChecks += 1;
    try {
      if (this.#failedChecks >= FAILED_CHECKS) this.#take({ findings: [checkFailed()], isUnknown: () => true });
    } catch (error) {
      failed(error);
    }
    this.#latest = null;
    return null;
  }

  /** Whether the latest check still says what is so of receivers, whose calls come in between. */
  #isAsBefore(): boolean {
    return JSON.stringify(this.#receivers.findings(platform.now())) === JSON.stringify(this.#latestOwn);
  }

  #take(seen: CheckResult): Sight {
    const now = platform.now();
    const own = this.#receivers.findings(now);
    const findings = [...seen.findings, ...own];
    // Its own state and that of the receivers are always known.
    const isUnknown = (finding: Finding): boolean => !OWN_KINDS.has(finding.kind) && seen.isUnknown(finding);
    const check: Check = { atMs: now, findings, isUnknown };
    const dueMs = seen.dueMs ?? Number.POSITIVE_INFINITY;
    // What is due already was seen.
    if (dueMs > now) this.#lookMs = Math.min(this.#lookMs, dueMs);
    const tracked = this.#stored(check);
    const standing = trackedByKey(findings, tracked);
    const shown = findings.map((finding): ShownFinding => {
      const its = standing.get(keyOf(finding));
      const isOwn = its !== undefined && keyOf(its.finding) === keyOf(finding);
      return {
        ...finding,
        sinceMs: (isOwn ? its.sinceMs : finding.sinceMs) ?? now,
        incidentId: its !== undefined && isIncident(its) ? its.id : null,
      };
    });
    this.#latest = {
      checkedMs: now,
      findings: shown,
      notices: seen.notices ?? [],
      keptSinceMs: seen.keptSinceMs ?? null,
    };
    this.#latestOwn = own;
    return this.#latest;
  }

  #stored(check: Check): readonly Tracked[] {
    try {
      return this.#alarm.transaction(() => this.#count(check));
    } catch (error) {
      this.#incidents.load();
      throw error;
    }
  }

  #count(check: Check): readonly Tracked[] {
    const before = this.#incidents.tracked();
    const step = advance(before, check, () => `inc_${crypto.randomUUID().replaceAll("-", "")}`);
    this.#incidents.keep(step, check.atMs);
    this.#incidents.events.note(before, step.tracked, check.atMs);
    this.#checkedMs = check.atMs;
    this.#arm(step.tracked);
    return step.tracked;
  }

  async #sendDue(): Promise<void> {
    await this.#receivers.send().catch(failed);
    try {
      this.#arm();
    } catch (error) {
      failed(error);
    }
  }

  /**
   * When to check although no cron came, in ms since the epoch. Where receivers are on, a missing
   * cron would stop all calls.
   */
  #checkDueMs(nowMs: number): number {
    return this.#receivers.wanted() ? Math.min(this.#checkedMs, nowMs) + NO_CRON_MS : Number.POSITIVE_INFINITY;
  }

  /** A new instance does not know what its alarm was set for. */
  #isOverdue(nowMs: number): boolean {
    return this.#checkedMs === Number.NEGATIVE_INFINITY || this.#checkDueMs(nowMs) <= nowMs;
  }

  /** Sets the alarm for the next thing to do. */
  #arm(tracked: readonly Tracked[] = this.#incidents.tracked()): void {
    const now = platform.now();
    const due = this.#receivers.isSending() ? now + SENDING_MS : this.#receivers.dueMs();
    const check = this.#checkDueMs(now);
    // An overdue check has just failed.
    const again = check <= now ? now + NO_CRON_MS : check;
    const times = [confirmMs(tracked, now), due, again, this.#lookMs];
    this.#alarm.set(Math.min(...times.map((ms) => ms ?? Number.POSITIVE_INFINITY)), now);
  }
}

/** What follows from facts. */
export function resultOf(facts: Facts): CheckResult {
  const findings = findingsOf(facts);
  const isSilent = findings.some(({ kind }) => kind.endsWith("_silent"));
  const keys = keysIn(facts);
  return {
    findings,
    notices: noticesOf(facts),
    keptSinceMs: facts.account === NO_ANSWER ? null : facts.account.status.keptSinceMs,
    dueMs: dueOf(facts),
    isUnknown: (finding) => (finding.kind === MORE ? isSilent : isUnknown(facts, finding, keys)),
  };
}

/**
 * When a silence, a search without further records, or uploads that go on to fail may be a finding;
 * null: not known.
 */
function dueOf({ functions, searches, jobs, nowMs }: Facts): number | null {
  const dues = [
    ...jobs.map(({ status }) => (status === NO_ANSWER || status === null ? null : nextFailingMs(status, nowMs))),
    functions === NO_ANSWER ? null : nextDueMs(functions.kinds ?? [], nowMs, functions.countedUntilMs),
    searches === NO_ANSWER ? null : nextSearchMs(searches),
  ].filter((ms) => ms !== null);
  return dues.length === 0 ? null : Math.min(...dues);
}

/** The watch continues with the next alarm or cron. */
function failed(error: unknown): void {
  log.error("the watch failed", { durable_object: "Watch", error: errorText(error) });
}

/** The one watch of the account. */
export function watch(namespace: DurableObjectNamespace<Watch>): DurableObjectStub<Watch> {
  return namespace.getByName("watch");
}

/** How long the names may delay a check, in ms. */
const NAMES_MS = 2_000;

/**
 * What owners call the jobs that findings are about, by id; jobs without a name are absent, as are
 * deleted ones.
 */
type JobNames = ReadonlyMap<number, string>;

/** Never throws: without names, jobs are told by number. */
async function jobNames({ CONTROL }: Pick<Env, "CONTROL">): Promise<JobNames> {
  try {
    const jobs = await answered("the names of jobs", NAMES_MS, controlPlane(CONTROL).list());
    return new Map(jobs.flatMap(({ config, body: { name } }) => (name?.trim() ? [[config.id, name] as const] : [])));
  } catch (error) {
    log.warn("no answer to the watch", { who: "the names of jobs", error: errorText(error) });
    return new Map();
  }
}

/** Adds the names. @param ask is called only where a finding is about a job. */
async function named(findings: readonly Finding[], ask: () => Promise<JobNames>): Promise<Finding[]> {
  if (!findings.some(({ subject }) => subject.type === "job")) return [...findings];
  const names = await ask();
  return findings.map((finding) => {
    const jobName = finding.subject.type === "job" ? names.get(finding.subject.id) : undefined;
    return jobName === undefined ? finding : { ...finding, jobName };
  });
}
