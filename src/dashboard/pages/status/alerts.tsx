import type { Child, FC } from "hono/jsx";
import type { Alert } from "../../../api/docs/alerts.ts";
import { FORMAT, FORMATS, type FormatName } from "../../../status/formats.ts";
import { type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { type Faults, faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Check, Field, Form, Select } from "../../parts/form.tsx";
import { Empty, Notice, Panel, State, Table } from "../../parts/panel.tsx";
import { Ago, plural } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import { WebhookPanel, type WebhookView } from "./webhook-view.tsx";

const AT = "/status/alerts";
const TRAIL = [{ href: "/status", label: "Status" }] as const;

export const alertPages: readonly Page[] = [
  {
    path: AT,
    get: { permission: "logs:edit", show: listView },
    post: { permission: "logs:edit", take: add },
  },
  {
    path: `${AT}/:alert_id`,
    get: { permission: "logs:edit", show: oneView },
    post: { permission: "logs:edit", take: change },
  },
  { path: `${AT}/:alert_id/test`, post: { permission: "logs:edit", take: test } },
  { path: `${AT}/:alert_id/mute`, post: { permission: "logs:edit", take: mute } },
  { path: `${AT}/:alert_id/delete`, post: { permission: "logs:edit", take: remove } },
  { path: "/status/incidents/:incident_id/mute", post: { permission: "logs:edit", take: muteIncident } },
];

/** A rejected form. */
interface Refused {
  form: URLSearchParams;
  faults: Faults;
  status: number;
}

const FIELDS = ["name", "address", "secret", "format"];

/** How long one may mute, in hours. */
const HOURS = [1, 8, 72] as const;
const HOUR_MS = 3_600_000;

async function listView(context: PageContext, refused: Refused | null = null): Promise<View> {
  const { api, viewer, nowMs, query } = context;
  const [{ items }, webhook] = await Promise.all([
    api.list<Alert>("/logship/alerts"),
    api.get<WebhookView | null>("/logship/webhook"),
  ]);
  const form = refused?.form ?? query;
  const format = formatOf(form.get("format"));
  return {
    title: "Alerts",
    section: "status",
    status: refused?.status ?? 200,
    trail: TRAIL,
    parts: [
      <RestOf faults={refused?.faults ?? NO_FAULTS} title="Not added" />,
      <AlertsPanel alerts={items} webhook={webhook} viewer={viewer} nowMs={nowMs} />,
      <Panel id="add" title="Add an alert">
        <form method="get" action={AT} class="filter" aria-label="Kind of alert">
          <Select
            name="format"
            label="Where alerts go"
            value={format ?? undefined}
            options={[
              { value: "", label: "choose …" },
              ...FORMATS.map((value) => ({ value, label: FORMAT[value].label })),
            ]}
          />
          <button type="submit">Continue</button>
        </form>
        {format === null ? (
          <p class="quiet">
            Or a <a href="/status/webhook">webhook</a>: signed JSON for your own receiver.
          </p>
        ) : (
          <Form viewer={viewer} action={AT} label={`Add ${FORMAT[format].label}`}>
            <input type="hidden" name="format" value={format} />
            <Settings format={format} form={refused?.form ?? null} faults={refused?.faults ?? NO_FAULTS} />
            <button type="submit" class="primary">
              Add {FORMAT[format].label}
            </button>
          </Form>
        )}
      </Panel>,
    ],
  };
}

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
        columns={[{ label: "Name" }, { label: "Goes to" }, { label: "State" }, { label: "Last answer" }, { label: "" }]}
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
    <How state={state} nowMs={nowMs} />,
    <LastAnswer state={state} nowMs={nowMs} />,
    <Action
      viewer={viewer}
      action="/status/webhook/test"
      label="Test"
      about="the webhook"
      needs="logs:edit"
      kind="small"
    />,
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
    <How state={alert} nowMs={nowMs} mutedUntil={alert.muted_until} />,
    <LastAnswer state={alert} nowMs={nowMs} />,
    <Action
      viewer={viewer}
      action={`${AT}/${alert.id}/test`}
      label="Test"
      about={alert.name}
      needs="logs:edit"
      kind="small"
    />,
  ];
}

