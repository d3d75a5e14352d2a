import { SEARCH_LEASE_MS, SEARCHES_AT_ONCE } from "../../base/limits.ts";

/**
 * How many searches each caller has under way, in memory: what is lost with the object only lets a
 * caller begin one more.
 */
export class SearchSlots {
  /** When each began, by search, by caller. */
  readonly #begun = new Map<string, Map<string, number>>();

  /** @returns whether the search may begin. */
  take(caller: string, search: string, nowMs: number): boolean {
    const own = this.#begun.get(caller) ?? new Map<string, number>();
    // The end of one whose client is gone may never be told.
    for (const [id, atMs] of own) if (Math.abs(nowMs - atMs) >= SEARCH_LEASE_MS) own.delete(id);
    if (own.size >= SEARCHES_AT_ONCE) return false;
    own.set(search, nowMs);
    this.#begun.set(caller, own);
    return true;
  }

  free(caller: string, search: string): void {
    const own = this.#begun.get(caller);
    own?.delete(search);
    if (own?.size === 0) this.#begun.delete(caller);
  }
}
