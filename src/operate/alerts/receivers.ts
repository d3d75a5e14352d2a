import type { Platform } from "../../base/platform.ts";
import { Sql } from "../../base/storage/sql.ts";
import type { Finding } from "../status/finding.ts";
import { WEBHOOK } from "../status/kinds.ts";
import { AlertCalls, insertReceiver } from "./alert-calls.ts";
import type { ReceiverDraft, ReceiverState } from "./receiver-state.ts";
import { webhookFinding } from "./watch-findings.ts";

/** Receivers at most, beside the webhook. */
export const RECEIVERS_MAX = 10;

/**
 * All receivers of alerts, of which the webhook is one. Each has its own calls and its own rest:
 * one that hangs or fails holds up no other.
 */
export class Receivers {
  readonly #sql: Sql;
  readonly #platform: Pick<Platform, "now">;
  readonly #open: (id: number) => AlertCalls;
  /** By id. */
  readonly #receivers = new Map<number, AlertCalls>();

  constructor(storage: DurableObjectStorage, env: object, platform: Pick<Platform, "now" | "random" | "fetch">) {
    this.#sql = new Sql(storage.sql);
    this.#platform = platform;
    this.#open = (id) => {
      const calls = new AlertCalls(id, storage, env, platform);
      this.#receivers.set(id, calls);
      return calls;
    };
    for (const { id } of this.#sql.all<{ id: number }>`SELECT id FROM receiver`) this.#open(id);
  }

  all(): AlertCalls[] {
    return [...this.#receivers.values()].sort((a, b) => a.id - b.id);
  }

  list(): ReceiverState[] {
    return this.all().flatMap((calls) => calls.state() ?? []);
  }

  /**
   * Adds a receiver. Call in a transaction.
   * @param id null: one that no receiver has had. @returns null: there are too many.
   */
  add(id: typeof WEBHOOK | null, draft: ReceiverDraft): AlertCalls | null {
    if (id === null && this.list().filter((each) => each.id !== WEBHOOK).length >= RECEIVERS_MAX) return null;
    const added = insertReceiver(this.#sql, id, draft, this.#platform.now());
    return this.#receivers.get(added) ?? this.#open(added);
  }

  /** Call in a transaction. @returns whether there was one. */
  remove(id: number): boolean {
    const calls = this.#receivers.get(id);
    // The webhook may be set again while a call is on its way, and its pass goes on.
    if (id !== WEBHOOK) this.#receivers.delete(id);
    return calls?.remove() ?? false;
  }

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