type Receiving = Pick<
  WebhookView,
  "enabled" | "gone_at" | "failing_since" | "failures" | "last_answer" | "last_call_at"
>;

const How: FC<{ state: Receiving; nowMs: number; mutedUntil?: string | null }> = ({
  state,
  nowMs,
  mutedUntil = null,
}) => {
  if (!state.enabled) return <State kind="quiet">{state.gone_at === null ? "off" : "off: its receiver is gone"}</State>;
  if (mutedUntil !== null && Date.parse(mutedUntil) > nowMs)
    return (
      <State kind="quiet">
        muted, until <Ago at={mutedUntil} nowMs={nowMs} />
      </State>
    );
  if (state.failing_since === null) return <State kind="ok">on</State>;
  return <State kind="warn">failing: {plural(state.failures, "failure")} in a row</State>;
};

const LastAnswer: FC<{ state: Receiving; nowMs: number }> = ({ state: { last_answer, last_call_at }, nowMs }) =>
  last_answer === null || last_call_at === null ? (
    <span class="quiet">not called yet</span>
  ) : (
    <>
      <Foreign text={last_answer} max={200} /> <Ago at={last_call_at} nowMs={nowMs} />
    </>
  );

const Settings: FC<{ format: FormatName; form: URLSearchParams | null; faults: Faults; alert?: Alert }> = ({
  format,
  form,
  faults,
  alert,
}) => {
  const { address, url, key } = FORMAT[format];
  return (
    <>
      <Field
        name="name"
        label="Name"
        value={form?.get("name") ?? alert?.name ?? FORMAT[format].label}
        error={faults.at("name")}
        maxlength={120}
        required
      />
      <Field
        name="address"
        label={format === "email" ? "Recipient" : "Address"}
        value={alert?.address ?? (format === "email" ? (form?.get("address") ?? "") : "")}
        error={faults.at("address")}
        hint={
          alert === undefined
            ? address
            : "Leave it masked to keep it. A new address gets a call for every open incident."
        }
        autocomplete="off"
        spellcheck={false}
        required={url === null}
      />
      {key !== null && (
        <Field
          name="secret"
          type="password"
          label={key.label}
          error={faults.at("secret")}
          hint={alert === undefined ? `${key.form}. Stored encrypted, never shown.` : "Empty keeps the stored one."}
          autocomplete="off"
        />
      )}
      <Check
        name="errors_only"
        label="Errors only"
        checked={form?.has("errors_only") ?? alert?.min_severity === "error"}
        hint="Warnings are not sent."
      />
    </>
  );
};

/** What a form asks for. An empty secret, or address, asks for nothing. */
function asked(form: URLSearchParams): object {
  const given = ["address", "secret"].flatMap((name) => {
    const value = (form.get(name) ?? "").trim();
    return value === "" ? [] : [[name, value] as const];
  });
  return {
    name: (form.get("name") ?? "").trim(),
    ...Object.fromEntries(given),
    min_severity: form.has("errors_only") ? "error" : "warning",
  };
}

function formatOf(text: string | null): FormatName | null {
  return FORMATS.find((format) => format === text) ?? null;
}

async function add(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const format = form.get("format");
  const answer = await context.api.send<Alert>("POST", "/logship/alerts", { format, ...asked(form) });
  if (answer.ok) return seeOther(`${AT}/${answer.result.id}?added`);
  return listView(context, { form, faults: faultsOf(answer.errors, FIELDS), status: answer.status });
}

const readOne = ({ api, params }: PageContext): Promise<Alert> =>
  api.get<Alert>(`/logship/alerts/${encodeURIComponent(params.alert_id ?? "")}`);

