import type { FC } from "hono/jsx";
import { QUERY_MAX_UNITS } from "../../../../base/limits.ts";
import { parseFilter } from "../../../../formats/filter/parse.ts";
import { filterAsQuery } from "../../../../formats/query/show.ts";
import { EXTRA_FIELDS } from "../../../../formats/record/fields.ts";
import { isMasked } from "../../../../ship/destinations/parse.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { State } from "../../parts/panel.tsx";
import { searchPath } from "../search/address.ts";

/** A masked destination without its keys. "": no key decrypts it. */
export const Destination: FC<{ conf: string }> = ({ conf }) =>
  conf === "" ? (
    <State kind="bad">cannot be decrypted</State>
  ) : (
    <Foreign as="code" text={withoutKeys(conf)} max={1_024} />
  );

function withoutKeys(conf: string): string {
  const [place = "", query = ""] = conf.split("?", 2);
  const kept = query.split("&").filter((pair) => pair !== "" && !isMasked(`x?${pair}`));
  return kept.length === 0 ? place : `${place}?${kept.join("&")}`;
}

/** As a query that finds what it keeps, and as JSON. */
export const FilterText: FC<{ filter: string | null | undefined; job: number }> = ({ filter, job }) => {
  const read = parseFilter(filter ?? "", EXTRA_FIELDS);
  if (filter == null || filter === "") return null;
  const q = read.ok && read.filter !== null ? filterAsQuery(read.filter) : "";
  return (
    <details>
      <summary>Filter</summary>
      {q !== "" && (
        <p>
          As a search: <Foreign as="code" text={q} max={QUERY_MAX_UNITS} />{" "}
          {q.length <= QUERY_MAX_UNITS && <a href={searchPath({ q, job: `${job}`, last: "1h" })}>Search with it</a>}
        </p>
      )}
      <Foreign as="pre" class="whole" text={filter} max={8_192} />
    </details>
  );
};
