import type { Child, FC } from "hono/jsx";
import { count } from "../../../base/words.ts";
import type { ListInfo } from "../inner-api.ts";
import type { PageContext } from "../page.ts";

/** The page that a query asks for; 1 if invalid. */
export function pageOf(query: URLSearchParams, name = "page"): number {
  const text = query.get(name) ?? "1";
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1;
}

/** A page of a list of the API. */
export interface Paged<T> {
  items: readonly T[];
  info: ListInfo;
  /** From 1. */
  page: number;
  /** Links to the other pages. */
  pager: Child;
}

/**
 * The page of a list that the address asks for.
 * @param path of its route. @param of what is listed, in the plural.
 * @param more of the query. @param name of the parameter with the page number.
 */
export async function paged<T>(
  { api, query, here }: Pick<PageContext, "api" | "query" | "here">,
  path: string,
  {
    of,
    perPage,
    more = {},
    name = "page",
  }: { of: string; perPage: number; more?: Record<string, string>; name?: string },
): Promise<Paged<T>> {
  const page = pageOf(query, name);
  const { items, info } = await api.list<T>(path, { ...more, page, per_page: perPage });
  const pager = <Pager {...{ of, here, page, perPage, name }} total={info.total_count} />;
  return { items, info, page, pager };
}

/**
 * Links to the previous and next page; nothing for a single page.
 * @param of what is listed, in the plural.
 * @param here path and query of the page; only the page number changes.
 * @param name of the parameter with the page number.
 */
export const Pager: FC<{
  of: string;
  here: string;
  page: number;
  perPage: number;
  total: number;
  name?: string;
}> = ({ of, here, page, perPage, total, name = "page" }) => {
  const last = Math.max(1, Math.ceil(total / perPage));
  if (last === 1 && page === 1) return null;
  const to = (number: number): string => {
    const [path = "", query = ""] = here.split("?", 2);
    const params = new URLSearchParams(query);
    params.set(name, `${number}`);
    return `${path}?${params}`;
  };
  const [from, until] = [(page - 1) * perPage + 1, Math.min(total, page * perPage)];
  return (
    <nav class="pager" aria-label={`Pages of ${of}`}>
      {page > 1 && (
        <a href={to(Math.min(page - 1, last))} rel="prev">
          Previous<span class="unseen"> {of}</span>
        </a>
      )}
      <span class="quiet">
        {from > total ? `Only ${count(total)} ${of}` : `${count(from)} to ${count(until)} of ${count(total)}`}
      </span>
      {page < last && (
        <a href={to(page + 1)} rel="next">
          Next<span class="unseen"> {of}</span>
        </a>
      )}
    </nav>
  );
};
