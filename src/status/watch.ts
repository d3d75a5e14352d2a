import { DurableObject } from "cloudflare:workers";
import { errorText, log } from "../log.ts";
import { answered, platform, within } from "../platform.ts";
import { Alarm } from "../storage/alarm.ts";
import { migrate } from "../storage/migrate.ts";
import { gather, type WatchMemory } from "./gather.ts";
import { IncidentRows, type PastIncident } from "./incident-rows.ts";
import { advance, confirmMs, isDue, keyOf, type Look, MORE, type Tracked } from "./incidents.ts";
import { Rhythm } from "./rhythm.ts";
import { findingsOf, isUntold } from "./rules.ts";
import { Samples } from "./samples.ts";
import type { Finding } from "./types.ts";
import { LOOK_FAILED, lookFailed, WEBHOOK_FAILING, webhookFinding } from "./watch-findings.ts";
import { WATCH_STEPS } from "./watch-schema.ts";
import { WebhookCalls, type WebhookDraft, type WebhookState } from "./webhook-calls.ts";

/** How long a look may take, in ms: longer than whoever gathers needs at most, and less than the cron gives. */
const LOOK_MS = 22_000;

/** A look so young, in ms, is as good as another: whoever asks in a loop asks the rest of the service no more often. Overridden by tests that do. */
export const FRESH = { ms: 10_000 };

/** A look that was only asked for counts for incidents if the last one that did is so long ago, in ms. */
const COUNTS_MS = 30_000;

/** How many looks on end have to fail until that itself is found. */
const FAILED_LOOKS = 2;

/** How long the cron waits for calls, in ms; they go on. */
const SEND_WAIT_MS = 3_000;

/** Calls are made, and their alarm is set, for as long as one may take and more, in ms, in case that this object does not live to set it. */
const SENDING_MS = 60_000;

/** Where somebody wants to be told, it looks by itself if no cron came for so long, in ms: twice its five minutes, and a minute. */
const NO_CRON_MS = 11 * 60_000;

/** Tests of the webhook are so far apart, in ms: whoever may make them has no business to make somebody else's server busy. */
const TEST_EVERY_MS = 5_000;

/** What it finds by itself. */
const OWN_KINDS: ReadonlySet<string> = new Set([LOOK_FAILED, WEBHOOK_FAILING]);

/** What somebody sees who looks. */
export interface Seen {
  readonly findings: readonly Finding[];
  /** As of {@link Look}. */
  isBlind(finding: Finding): boolean;
}

/** A look as it is shown. */
export interface Sight {
  checkedMs: number;
  /** Each since the time from which on it is known: `sinceMs` is a number in all of them. */
  findings: Finding[];
}