async function oneView(context: PageContext, refused: Refused | null = null, said: Child = null): Promise<View> {
  const { viewer, nowMs, query } = context;
  const alert = await readOne(context);
  const { format, id } = alert;
  return {
    title: alert.name,
    section: "status",
    status: refused?.status ?? 200,
    trail: [...TRAIL, { href: AT, label: "Alerts" }],
    parts: [
      query.has("added") && (
        <Notice kind="ok" title="Added">
          <p>Send a test to see it arrive.</p>
        </Notice>
      ),
      query.has("saved") && <Notice kind="ok" title="Saved" />,
      said,
      <RestOf faults={refused?.faults ?? NO_FAULTS} title="Not changed" />,
      <Panel
        id="state"
        title="State"
        aside={
          <Action viewer={viewer} action={`${AT}/${id}/test`} label="Send a test" needs="logs:edit" kind="small" />
        }
      >
        <WebhookPanel state={{ ...alert, url: alert.address }} nowMs={nowMs} />
        {alert.muted_until !== null && (
          <p>
            <How state={alert} nowMs={nowMs} mutedUntil={alert.muted_until} />
          </p>
        )}
        <div class="actions">
          {HOURS.map((hours) => (
            <Action
              viewer={viewer}
              action={`${AT}/${id}/mute`}
              label={`Mute for ${hours === 72 ? "3 days" : plural(hours, "hour")}`}
              needs="logs:edit"
              kind="small"
              fields={{ hours: `${hours}` }}
            />
          ))}
          {alert.muted_until !== null && (
            <Action viewer={viewer} action={`${AT}/${id}/mute`} label="Unmute" needs="logs:edit" kind="small" />
          )}
        </div>
      </Panel>,
      <Panel id="settings" title="Settings">
        <Form viewer={viewer} action={`${AT}/${id}`} label={FORMAT[format].label}>
          <Settings format={format} form={refused?.form ?? null} faults={refused?.faults ?? NO_FAULTS} alert={alert} />
          <Check
            name="enabled"
            label="Enabled"
            checked={refused === null ? alert.enabled : refused.form.has("enabled")}
            hint="Incidents that open and end while it is off are not reported."
          />
          <button type="submit" class="primary">
            Save
          </button>
        </Form>
      </Panel>,
      <Panel id="delete" title="Delete">
        <p>
          No more alerts go there. {alert.waiting > 0 && `${plural(alert.waiting, "waiting call")} will be dropped.`}
        </p>
        <Action
          viewer={viewer}
          action={`${AT}/${id}/delete`}
          label="Delete"
          about={alert.name}
          needs="logs:edit"
          kind="danger"
        />
      </Panel>,
    ],
  };
}

async function change(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const { id } = await readOne(context);
  const body = { ...asked(form), enabled: form.has("enabled") };
  const answer = await context.api.send<Alert>("PUT", `/logship/alerts/${id}`, body);
  if (answer.ok) return seeOther(`${AT}/${id}?saved`);
  return oneView(context, { form, faults: faultsOf(answer.errors, FIELDS), status: answer.status });
}

/** The result of a test is shown at once, and nowhere else. */
async function test(context: PageContext): Promise<View> {
  const { id } = await readOne(context);
  const answer = await context.api.send<{ delivered: boolean; message: string }>("POST", `/logship/alerts/${id}/test`);
  if (!answer.ok) {
    const view = await oneView(context, null, <Errors title="Test not sent" errors={answer.errors} />);
    return { ...view, status: answer.status };
  }
  const { delivered, message } = answer.result;
  return oneView(
    context,
    null,
    <Notice kind={delivered ? "ok" : "bad"} title={delivered ? "Test accepted" : "Test not accepted"}>
      <p>
        Answer: <Foreign text={message} max={400} />.
      </p>
    </Notice>,
  );
}

async function mute(context: PageContext, form: URLSearchParams): Promise<Response> {
  const { id } = await readOne(context);
  await context.api.change("PUT", `/logship/alerts/${id}`, { muted_until: untilOf(context, form) });
  return seeOther(`${AT}/${id}?saved`);
}

async function muteIncident(context: PageContext, form: URLSearchParams): Promise<Response> {
  const path = `/logship/incidents/${encodeURIComponent(context.params.incident_id ?? "")}/mute`;
  const until = untilOf(context, form);
  if (until === null) await context.api.change("DELETE", path);
  else await context.api.change("PUT", path, { until });
  return seeOther("/status");
}

/** null: no more. */
function untilOf({ nowMs }: PageContext, form: URLSearchParams): string | null {
  const hours = HOURS.find((each) => `${each}` === form.get("hours"));
  return hours === undefined ? null : new Date(nowMs + hours * HOUR_MS).toISOString();
}

async function remove(context: PageContext): Promise<Response> {
  const { id } = await readOne(context);
  await context.api.change("DELETE", `/logship/alerts/${id}`);
  return seeOther(AT);
}
