/** Saved searches: a list, a form for each, and what its alert counts. */
import type { Child, FC } from "hono/jsx";
import { QUERY_MAX_UNITS } from "../../../../base/limits.ts";
import { count, dollars, plural } from "../../../../base/words.ts";
import type { CountedSearch } from "../../../api/docs/searches.ts";
import { formPage, type Page, type PageAnswer, type PageContext, pathOf, seeOther, type View } from "../../page.ts";
import { type Faults, faultsOf, NO_FAULTS, RestOf, unnamed } from "../../parts/faults.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import { Field, Form, Select, Submit } from "../../parts/form.tsx";
import { Empty, Facts, Notice, Panel, Table } from "../../parts/panel.tsx";
import { deletePage, type Question } from "../../parts/question.tsx";
import { Time } from "../../parts/values.tsx";
import { searchPath } from "../search/address.ts";
import { alertWords, MEASURES, SEARCHES_AT, Standing, spanWords } from "./words.tsx";

const TRAIL = [{ href: "/search", label: "Search" }];
const BELOW = [...TRAIL, { href: SEARCHES_AT, label: "Saved searches" }];

export const savedSearchPages: readonly Page[] = [
  { path: SEARCHES_AT, get: { permission: "logs:read", show: listView } },
  formPage(`${SEARCHES_AT}/new`, "logs:read", async (page) => newView(page, page.query), create),
  formPage(`${SEARCHES_AT}/:search_id`, "logs:read", (page) => oneView(page), change),
  deletePage(`${SEARCHES_AT}/:search_id/delete`, "logs:read", askToDelete, routeOf, `${SEARCHES_AT}?deleted`),
];

function routeOf({ params }: PageContext): string {
  return `/logship/searches/${encodeURIComponent((params.search_id ?? "").toWellFormed())}`;
}

async function listView({ api, query }: PageContext): Promise<View> {
  const { items } = await api.list<CountedSearch>("/logship/searches");
  const add = (
    <a class="button small" href={`${SEARCHES_AT}/new`}>
      Save a search
    </a>
  );
  return {
    title: "Saved searches",
    trail: TRAIL,
    parts: [
      query.has("deleted") && <Notice kind="ok" title="Deleted" />,
      <Panel id="all" title="Searches and their alerts" isMain aside={add}>
        {items.length === 0 ? (
          <Empty title="No saved searches">
            <p>Save what you look for often. With a threshold, it is an alert: counted as records arrive.</p>
          </Empty>
        ) : (
          <Table
            caption="Saved searches"
            columns={["Name", "Query", "Alert", "Now", "Owner", ""]}
            rows={items.map(cells)}
          />
        )}
      </Panel>,
    ],
  };
}

function cells(search: CountedSearch): Child[] {
  const { id, name, query, alert, owner } = search;
  return [
    <a href={`${SEARCHES_AT}/${id}`}>
      <Foreign text={name} max={120} />
    </a>,
    <SearchLink query={query} />,
    alert === null ? "" : <Foreign text={alertWords(alert)} max={300} />,
    <Standing of={search} />,
    <Foreign text={owner} max={120} />,
    <a href={`${SEARCHES_AT}/${id}/delete`}>
      Delete<span class="unseen"> {visible(name)}</span>
    </a>,
  ];
}

const SearchLink: FC<{ query: string }> = ({ query }) => (
  <a href={searchPath({ q: query, last: "24h" })}>
    {query === "" ? "every record" : <Foreign text={query} max={200} as="code" />}
  </a>
);

function newView({ viewer }: PageContext, form: URLSearchParams, faults = NO_FAULTS, status = 200): View {
  return {
    title: "Save a search",
    status,
    trail: BELOW,
    parts: [
      <RestOf faults={faults} title="Not saved" />,
      <Panel id="settings" title="Search">
        <Form viewer={viewer} action={`${SEARCHES_AT}/new`} label="Save a search">
          <Fields form={form} faults={faults} />
          <Submit label="Save" back={SEARCHES_AT} />
        </Form>
      </Panel>,
    ],
  };
}

async function oneView(
  page: PageContext,
  sent: URLSearchParams | null = null,
  faults = NO_FAULTS,
  status = 200,
): Promise<View> {
  const search = await page.api.get<CountedSearch>(routeOf(page));
  const { id, name } = search;
  return {
    title: name,
    status,
    trail: BELOW,
    parts: [
      page.query.has("saved") && sent === null && <Notice kind="ok" title="Saved" />,
      <RestOf faults={faults} title="Not saved" />,
      <About of={search} />,
      <Panel id="settings" title="Settings">
        <Form viewer={page.viewer} action={`${SEARCHES_AT}/${id}`} label="Saved search">
          <Fields form={sent ?? entered(search)} faults={faults} />
          <Submit label="Save" back={SEARCHES_AT}>
            <a href={`${SEARCHES_AT}/${id}/delete`}>Delete</a>
          </Submit>
        </Form>
      </Panel>,
    ],
  };
}

