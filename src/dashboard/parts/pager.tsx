import type { FC } from "hono/jsx";
import { count } from "./values.tsx";

/** What a query asks for; the first page where that is no number. @param name of the parameter. */
export function pageOf(query: URLSearchParams, name = "page"): number {
  const text = query.get(name) ?? "1";
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : 1;
}

/**
 * The way through a list that has more than one page; nothing, where it has not.
 * @param of what is listed, in the plural.
 * @param here path and query of the page; all of the query stays but the number.
 * @param name of the parameter that has the number.
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
        {from > total ? `There are ${count(total)} ${of} only` : `${count(from)} to ${count(until)} of ${count(total)}`}
      </span>
      {page < last && (
        <a href={to(page + 1)} rel="next">
          Next<span class="unseen"> {of}</span>
        </a>
      )}
    </nav>
  );
};
