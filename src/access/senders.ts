import { toHex } from "../bytes.ts";
import { SENDER_MEMORY_MS, SENDERS_MAX } from "../limits.ts";
import type { Known, Proof } from "./register.ts";

/**
 * Who this isolate has seen to be allowed to send events, and when: believed for a few minutes when the register does not answer, so that its
 * trouble costs no event. Never asked while the register answers: what is revoked there is forgotten here.
 */
export class Senders {
  readonly #seen = new Map<string, { known: Known; atMs: number }>();

  /** What the register has just said of a proof. */
  learn(proof: Proof, known: Known | null, nowMs: number): void {
    const key = keyOf(proof);
    // The map is in the order of sight: the first is the one that was seen longest ago.
    this.#seen.delete(key);
    if (known === null || !known.permissions.includes("events:write")) return;
    this.#seen.set(key, { known: { ...known, permissions: ["events:write"] }, atMs: nowMs });
    if (this.#seen.size <= SENDERS_MAX) return;
    const [oldest] = this.#seen.keys();
    if (oldest !== undefined) this.#seen.delete(oldest);
  }

  /** Whoever gave this proof a few minutes ago, with nothing but the permission to send events; null: it was not seen. */
  recall(proof: Proof, nowMs: number): Known | null {
    const seen = this.#seen.get(keyOf(proof));
    if (seen === undefined || Math.abs(nowMs - seen.atMs) > SENDER_MEMORY_MS) return null;
    const { expiresMs } = seen.known;
    return expiresMs !== null && expiresMs <= nowMs ? null : seen.known;
  }
}

function keyOf(proof: Proof): string {
  return proof.kind === "token" ? `token ${toHex(proof.hash)}` : `key ${toHex(proof.hash)} ${proof.email}`;
}
