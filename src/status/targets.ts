import type { Platform } from "../platform.ts";
import { AlertCalls, type TargetDraft, WEBHOOK, type WebhookState } from "./alert-calls.ts";
import type { Finding } from "./types.ts";
import { webhookFinding } from "./watch-findings.ts";

/** Targets at most, beside the webhook. Each has a bit of `incident.told`. */
export const TARGETS_MAX = 10;

/** A target as stored. */
export type TargetState = WebhookState & { id: number };

/**
 * All receivers of alerts: the webhook, and the targets beside it. Each has its own calls and its
 * own rest: one that hangs or fails holds up no other.
 */
export class Targets {
  readonly webhook: AlertCalls;
  readonly #sql: SqlStorage;
  readonly #open: (id: number) => AlertCalls;
  readonly #targets = new Map<number, AlertCalls>();

  constructor(storage: DurableObjectStorage, env: object, platform: Pick<Platform, "now" | "random" | "fetch">) {
    this.#sql = storage.sql;
    this.#open = (id) => new AlertCalls(id, storage, env, platform);
    this.webhook = this.#open(WEBHOOK);
    for (const { id } of this.#sql.exec<{ id: number }>("SELECT id FROM target").toArray())
      this.#targets.set(id, this.#open(id));
  }

  /** The webhook first, then by id. */
  all(): AlertCalls[] {
    return [this.webhook, ...[...this.#targets].sort(([a], [b]) => a - b).map(([, calls]) => calls)];
  }

  list(): TargetState[] {
    return this.all()
      .slice(1)
      .flatMap((calls) => {
        const state = calls.state();
        return state === null ? [] : [{ id: calls.id, ...state }];
      });
  }

  /**
   * Stores a target. Call in a transaction.
   * @param id null: a new one. @returns null: there are too many, or none of the id.
   */
  put(id: number | null, draft: TargetDraft): AlertCalls | null {
    const calls = id === null ? this.#new() : this.#targets.get(id);
    calls?.putTarget(draft);
    return calls ?? null;
  }

  #new(): AlertCalls | null {
    for (let id = WEBHOOK + 1; id <= WEBHOOK + TARGETS_MAX; id++) {
      if (this.#targets.has(id)) continue;
      const calls = this.#open(id);
      this.#targets.set(id, calls);
      return calls;
    }
    return null;
  }

  /** Call in a transaction. @returns whether there was one. */
  remove(id: number): boolean {
    const calls = this.#targets.get(id);
    this.#targets.delete(id);
    return calls?.remove() ?? false;
  }

  target(id: number): AlertCalls | null {
    return this.#targets.get(id) ?? null;
  }

  /** Whether any is on. */
  wanted(): boolean {
    return this.all().some((calls) => calls.wanted());
  }

  isSending(): boolean {
    return this.all().some((calls) => calls.isSending());
  }

  /** When the next call is due, in ms since the epoch; null: no calls. */
  dueMs(): number | null {
    const due = this.all().flatMap((calls) => calls.dueMs() ?? []);
    return due.length === 0 ? null : Math.min(...due);
  }

  /** Makes the calls that are due, of all receivers side by side. */
  async send(): Promise<void> {
    await Promise.all(this.all().map((calls) => calls.send()));
  }

  /** What is wrong with the first receiver that fails; null: none does. */
  finding(nowMs: number): Finding | null {
    for (const calls of this.all()) {
      const finding = webhookFinding(calls.state(), calls.opens(), nowMs);
      if (finding !== null) return finding;
    }
    return null;
  }
}
