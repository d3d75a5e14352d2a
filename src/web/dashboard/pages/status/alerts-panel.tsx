import type { Child, FC } from "hono/jsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Empty, Notice, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { ALERTS_AT, type Receiver, Receiving, routesText, Whither } from "./alert-view.tsx";

/**
 * All receivers, on this page and on that of the status.
 * @param leads whether it links to this page.
 */
export const AlertsPanel: FC<{
  receivers: readonly Receiver[];
  viewer: Viewer;
  nowMs: number;
  leads?: boolean;
}> = ({ receivers, viewer, nowMs, leads = false }) => (
  <Panel id="alerts" title="Alerts" aside={leads ? <a href={ALERTS_AT}>Add or change</a> : undefined}>
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
          columns={["Name", "Goes to", "State", "Last answer", ""]}
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
    <>
      <Whither of={receiver} />
      {min_severity === "error" && <span class="quiet"> errors only</span>}
      {routes !== null && (
        <span class="quiet">
          {" "}
          only about <Foreign text={routesText(routes)} max={120} />
        </span>
      )}
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
