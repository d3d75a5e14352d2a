/** The page of one receiver of alerts, and what its buttons do. */
import type { Child } from "hono/jsx";
import { isTakenIn, remedyFor } from "../../../../operate/status/answer-words.ts";
import { FORMAT } from "../../../../operate/status/formats.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import type { Tested } from "../../../api/docs/webhook.ts";
import { formPage, type Page, type PageAnswer, type PageContext, seeOther, type View } from "../../page.ts";
import { Errors } from "../../parts/failure.tsx";
import { faultsOf, NO_FAULTS, RestOf } from "../../parts/faults.tsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, Button, Check, Confirm, Form } from "../../parts/form.tsx";
import { Notice, Panel } from "../../parts/panel.tsx";
import { plural } from "../../parts/values.tsx";
import { AddressNoteOf, asked, FIELDS, noteQuery, type Refused, Settings } from "./alert-settings.tsx";
import { isMuted, TestOutcome, untilWords, WebhookPanel } from "./webhook-view.tsx";

const AT = "/status/alerts";
const TRAIL = [
  { href: "/status", label: "Status" },
  { href: AT, label: "Alerts" },
] as const;

export const oneAlertPages: readonly Page[] = [
  formPage(`${AT}/:alert_id`, "logs:edit", oneView, change),
  { path: `${AT}/:alert_id/test`, post: { permission: "logs:edit", take: test } },
  { path: `${AT}/:alert_id/mute`, post: { permission: "logs:edit", take: mute } },
  formPage(`${AT}/:alert_id/delete`, "logs:edit", deleteView, remove),
  { path: "/status/incidents/:incident_id/mute", post: { permission: "logs:edit", take: muteIncident } },
];

/** How long one may mute, in hours. */
const HOURS = [1, 8, 72] as const;
const HOUR_MS = 3_600_000;

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
    trail: TRAIL,
    parts: [
      query.has("added") && added(alert),
      query.has("saved") && <Notice kind="ok" title="Saved" />,
      query.has("muted") && isMuted(alert.muted_until, nowMs) && (
        <Notice kind="ok" title={`Muted until ${untilWords(alert.muted_until, nowMs)}`} />
      ),
      query.has("unmuted") && <Notice kind="ok" title="No longer muted" />,
      <AddressNoteOf format={format} query={query} />,
      said,
      <RestOf faults={refused?.faults ?? NO_FAULTS} title="Not changed" />,
      <Panel
        id="state"
        title="State"
        aside={<Action viewer={viewer} action={`${AT}/${id}/test`} label="Send a test" kind="small" />}
      >
        <WebhookPanel state={{ ...alert, url: alert.address }} nowMs={nowMs} mutedUntil={alert.muted_until} />
        <div class="actions">
          {HOURS.map((hours) => (
            <Action
              viewer={viewer}
              action={`${AT}/${id}/mute`}
              label={`Mute for ${hours === 72 ? "3 days" : plural(hours, "hour")}`}
              kind="small"
              fields={{ hours: `${hours}` }}
            />
          ))}
          {isMuted(alert.muted_until, nowMs) && (
            <Action viewer={viewer} action={`${AT}/${id}/mute`} label="Unmute" kind="small" />
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
          <Button class="primary" label="Save" />
        </Form>
      </Panel>,
      <p>
        <a href={`${AT}/${id}/delete`}>Delete</a>
      </p>,
    ],
  };
}

/** A new one was tested when it was added, unless something kept the test from being sent. */
function added({ last_test }: Alert): Child {
  return (
    <>
      <Notice kind="ok" title="Added">
        {last_test === null && <p>Send a test to see it arrive.</p>}
      </Notice>
      {last_test !== null && (
        <TestOutcome
          of={{ delivered: isTakenIn(last_test), message: last_test, advice: remedyFor(last_test) }}
          what="Test"
        />
      )}
    </>
  );
}

async function change(context: PageContext, form: URLSearchParams): Promise<PageAnswer> {
  const { id, format } = await readOne(context);
  const body = { ...asked(form), enabled: form.has("enabled") };
  const answer = await context.api.send<Alert>("PUT", `/logship/alerts/${id}`, body);
  if (answer.ok) return seeOther(`${AT}/${id}?saved${noteQuery(format, form)}`);
  return oneView(context, { form, faults: faultsOf(answer.errors, FIELDS), status: answer.status });
}

async function test(context: PageContext): Promise<View> {
  const { id } = await readOne(context);
  const answer = await context.api.send<Tested>("POST", `/logship/alerts/${id}/test`);
  if (!answer.ok) {
    const view = await oneView(context, null, <Errors title="Test not sent" errors={answer.errors} />);
    return { ...view, status: answer.status };
  }
  return oneView(context, null, <TestOutcome of={answer.result} what="Test" />);
}

async function mute(context: PageContext, form: URLSearchParams): Promise<Response> {
  const { id } = await readOne(context);
  const until = untilOf(context, form);
  await context.api.change("PUT", `/logship/alerts/${id}`, { muted_until: until });
  return seeOther(`${AT}/${id}?${until === null ? "unmuted" : "muted"}`);
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

async function deleteView(context: PageContext): Promise<View> {
  const alert = await readOne(context);
  const { id, name, waiting } = alert;
  return {
    title: "Delete alert",
    section: "status",
    trail: [...TRAIL, { href: `${AT}/${id}`, label: name }],
    parts: [
      <p>
        No more alerts go to <Foreign text={name} max={120} /> ({FORMAT[alert.format].label},{" "}
        <Foreign text={alert.address} max={400} />
        ). {waiting > 0 && `${plural(waiting, "waiting call")} will be dropped.`}
      </p>,
      <Confirm viewer={context.viewer} action={`${AT}/${id}/delete`} label="Delete alert" back={`${AT}/${id}`} />,
    ],
  };
}

async function remove(context: PageContext): Promise<Response> {
  const { id } = await readOne(context);
  await context.api.change("DELETE", `/logship/alerts/${id}`);
  return seeOther(`${AT}?deleted`);
}
