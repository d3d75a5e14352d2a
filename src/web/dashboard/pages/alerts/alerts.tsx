import type { Child, FC } from "hono/jsx";
import type { FailingRule } from "../../../../base/failing-setting.ts";
import { count, percent } from "../../../../base/words.ts";
import { readFunctionFailing } from "../../../../config.ts";
import { FORMAT, FORMATS, type FormatName } from "../../../../operate/alerts/alert-formats.ts";
import { isRouted } from "../../../../operate/alerts/routes.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import type { CountedSearch } from "../../../api/docs/searches.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { type Faults, faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Button, Form, may, Select } from "../../parts/form.tsx";
import { Empty, Notice, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { alertWords, SEARCHES_AT } from "../searches/words.tsx";
import { oneAlertPages } from "./one.tsx";
import { askedOfAlert, FIELDS, noteQuery, type Refused, Settings } from "./settings.tsx";
import { ALERTS_AT, type Receiver, Receiving, readReceivers, routesText, WEBHOOK_AT, Whither } from "./view.tsx";

/** An address of an earlier release. */
const moved = (path: string, to: (context: PageContext) => string): Page => ({
  path,
  get: { permission: "logs:read", show: async (context) => seeOther(to(context)) },
});

export const alertPages: readonly Page[] = [
  {
    path: ALERTS_AT,
    get: { permission: "logs:read", show: (context) => listView(context) },
    post: { permission: "logs:edit", take: add },
  },
  ...oneAlertPages,
  moved("/status/alerts", () => ALERTS_AT),
  moved("/status/alerts/:alert_id", ({ params }) => `${ALERTS_AT}/${encodeURIComponent(params.alert_id ?? "")}`),
  moved("/status/webhook", () => WEBHOOK_AT),
];

async function listView(context: PageContext, refused: Refused | null = null): Promise<View> {
  const { api, viewer, nowMs, query } = context;
  const form = refused?.form ?? query;
  const [receivers, { items: searches }] = await Promise.all([
    readReceivers(context),
    api.list<CountedSearch>("/logship/searches").catch(() => ({ items: [] })),
  ]);
  return {
    title: "Alerts",
    status: refused?.status ?? 200,
    parts: [
      query.has("deleted") && <Notice kind="ok" title="Deleted" />,
      <RestOf faults={refused?.faults ?? NO_FAULTS} title="Not added" />,
      <Told receivers={receivers} viewer={viewer} nowMs={nowMs} />,
      <Thresholds receivers={receivers} searches={searches} env={context.env} />,
      may(viewer, "logs:edit") && (
        <Add viewer={viewer} format={formatOf(form.get("format"))} form={refused?.form ?? null} {...refused} />
      ),
    ],
  };
}

const Told: FC<{ receivers: readonly Receiver[]; viewer: Viewer; nowMs: number }> = ({ receivers, viewer, nowMs }) => (
  <Panel id="alerts" title="Who is told">
    {receivers.length === 0 ? (
      <Empty title="No alerts configured">
        <p>
          logship calls Slack, Discord, PagerDuty, Opsgenie, a mailbox or a webhook when an incident opens, and when it
          is over.
        </p>
      </Empty>
    ) : (
      <>
        <Unsent receivers={receivers} />
        <Table
          caption="Where alerts go"
          columns={["Name", "Goes to", "Told of", "State", "Last answer", ""]}
          rows={receivers.map((each) => cells(each, viewer, nowMs))}
        />
      </>
    )}
  </Panel>
);

/** What no receiver is told of. One that is muted is told later. */
const Unsent: FC<{ receivers: readonly Receiver[] }> = ({ receivers }) => {
  const all = receivers.filter(({ enabled, routes }) => enabled && routes === null);
  if (all.some(({ min_severity }) => min_severity !== "error")) return null;
  const [what, why] =
    all.length === 0
      ? ["Problems of", "is off, or only about some Workers or searches"]
      : ["Warnings about", "is off, or only about errors, Workers or searches"];
  return (
    <Notice kind="warn" title={`${what} jobs and the account are sent nowhere`}>
      <p>Every alert here {why}. Add one without such a choice.</p>
    </Notice>
  );
};

function cells(receiver: Receiver, viewer: Viewer, nowMs: number): Child[] {
  const { at, name, min_severity, routes } = receiver;
  return [
    <a href={at}>
      <Foreign text={name} max={120} />
    </a>,
    <Whither of={receiver} />,
    <>
      {routes === null ? (
        "everything"
      ) : (
        <>
          only <Foreign text={routesText(routes)} max={120} />
        </>
      )}
      {min_severity === "error" && <span class="quiet">, errors only</span>}
    </>,
    <Receiving state={receiver} nowMs={nowMs} />,
    <LastAnswer state={receiver} nowMs={nowMs} />,
    <Action viewer={viewer} action={`${at}/test`} label="Test" about={name} kind="small" />,
  ];
}

/** Of the last call, and of a test if that came later or was refused. */
const LastAnswer: FC<{ state: Receiver; nowMs: number }> = ({ state, nowMs }) => {
  const { last_answer, last_call_at, last_test, last_test_at } = state;
  const isTestLater = last_test_at !== null && Date.parse(last_test_at) >= Date.parse(last_call_at ?? last_test_at);
  if (isTestLater && last_test !== null)
    return (
      <>
        Last test: <Foreign text={last_test} max={200} /> <Ago at={last_test_at} nowMs={nowMs} />
      </>
    );
  if (last_answer === null || last_call_at === null) return <span class="quiet">not called yet</span>;
  return (
    <>
      <Foreign text={last_answer} max={200} /> <Ago at={last_call_at} nowMs={nowMs} />
    </>
  );
};

/** What is reported, past which threshold, and to whom. */
const Thresholds: FC<{ receivers: readonly Receiver[]; searches: readonly CountedSearch[]; env: object }> = ({
  receivers,
  searches,
  env,
}) => {
  const { all, of } = readFunctionFailing(env);
  const on = receivers.filter(({ enabled }) => enabled);
  const workers = on.filter(({ routes }) => routes === null || (routes.workers ?? []).length > 0);
  return (
    <Panel id="thresholds" title="What is reported">
      <Table
        caption="What is reported, past which threshold, and to whom"
        columns={["What", "Threshold", "Told"]}
        rows={[
          [
            <a href="/status">Delivery, and the account</a>,
            "after a minute",
            <Names of={on.filter(({ routes }) => routes === null)} />,
          ],
          [<a href="/functions">Workers that fail</a>, ruleWords(all), <Names of={workers} />],
          ...[...of].map(([name, rule]): Child[] => [
            <Foreign text={name} max={120} />,
            ruleWords(rule),
            <Names
              of={on.filter(({ routes }) =>
                isRouted(routes, { kind: "function_failing", subject: { type: "function", name } }),
              )}
            />,
          ]),
          ...searches.flatMap(({ id, name, alert }): Child[][] =>
            alert === null
              ? []
              : [
                  [
                    <a href={`${SEARCHES_AT}/${id}`}>
                      <Foreign text={name} max={120} />
                    </a>,
                    <Foreign text={alertWords(alert)} max={300} />,
                    <Names
                      of={on.filter(({ routes }) =>
                        isRouted(routes, { kind: "search_alert", subject: { type: "search", id, name } }),
                      )}
                    />,
                  ],
                ],
          ),
        ]}
      />
    </Panel>
  );
};

const ruleWords = (rule: FailingRule | null): string =>
  rule === null ? "never" : `${percent(rule.share, 1)} of requests fail, and ${count(rule.least)} at least`;

const Names: FC<{ of: readonly Receiver[] }> = ({ of }): Child => {
  const names = of.map(({ name, min_severity }) => `${name}${min_severity === "error" ? " (errors only)" : ""}`);
  return of.length === 0 ? <strong>no one</strong> : <Foreign text={names.join(", ")} max={300} />;
};

interface Adding {
  viewer: Viewer;
  format: FormatName | null;
  form: URLSearchParams | null;
  faults?: Faults;
}

const Add: FC<Adding> = ({ viewer, format, form, faults = NO_FAULTS }) => (
  <Panel id="add" title="Add an alert">
    <form method="get" action={ALERTS_AT} class="filter" aria-label="Kind of alert">
      <Select
        name="format"
        label="Where alerts go"
        value={format ?? undefined}
        options={[{ value: "", label: "choose …" }, ...FORMATS.map((value) => ({ value, label: FORMAT[value].label }))]}
      />
      <button type="submit">Continue</button>
    </form>
    {format === null ? (
      <p class="quiet">
        Or a <a href={WEBHOOK_AT}>webhook</a>: signed JSON for your own service.
      </p>
    ) : (
      <Form viewer={viewer} action={ALERTS_AT} label={`Add ${FORMAT[format].label}`}>
        <input type="hidden" name="format" value={format} />
        <Settings format={format} form={form} faults={faults} of={null} />
        <Button class="primary" label="Add and test" />
      </Form>
    )}
  </Panel>
);

function formatOf(text: string | null): FormatName | null {
  return FORMATS.find((format) => format === text) ?? null;
}

/** Adds a receiver and tests it; its page says how that went. */
async function add(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const body = { format: form.get("format"), ...askedOfAlert(form) };
  const answer = await context.api.send<Alert>("POST", "/logship/alerts", body);
  if (answer.ok) {
    const { id } = answer.result;
    // What keeps it from being sent is no fault of the form: the page then asks for a test.
    await context.api.send("POST", `/logship/alerts/${id}/test`);
    return seeOther(`${ALERTS_AT}/${id}?added${noteQuery(answer.result.format, form)}`);
  }
  return listView(context, { form, faults: faultsOf(answer.errors, FIELDS), status: answer.status });
}
