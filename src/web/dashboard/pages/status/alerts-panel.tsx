import type { Child, FC } from "hono/jsx";
import { FORMAT } from "../../../../operate/status/formats.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action } from "../../parts/form.tsx";
import { Empty, Panel, Table } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { Receiving, type WebhookView } from "./webhook-view.tsx";

const AT = "/status/alerts";

/**
 * All receivers, on this page and on that of the status.
 * @param leads whether it links to this page.
 */
export const AlertsPanel: FC<{
  alerts: readonly Alert[];
  webhook: WebhookView | null;
  viewer: Viewer;
  nowMs: number;
  leads?: boolean;
}> = ({ alerts, webhook, viewer, nowMs, leads = false }) => (
  <Panel id="alerts" title="Alerts" aside={leads ? <a href={AT}>Add or change</a> : undefined}>
    {alerts.length === 0 && webhook === null ? (
      <Empty title="No alerts configured">
        <p>
          Slack, Discord, PagerDuty, Opsgenie, a mailbox or a webhook is called when an incident opens, and when it is
          over.
        </p>
      </Empty>
    ) : (
      <Table
        caption="Receivers of alerts"
        columns={["Name", "Goes to", "State", "Last answer", ""]}
        rows={[
          ...(webhook === null ? [] : [webhookCells(webhook, viewer, nowMs)]),
          ...alerts.map((each) => cells(each, viewer, nowMs)),
        ]}
      />
    )}
  </Panel>
);

function webhookCells(state: WebhookView, viewer: Viewer, nowMs: number): Child[] {
  return [
    <a href="/status/webhook">Webhook</a>,
    <Foreign text={state.url} max={120} />,
    <Receiving state={state} nowMs={nowMs} />,
    <LastAnswer state={state} nowMs={nowMs} />,
    <Action viewer={viewer} action="/status/webhook/test" label="Test" about="the webhook" kind="small" />,
  ];
}

function cells(alert: Alert, viewer: Viewer, nowMs: number): Child[] {
  return [
    <a href={`${AT}/${alert.id}`}>
      <Foreign text={alert.name} max={120} />
    </a>,
    <>
      {FORMAT[alert.format].label} <Foreign text={alert.address} max={120} />
      {alert.min_severity === "error" && <span class="quiet"> errors only</span>}
    </>,
    <Receiving state={alert} nowMs={nowMs} mutedUntil={alert.muted_until} />,
    <LastAnswer state={alert} nowMs={nowMs} />,
    <Action viewer={viewer} action={`${AT}/${alert.id}/test`} label="Test" about={alert.name} kind="small" />,
  ];
}

type Answered = Pick<WebhookView, "last_answer" | "last_call_at" | "last_test" | "last_test_at">;

/** Of the last call, and of a test if that came later or was refused. */
const LastAnswer: FC<{ state: Answered; nowMs: number }> = ({ state, nowMs }) => {
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
