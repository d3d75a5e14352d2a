import { Tables } from "../../base/storage/sql.ts";
import type { Given } from "../../ship/job/change.ts";
import { stampOf } from "../../ship/job/config.ts";
import type { AlertedSearch, SearchAlert } from "../../ship/job/searches.ts";

/** Searches that are kept, and those that may have an alert: each is matched with all records. */
export const SEARCHES_MAX = 200;
export const SEARCH_ALERTS_MAX = 50;

/** As its owner wrote it. */
export interface SearchDraft {
  name: string;
  query: string;
  /** null: it is none. */
  alert: SearchAlert | null;
}

export interface SavedSearch extends SearchDraft {
  id: number;
  /** Who made it: the kind of caller, and its id. */
  owner: string;
  ownerName: string;
  /** As of {@link AlertedSearch}. */
  stamp: string;
  sinceMs: number;
  createdMs: number;
  modifiedMs: number;
}

/** Part of the control plane: saved searches. Call methods that write in a transaction. */
export class SavedSearches extends Tables {
  list(): SavedSearch[] {
    const rows = this.sql.all<{ id: number; search: string }>`SELECT id, search FROM saved_search ORDER BY id`;
    return rows.map(({ id, search }) => ({ ...(JSON.parse(search) as Omit<SavedSearch, "id">), id }));
  }

  /** Those with an alert, as others need them. */
  alerted(): AlertedSearch[] {
    return this.list().flatMap(({ id, stamp, sinceMs, name, query, alert }) =>
      alert === null ? [] : [{ id, stamp, sinceMs, name, query, alert }],
    );
  }

  /** @param before null: a new one. @returns its id, or why there can be no such further one. */
  put(before: SavedSearch | null, draft: SearchDraft, by: SearchOwner, given: Given, nowMs: number): number | string {
    const others = this.list().filter(({ id }) => id !== before?.id);
    if (others.length >= SEARCHES_MAX) return `there are ${SEARCHES_MAX} saved searches; delete one of them`;
    if (draft.alert !== null && others.filter(({ alert }) => alert !== null).length >= SEARCH_ALERTS_MAX)
      return `${SEARCH_ALERTS_MAX} saved searches have an alert; take that of another one away`;
    const isCounted = before !== null && countedOf(draft) === countedOf(before);
    const { stamp, sinceMs } = isCounted ? before : { stamp: stampOf(given), sinceMs: nowMs };
    const { createdMs, owner, ownerName } = before ?? { createdMs: nowMs, ...by };
    return this.#keep({ ...draft, stamp, sinceMs, owner, ownerName, createdMs, modifiedMs: nowMs }, before?.id);
  }

  remove(id: number): void {
    this.sql.run`DELETE FROM saved_search WHERE id = ${id}`;
  }

  /** This storage was restored to an earlier time: what was counted since is of another stamp. */
  overtake(given: Given, nowMs: number): void {
    for (const { id, ...search } of this.list()) this.#keep({ ...search, stamp: stampOf(given), sinceMs: nowMs }, id);
  }

  #keep(search: Omit<SavedSearch, "id">, id: number | null = null): number {
    return this.sql.only`
      INSERT OR REPLACE INTO saved_search (id, search) VALUES (${id}, ${JSON.stringify(search)}) RETURNING id`;
  }
}

export type SearchOwner = Pick<SavedSearch, "owner" | "ownerName">;

/** All that decides what is counted. */
function countedOf({ query, alert }: Pick<SearchDraft, "query" | "alert">): string {
  return JSON.stringify([query, alert && [alert.measure.op, alert.measure.of ?? null, alert.overMs]]);
}