const About: FC<{ of: CountedSearch }> = ({ of }) => {
  const { query, alert, counts, owner, cost } = of;
  const rows: [string, Child][] = [
    ["Query", <SearchLink query={query} />],
    ["Owner", <Foreign text={owner} max={120} />],
    ["Now", <Standing of={of} />],
  ];
  if (alert !== null) rows.push(["Alert", <Foreign text={alertWords(alert)} max={300} />]);
  if (counts !== null)
    rows.push([
      "Counted",
      <>
        {count(counts.total)} since <Time at={counts.since} />
        {counts.silent_shards.length > 0 && `. Missing: ${plural(counts.silent_shards.length, "shard")} not answering.`}
      </>,
    ]);
  if (cost !== null) rows.push(["Cost", `about ${dollars(cost.usd_per_million_events)} a million events`]);
  return (
    <Panel id="about" title="Search">
      <Facts rows={rows} />
      <p class="ways">
        <a href={searchPath({ q: query, last: "24h" })}>Show its records of the last day</a>
        {alert !== null && <a href="/alerts">Who is told</a>}
      </p>
    </Panel>
  );
};

const OVER = ["1m", "5m", "10m", "15m", "30m", "1h", "2h", "6h", "12h", "24h"];
const FOR = ["0m", ...OVER];

/** @param form what was entered, by the names of the fields. */
const Fields: FC<{ form: URLSearchParams; faults: Faults }> = ({ form, faults: named }) => {
  const faults = unnamed(named);
  const at = (name: string): string => form.get(name) ?? "";
  const spans = (spans: readonly string[], value: string) =>
    [...spans, ...(value === "" || spans.includes(value) ? [] : [value])].map((each) => ({
      value: each,
      label: each === "0m" ? "at once" : spanWords(visible(each)),
    }));
  return (
    <>
      <Field name="name" label="Name" value={at("name")} error={faults.at("name")} maxlength={120} required />
      <Field
        name="query"
        label="Query"
        value={at("query")}
        error={faults.at("query")}
        hint="As on the Search page: status:5xx path:/checkout/* declined. Empty: every record."
        maxlength={QUERY_MAX_UNITS}
        spellcheck={false}
        autocomplete="off"
      />
      <fieldset>
        <legend>Alert</legend>
        <p class="hint">
          Counted as records arrive, each once. Numbers of records need no field; no event is a number below 1.
        </p>
        <div class="columns">
          <Select
            name="measure"
            label="Alert on"
            value={at("measure")}
            options={Object.entries(MEASURES).map(([value, label]) => ({ value, label }))}
            error={faults.at("alert/measure/op")}
          />
          <Field
            name="of"
            label="Field"
            value={at("of")}
            error={faults.at("alert/measure/of")}
            placeholder="took"
            spellcheck={false}
            autocomplete="off"
          />
          <Select
            name="when"
            label="When it is"
            value={at("when")}
            options={[
              { value: "at_least", label: "at least" },
              { value: "below", label: "below" },
            ]}
          />
          <Field
            name="threshold"
            label="Threshold"
            type="number"
            step="any"
            value={at("threshold")}
            error={faults.at("alert/threshold")}
          />
          <Select
            name="over"
            label="Over the last"
            value={at("over") || "5m"}
            options={spans(OVER, at("over"))}
            error={faults.at("alert/over")}
          />
          <Select
            name="for"
            label="For at least"
            value={at("for") || "0m"}
            options={spans(FOR, at("for"))}
            error={faults.at("alert/for")}
          />
          <Select
            name="severity"
            label="Severity"
            value={at("severity")}
            options={[
              { value: "warning", label: "warning" },
              { value: "error", label: "error" },
            ]}
          />
        </div>
      </fieldset>
    </>
  );
};

/** As a form has it. */
function entered({ name, query, alert }: CountedSearch): URLSearchParams {
  const { measure, threshold, ...rest } = alert ?? {};
  const of = measure?.of === undefined ? {} : { of: measure.of };
  const value = alert === null ? {} : { measure: measure?.op ?? "count", threshold: `${threshold}`, ...of, ...rest };
  return new URLSearchParams({ name, query, ...value });
}

const FIELDS = [
  ...["name", "query", "alert/measure/op", "alert/measure/of"],
  ...["alert/threshold", "alert/over", "alert/for"],
];

/** The body of the API. */
function askedIn(form: URLSearchParams): object {
  const at = (name: string): string => (form.get(name) ?? "").trim();
  const [op, of, threshold] = [at("measure"), at("of"), at("threshold")];
  const measure = { op, ...(of !== "" && { of }) };
  const given = ["when", "over", "for", "severity"].flatMap((name) => (at(name) === "" ? [] : [[name, at(name)]]));
  const alert = { measure, ...Object.fromEntries(given), ...(threshold !== "" && { threshold: Number(threshold) }) };
  return { name: at("name"), query: at("query"), alert: op === "" ? null : alert };
}

async function create(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const answer = await page.api.send<CountedSearch>("POST", "/logship/searches", askedIn(form));
  if (answer.ok) return seeOther(`${SEARCHES_AT}/${answer.result.id}?saved`);
  return newView(page, form, faultsOf(answer.errors, FIELDS), answer.status);
}

async function change(page: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const answer = await page.api.send("PUT", routeOf(page), askedIn(form));
  if (answer.ok) return seeOther(`${pathOf(page)}?saved`);
  return oneView(page, form, faultsOf(answer.errors, FIELDS), answer.status);
}

async function askToDelete(page: PageContext): Promise<Question> {
  const { id, name, alert } = await page.api.get<CountedSearch>(routeOf(page));
  return {
    title: "Delete saved search",
    back: `${SEARCHES_AT}/${id}`,
    trail: BELOW,
    parts: [
      <p>
        <Foreign text={name} max={120} /> is deleted{alert !== null && ", with its counts and its alert"}. Records stay.
      </p>,
    ],
  };
}
