import type { Platform } from "../../base/platform.ts";
import { Sql } from "../../base/storage/sql.ts";
import { AlertCalls } from "./alert-calls.ts";
import type { Finding } from "./finding.ts";
import { WEBHOOK } from "./kinds.ts";
import type { ReceiverState } from "./receiver-state.ts";
import { webhookFinding } from "./watch-findings.ts";

/** Targets at most, beside the webhook. Each has a bit of `incident.told`. */
export const TARGETS_MAX = 10;

/**
 * All receivers of alerts: the webhook, and the targets beside it. Each has its own calls and its
 * own rest: one that hangs or fails holds up no other.
 */
export class Targets {
  readonly #sql: Sql;
  readonly #open: (at: { id: number; place: number }) => AlertCalls;
  /** By id: the webhook first, then the targets in the order of their ids. */
  readonly #receivers = new Map<number, AlertCalls>();

  constructor(storage: DurableObjectStorage, env: object, platform: Pick<Platform, "now" | "random" | "fetch">) {
    this.#sql = new Sql(storage.sql);
    this.#open = (at) => {
      const calls = new AlertCalls(at, storage, env, platform);
      this.#receivers.set(at.id, calls);
      return calls;
    };
    this.#open({ id: WEBHOOK, place: WEBHOOK });
    type At = { id: number; place: number };
    const stored = this.#sql.all<At>`SELECT number AS id, id AS place FROM target ORDER BY number`;
    for (const at of stored) this.#open(at);
  }

  all(): AlertCalls[] {
    return [...this.#receivers.values()];
  }

  /** The targets, without the webhook. */
  list(): ReceiverState[] {
    return this.all().flatMap((calls) => (calls.id === WEBHOOK ? [] : (calls.state() ?? [])));
  }

  /** Room for a new target. Call in a transaction. @returns null: there are too many. */
  add(): AlertCalls | null {
    const taken = new Set(this.all().map(({ place }) => place));
    for (let place = WEBHOOK + 1; place <= WEBHOOK + TARGETS_MAX; place++)
      if (!taken.has(place)) return this.#open({ id: this.#nextId(), place });
    return null;
  }

  /** An id that no target has had. */
  #nextId(): number {
    return this.#sql.only`UPDATE target_number SET highest = highest + 1 RETURNING highest`;
  }

  /** Call in a transaction. @returns whether there was one. */
  remove(id: number): boolean {
    const calls = this.#receivers.get(id);
    if (id !== WEBHOOK) this.#receivers.delete(id);
    return calls?.remove() ?? false;
  }

  /** @param id {@link WEBHOOK}, or that of a target. */
  of(id: number): AlertCalls | null {
    return this.#receivers.get(id) ?? null;
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
    return this.all().flatMap((calls) => webhookFinding(calls.state(), calls.opens(), nowMs) ?? []);
  }
}
