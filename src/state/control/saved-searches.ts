import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import type { Given } from "../../ship/job/change.ts";
import { stampOf } from "../../ship/job/config.ts";
import type { AlertedSearch, SearchAlert } from "../../ship/job/searches.ts";
import type { CONTROL_STEPS } from "./control-migrations.ts";

/** Searches that are kept, and those of them that may have an alert: each is matched with each record. */
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

type SearchRow = RowOf<typeof CONTROL_STEPS, "saved_search">;

/** Part of the control plane: saved searches. Call methods that write in a transaction. */
export class SavedSearches extends Tables {
  list(): SavedSearch[] {
    return this.sql.all<SearchRow>`SELECT * FROM saved_search ORDER BY id`.map(searchOf);
  }

  get(id: number): SavedSearch | null {
    const row = this.sql.first<SearchRow>`SELECT * FROM saved_search WHERE id = ${id}`;
    return row === null ? null : searchOf(row);
  }

  /** Why there can be no such further one; null: there can. @param id of the one in its place. */
  refusal({ alert }: SearchDraft, id: number | null): string | null {
    const others = this.list().filter((each) => each.id !== id);
    if (others.length >= SEARCHES_MAX) return `there are ${SEARCHES_MAX} saved searches; delete one of them`;
    if (alert === null || others.filter((each) => each.alert !== null).length < SEARCH_ALERTS_MAX) return null;
    return `${SEARCH_ALERTS_MAX} saved searches have an alert; take that of another one away`;
  }

  /** @returns its id. */
  create({ name, query, alert }: SearchDraft, by: Pick<SavedSearch, "owner" | "ownerName">, given: Given, ms: number) {
    const times = { sinceMs: ms, createdMs: ms, modifiedMs: ms };
    const texts = { name, query, alert: alert && JSON.stringify(alert), stamp: stampOf(given) };
    this.sql.insert("saved_search", { ...by, ...texts, ...times });
    return this.sql.only<number>`SELECT max(id) FROM saved_search`;
  }

  update(before: SavedSearch, { name, query, alert }: SearchDraft, given: Given, nowMs: number): void {
    const isCounted = countedOf({ query, alert }) === countedOf(before);
    const { stamp, sinceMs } = isCounted ? before : { stamp: stampOf(given), sinceMs: nowMs };
    const texts = { name, query, alert: alert && JSON.stringify(alert), stamp };
    this.sql.update("saved_search", before.id, { ...texts, since_ms: sinceMs, modified_ms: nowMs });
  }

  remove(id: number): void {
    this.sql.run`DELETE FROM saved_search WHERE id = ${id}`;
  }

  /** This storage was restored to an earlier time: what was counted since is of another stamp. */
  overtake(given: Given, nowMs: number): void {
    this.sql.run`UPDATE saved_search SET stamp = ${stampOf(given)}, since_ms = ${nowMs}`;
  }

  /** Those with an alert, as others need them. */
  alerted(): AlertedSearch[] {
    return this.list().flatMap(({ id, stamp, sinceMs, name, query, alert }) =>
      alert === null ? [] : [{ id, stamp, sinceMs, name, query, alert }],
    );
  }
}

/** All that decides what is counted. */
function countedOf({ query, alert }: Pick<SearchDraft, "query" | "alert">): string {
  return JSON.stringify([query, alert && [alert.measure.op, alert.measure.of ?? null, alert.overMs]]);
}

function searchOf(row: SearchRow): SavedSearch {
  const { id, owner, name, query, stamp } = row;
  return {
    ...{ id, owner, ownerName: row.owner_name, name, query, stamp, sinceMs: row.since_ms },
    alert: row.alert === null ? null : (JSON.parse(row.alert) as SearchAlert),
    ...{ createdMs: row.created_ms, modifiedMs: row.modified_ms },
  };
}