/** Looks at everything, remembers since when what is wrong, and tells whoever wants to be told. */
export class Watch extends DurableObject<Env> {
  readonly #alarm: Alarm;
  readonly #memory: WatchMemory;
  readonly #calls: WebhookCalls;
  readonly #incidents: IncidentRows;
  #latest: Sight | null = null;
  #looking: Promise<Sight | null> | null = null;
  #countedMs = Number.NEGATIVE_INFINITY;
  #failedLooks = 0;
  #testedMs = Number.NEGATIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    migrate(ctx.storage, WATCH_STEPS);
    const { sql } = ctx.storage;
    this.#alarm = new Alarm(ctx.storage);
    this.#memory = { samples: new Samples(sql), rhythm: new Rhythm(sql) };
    this.#calls = new WebhookCalls(ctx.storage, env, platform);
    this.#incidents = new IncidentRows(sql, this.#calls);
  }

  /** What there is to be seen now. Tests say instead what it is. */
  async see(): Promise<Seen> {
    const facts = await gather(this.env, this.#memory, platform);
    const findings = findingsOf(facts);
    const isSilent = findings.some(({ kind }) => kind.endsWith("_silent"));
    return {
      findings,
      isBlind: ({ subject, kind }) => (kind === MORE ? isSilent : isUntold(facts, subject, kind)),
    };
  }

  /** From the cron: one look, and the calls that are due. Never throws: a look that fails is a line, and a finding when the next one fails as well. */
  async check(): Promise<void> {
    await this.#look(true);
    const sending = this.#sendDue();
    this.ctx.waitUntil(sending);
    await within(SEND_WAIT_MS, sending, undefined);
  }

  /** What is wrong now; null: that cannot be told. */
  async look(): Promise<Sight | null> {
    const age = this.#latest === null ? Number.NaN : platform.now() - this.#latest.checkedMs;
    if (this.#latest !== null && age >= 0 && age < FRESH.ms) return this.#latest;
    return this.#look(false);
  }

  /** Incidents, those that go on first, then the latest. */
  incidents(limit: number): PastIncident[] {
    return this.#incidents.list(limit);
  }

  /** null: there is none. */
  webhook(): WebhookState | null {
    return this.#calls.state();
  }

  /**
   * Keeps a webhook. Whoever was not called before is told of every incident that goes on.
   * @param basedOn the mark of the one that it was made from; null: there was none.
   * @param moved it has another address than that one.
   * @returns whether it is kept; false: somebody else was faster.
   */
  putWebhook(basedOn: string | null, draft: WebhookDraft, moved: boolean): boolean {
    return this.#alarm.transaction(() => {
      const before = this.#calls.state();
      if ((before?.mark ?? null) !== basedOn) return false;
      this.#calls.put(draft);
      if (moved || before === null || !before.enabled) this.#incidents.untold();
      this.#incidents.tell(platform.now());
      this.#arm();
      return true;
    });
  }

  /** Forgets the webhook. @returns whether there was one. */
  deleteWebhook(): boolean {
    return this.ctx.storage.transactionSync(() => this.#calls.remove());
  }

  /** Whether the webhook may be tested now; if so, not again for a while. */
  testTurn(): boolean {
    const now = platform.now();
    if (Math.abs(now - this.#testedMs) < TEST_EVERY_MS) return false;
    this.#testedMs = now;
    return true;
  }

  /** Looks again at what is suspected, and makes the calls that are due. It must not throw: such an alarm is forgotten after six tries. */
  override async alarm(): Promise<void> {
    this.#alarm.cleared();
    try {
      const now = platform.now();
      const overdue = this.#lookDueMs(now);
      if (isDue(this.#incidents.tracked(), now) || (overdue !== null && overdue <= now)) await this.#look(true);
    } catch (error) {
      failed(error);
    }
    await this.#sendDue();
  }

  /** One at a time: whoever comes meanwhile gets what that one sees. @param counts for incidents, whenever the last one did. */
  #look(counts: boolean): Promise<Sight | null> {
    this.#looking ??= this.#lookNow(counts).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookNow(counts: boolean): Promise<Sight | null> {
    try {
      const seen = await answered("everything", LOOK_MS, this.see());
      const sight = this.#take(seen, counts);
      this.#failedLooks = 0;
      return sight;
    } catch (error) {
      log.error("a look at everything failed", { durable_object: "Watch", error: errorText(error) });
    }
    this.#failedLooks += 1;
    try {
      if (this.#failedLooks >= FAILED_LOOKS) this.#take({ findings: [lookFailed()], isBlind: () => true }, true);
    } catch (error) {
      failed(error);
    }
    this.#latest = null;
    return null;
  }

  #take(seen: Seen, counts: boolean): Sight {
    const now = platform.now();
    const own = webhookFinding(this.#calls.state(), this.#calls.opens(), now);
    const findings = own === null ? seen.findings : [...seen.findings, own];
    // Of itself and of the webhook it can always tell.
    const isBlind = (finding: Finding): boolean => !OWN_KINDS.has(finding.kind) && seen.isBlind(finding);
    const look: Look = { atMs: now, findings, isBlind };
    const age = now - this.#countedMs;
    const tracked =
      counts || age >= COUNTS_MS || age < 0
        ? this.#alarm.transaction(() => this.#count(look))
        : this.#incidents.tracked();
    const since = new Map(tracked.map((each) => [keyOf(each.finding), each.sinceMs]));
    const shown = findings.map((finding) => ({
      ...finding,
      sinceMs: since.get(keyOf(finding)) ?? finding.sinceMs ?? now,
    }));
    this.#latest = { checkedMs: now, findings: shown };
    return this.#latest;
  }

  #count(look: Look): readonly Tracked[] {
    const before = this.#incidents.tracked();
    const step = advance(before, look, () => `inc_${crypto.randomUUID().replaceAll("-", "")}`);
    this.#incidents.keep(before, step, look.atMs);
    this.#countedMs = look.atMs;
    this.#arm(step.tracked);
    return step.tracked;
  }

  async #sendDue(): Promise<void> {
    await this.#calls.send().catch(failed);
    try {
      this.#arm();
    } catch (error) {
      failed(error);
    }
  }

  /**
   * When it looks though no cron has come, in ms since the epoch: a cron that is gone would have nobody told of anything. null: nobody wants to be told. Who
   * has just begun to live does not know when it last looked, and looks with the next alarm.
   */
  #lookDueMs(nowMs: number): number | null {
    return this.#calls.wanted() ? Math.min(this.#countedMs, nowMs) + NO_CRON_MS : null;
  }

  /** Sets the alarm to when there is something to do next. */
  #arm(tracked: readonly Tracked[] = this.#incidents.tracked()): void {
    const now = platform.now();
    const due = this.#calls.isSending() ? now + SENDING_MS : this.#calls.dueMs();
    const look = this.#lookDueMs(now);
    // A look that is overdue has just failed.
    const again = look !== null && look <= now ? now + NO_CRON_MS : look;
    this.#alarm.set(
      Math.min(...[confirmMs(tracked, now), due, again].map((ms) => ms ?? Number.POSITIVE_INFINITY)),
      now,
    );
  }
}

/** The watch goes on with the next alarm, or cron. */
function failed(error: unknown): void {
  log.error("the watch failed", { durable_object: "Watch", error: errorText(error) });
}

/** The one watch of the account. */
export function watch(namespace: DurableObjectNamespace<Watch>): DurableObjectStub<Watch> {
  return namespace.getByName("watch");
}
