import type { Child, FC } from "hono/jsx";
import { count, plural } from "../../../../base/words.ts";
import type { ListInfo } from "../../inner-api.ts";
import type { PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Field, Form, may, Select } from "../../parts/form.tsx";
import { paged } from "../../parts/pager.tsx";
import { Empty, figures, Panel, State, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { FunctionView } from "../../views/account.ts";
import { functionPath, hasPath, LoggingSwitch } from "./logging.tsx";

const PER_PAGE = 50;

/** Longest name, in UTF-16 units. */
const WANTED_MAX = 255;

/** A rejected form that sets logging by name. */
export interface Decided {
  name: string;
  logging: string;
  fault: string;
}

/** @param decided null: no form was rejected. */
export async function listView(page: PageContext, decided: Decided | null = null): Promise<View> {
  const { query, viewer, nowMs } = page;
  const wanted = (query.get("name") ?? "").slice(0, WANTED_MAX);
  const asked = { of: "Workers", perPage: PER_PAGE, ...(wanted !== "" && { more: { name: wanted } }) };
  const { items, info, page: number, pager } = await paged<FunctionView>(page, "/functions/scripts", asked);
  return {
    title: "Workers",
    aside: (
      <a class="button" href="/attach">
        Attach a Worker
      </a>
    ),
    status: decided === null ? 200 : 400,
    parts: [
      <Panel id="all" title={wanted === "" ? "All Workers" : "Matching Workers"} isMain={wanted === ""}>
        <form method="get" action="/functions" class="filter" aria-label="Workers by name">
          <Field name="name" label="Part of the name" type="search" value={wanted} autocomplete="off" />
          <button type="submit">Find</button>
        </form>
        {items.length === 0 ? (
          <NothingHere wanted={wanted} info={info} />
        ) : (
          <>
            <Table
              caption="Workers, with their counts of the last 30 days"
              columns={[
                "Worker",
                "Logging",
                "Last event",
                figures("Shipped"),
                figures("Dropped"),
                "Attached",
                "Sources",
              ]}
              rows={items.map((each) => cells(each, viewer, nowMs, listQuery(wanted, number)))}
            />
            <p class="quiet">{plural(info.total_count, "Worker")}</p>
            {pager}
          </>
        )}
        <p class="quiet">
          Counts of the last 30 days. Shipped: sent to at least one job. Filtered events are in the job's ledger.
          <Unlisted info={info} />
        </p>
      </Panel>,
      <Decide viewer={viewer} decided={decided} />,
    ],
  };
}

function cells(each: FunctionView, viewer: Viewer, nowMs: number, back: string): Child[] {
  const name = <Foreign text={each.id} max={120} />;
  return [
    hasPath(each.id) ? <a href={functionPath(each.id)}>{name}</a> : name,
    <LoggingSwitch of={each} viewer={viewer} back={back} />,
    each.last_event === null ? <span class="quiet">none in 30 days</span> : <Ago at={each.last_event} nowMs={nowMs} />,
    count(each.shipped),
    <Dropped dropped={each.dropped} />,
    <Attached of={each} />,
    <SourceNames of={each} />,
  ];
}

const Dropped: FC<{ dropped: FunctionView["dropped"] }> = ({ dropped: { logging_off, no_job } }) => (
  <>
    {count(logging_off + no_job)}
    {logging_off > 0 && <span class="quiet"> {count(logging_off)} logging off</span>}
    {no_job > 0 && <span class="quiet"> {count(no_job)} no job enabled</span>}
  </>
);

/** How its events arrive. */
export const Attached: FC<{ of: FunctionView }> = ({ of: { attachment, last_event } }) => {
  if (attachment === null)
    return last_event === null ? <span class="quiet">not seen</span> : <span>events arrive</span>;
  switch (attachment.state) {
    case "attached":
      return <State kind="ok">by upload</State>;
    case "undone":
      return <State kind="bad">undone</State>;
    case "gone":
      return <State kind="quiet">script deleted</State>;
    default:
      return <State kind="warn">unknown</State>;
  }
};

/** Names in a row of the list; the page of a function has the others, and when each was seen. */
const SOURCES_SHOWN = 3;

/** Where its events come from. */
const SourceNames: FC<{ of: FunctionView }> = ({ of: { sources } }) => (
  <>
    {sources.slice(0, SOURCES_SHOWN).map(({ source }, i) => (
      <>
        {i > 0 && ", "}
        <Foreign text={source} max={60} />
      </>
    ))}
    {sources.length > SOURCES_SHOWN && <span class="quiet"> +{sources.length - SOURCES_SHOWN}</span>}
    {sources.length === 0 && <span class="quiet">unknown</span>}
  </>
);

const NothingHere: FC<{ wanted: string; info: ListInfo }> = ({ wanted, info }) => {
  if (info.total_count > 0)
    return (
      <Empty title="This page is empty">
        <p>
          <a href={`/functions${listQuery(wanted, 1)}`}>Back to {plural(info.total_count, "Worker")}</a>
        </p>
      </Empty>
    );
  return wanted === "" ? (
    <Empty title="No Workers yet">
      <p>
        A Worker appears with its first event. <a href="/attach">Attach a Worker</a>
      </p>
    </Empty>
  ) : (
    <Empty title="No matching Workers">
      <p>
        logship removes Workers without events for 30 days and without settings.{" "}
        <a href="/functions">Show all Workers</a>
      </p>
    </Empty>
  );
};

const Unlisted: FC<{ info: ListInfo }> = ({ info }) => {
  const { unlisted } = info as ListInfo & { unlisted?: Pick<FunctionView, "shipped" | "dropped"> };
  if (unlisted === undefined) return null;
  const { shipped, dropped } = unlisted;
  const all = shipped + dropped.logging_off + dropped.no_job;
  if (all === 0) return null;
  return <> {plural(all, "more event")} came under names that are not listed.</>;
};

/** Sets a function before its first event. */
const Decide: FC<{ viewer: Viewer; decided: Decided | null }> = ({ viewer, decided }) =>
  may(viewer, "functions:edit") ? (
    <Panel id="decide" title="Set logging before the first event">
      <details open={decided !== null}>
        <summary>Set logging of a Worker that is not listed yet</summary>
        <Form viewer={viewer} action="/functions">
          <Field
            name="function"
            label="Name of the Worker"
            value={decided?.name}
            error={decided?.fault}
            required
            maxlength={WANTED_MAX}
            autocomplete="off"
            hint="As deployed; case-sensitive."
          />
          <Select
            name="logging"
            label="Logging"
            value={decided?.logging ?? "off"}
            options={[
              { value: "off", label: "off: logship counts and drops events" },
              { value: "on", label: "on: events ship (the default)" },
            ]}
          />
          <button type="submit">Save</button>
        </Form>
      </details>
    </Panel>
  ) : null;

/** `?name=…&page=…` of a list, or "". */
export function listQuery(wanted: string, number: number): string {
  const query = new URLSearchParams();
  if (wanted !== "") query.set("name", wanted);
  if (number > 1) query.set("page", `${number}`);
  return query.size === 0 ? "" : `?${query}`;
}
