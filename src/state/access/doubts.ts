import { DOUBTS_NONE_MS, DOUBTS_PER_S, SENDERS_MAX } from "../../base/limits.ts";
import { dropOldest } from "./proofs.ts";

/**
 * `refuse`: no such secret was issued. `later`: too many such secrets came in this second; whether
 * this one was issued is unknown.
 */
export type Verdict = "ask" | "refuse" | "later";

/**
 * What an isolate does with secrets of our form whose check part its keys do not prove: invented
 * ones, and those of a lost SECRETS_KEY. If none of the latter exist, all are refused without
 * asking. Otherwise only so many a second are asked
 * about; those that were found good are always asked about, and never believed without.
 */
export class Doubts {
  readonly #good = new Set<string>();
  /** When the register said that there are none, in ms since the epoch, by the keys it was for. */
  readonly #none = new Map<string, number>();
  #second = 0;
  #asked = 0;

  /** Whether it was found good before. @param proof from `proofKey`. */
  wasGood(proof: string): boolean {
    return this.#good.has(proof);
  }

  /**
   * @param proof from `proofKey`.
   * @param keys ids of the keys that did not prove it.
   */
  judge(proof: string, keys: readonly string[], nowMs: number): Verdict {
    const noneMs = this.#none.get(keys.join());
    if (noneMs !== undefined && Math.abs(nowMs - noneMs) < DOUBTS_NONE_MS) return "refuse";
    if (this.#good.has(proof)) return "ask";
    const second = Math.floor(nowMs / 1_000);
    if (second !== this.#second) [this.#second, this.#asked] = [second, 0];
    this.#asked += 1;
    return this.#asked <= DOUBTS_PER_S ? "ask" : "later";
  }

  /**
   * Takes an answer to a question about such a secret.
   * @param isGood whether it is one of a token or member.
   * @param exist whether there are any such secrets.
   */
  learn(proof: string, keys: readonly string[], isGood: boolean, exist: boolean, nowMs: number): void {
    this.#good.delete(proof);
    // Deployments change keys, so there are only a few sets of them in an isolate.
    if (exist) this.#none.delete(keys.join());
    else this.#none.set(keys.join(), nowMs);
    if (!isGood) return;
    this.#good.add(proof);
    dropOldest(this.#good, SENDERS_MAX);
  }
}
