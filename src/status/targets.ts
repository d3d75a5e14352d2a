import type { Platform } from "../platform.ts";
import { AlertCalls } from "./alert-calls.ts";
import { WEBHOOK } from "./kinds.ts";
import type { TargetDraft, WebhookState } from "./receiver-state.ts";
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
  readonly #open: (at: { id: number; place: number }) => AlertCalls;
  /** By id. */
  readonly #targets = new Map<number, AlertCalls>();

  constructor(storage: DurableObjectStorage, env: object, platform: Pick<Platform, "now" | "random" | "fetch">) {
    this.#sql = storage.sql;
    this.#open = (at) => new AlertCalls(at, storage, env, platform);
    this.webhook = this.#open({ id: WEBHOOK, place: WEBHOOK });
    for (const at of this.#sql.exec<{ id: number; place: number }>("SELECT number AS id, id AS place FROM target"))
      this.#targets.set(at.id, this.#open(at));
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
    const taken = new Set([...this.#targets.values()].map(({ place }) => place));
    for (let place = WEBHOOK + 1; place <= WEBHOOK + TARGETS_MAX; place++) {
      if (taken.has(place)) continue;
      const calls = this.#open({ id: this.#nextId(), place });
      this.#targets.set(calls.id, calls);
      return calls;
    }
    return null;
  }

  /** An id that no target has had. */
  #nextId(): number {
    return this.#sql
      .exec<{ id: number }>("UPDATE target_number SET highest = highest + 1 RETURNING highest AS id")
      .one().id;
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

  /** What is wrong with each receiver that fails. */
  findings(nowMs: number): Finding[] {
    return this.all().flatMap((calls) => webhookFinding(calls.id, calls.state(), calls.opens(), nowMs) ?? []);
  }
}
