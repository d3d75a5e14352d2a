import { SENDER_MEMORY_MS, SENDERS_MAX } from "../../base/limits.ts";
import { dropOldest, isOver, type Known, type Proof, proofKey } from "./proofs.ts";

/**
 * Proofs that this isolate has seen to be allowed to send events. They are believed for a few
 * minutes while the register does not answer, so that its failure costs no event. While it answers,
 * it alone decides, and a proof revoked there is forgotten here.
 */
export class Senders {
  readonly #seen = new Map<string, { known: Known; atMs: number }>();

  /** Takes what the register has just answered for a proof. */
  learn(proof: Proof, known: Known | null, nowMs: number): void {
    const key = proofKey(proof);
    // The latest is the last one in the map.
    this.#seen.delete(key);
    if (known === null || !known.permissions.includes("events:write")) return;
    this.#seen.set(key, { known: { ...known, permissions: ["events:write"] }, atMs: nowMs });
    dropOldest(this.#seen, SENDERS_MAX);
  }

  /**
   * The owner of a proof seen a few minutes ago, with the permission to send events only; null: not
   * seen.
   */
  recall(proof: Proof, nowMs: number): Known | null {
    const seen = this.#seen.get(proofKey(proof));
    if (seen === undefined || Math.abs(nowMs - seen.atMs) > SENDER_MEMORY_MS) return null;
    return isOver(seen.known.expiresMs, nowMs) ? null : seen.known;
  }
}
