/** A receiver of alerts, and its state. */
import type { Child, FC } from "hono/jsx";
import { clock, count, duration, plural, stamp } from "../../../../base/words.ts";
import { FORMAT, type ReceiverFormat } from "../../../../operate/alerts/alert-formats.ts";
import { WEBHOOK } from "../../../../operate/status/kinds.ts";
import type { Alert } from "../../../api/docs/alerts.ts";
import type { Webhook } from "../../../api/docs/webhook.ts";
import type { PageContext } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts, Notice, State } from "../../parts/panel.tsx";
import { Ago, Time } from "../../parts/values.tsx";

export const ALERTS_AT = "/alerts";
export const WEBHOOK_AT = `${ALERTS_AT}/webhook`;

export const receiverPath = (id: number): string => (id === WEBHOOK ? WEBHOOK_AT : `${ALERTS_AT}/${id}`);

/** A receiver as pages show it; the webhook is one whose settings are fixed but for its address. */
export type Receiver = Omit<Alert, "id" | "format"> & {
  format: ReceiverFormat;
  /** Of its pages. */
  at: string;
};

export const ofAlert = (alert: Alert): Receiver => ({
  ...alert,
  at: receiverPath(alert.id),
});

export const ofWebhook = ({ url, ...webhook }: Webhook): Receiver => ({
  ...webhook,
  ...{ name: "Webhook", format: "generic", address: url, min_severity: "warning", muted_until: null, routes: null },
  at: WEBHOOK_AT,
});

/** All of them, the webhook first. */
export async function readReceivers({ api }: PageContext): Promise<Receiver[]> {
  const [webhook, { items }] = await Promise.all([
    api.get<Webhook | null>("/logship/webhook"),
    api.list<Alert>("/logship/alerts"),
  ]);
  return [...(webhook === null ? [] : [ofWebhook(webhook)]), ...items.map(ofAlert)];
}

export const labelOf = (format: string): string =>
  Object.hasOwn(FORMAT, format) ? FORMAT[format as keyof typeof FORMAT].label : "Webhook";

/** Where its alerts go: the kind, and the masked address. */
export const Whither: FC<{ of: Receiver }> = ({ of: { format, address } }) => (
  <>
    {format !== "generic" && `${labelOf(format)} `}
    <Foreign text={address} max={120} />
  </>
);

/** The Workers and searches that a receiver is told of; null: everything. */
export function routesText(routes: Receiver["routes"]): string {
  return [...(routes?.workers ?? []), ...(routes?.searches ?? []).map((id) => `search ${id}`)].join(", ");
}

export const ReceiverState: FC<{ of: Receiver; nowMs: number }> = ({ of: state, nowMs }) => {
  const ago = (at: string | null): Child => (at === null ? "never" : <Ago at={at} nowMs={nowMs} />);
  return (
    <>
      {state.gone_at !== null && !state.enabled && (
        <Notice kind="warn" title="Its address switched it off">
          <p>
            It answered HTTP 410 <Ago at={state.gone_at} nowMs={nowMs} />, and logship dropped waiting calls. Turn it on
            again, or set another address.
          </p>
        </Notice>
      )}
      {state.given_up > 0 && (
        <Notice kind="warn" title={`${plural(state.given_up, "undelivered call")}`}>
          <p>The address did not accept them within three days.</p>
        </Notice>
      )}
      <Facts
        rows={[
          ["Address", <Foreign text={state.address} max={400} />],
          ["State", <Receiving state={state} nowMs={nowMs} since />],
          ["Last answer", state.last_answer === null ? "none yet" : <Foreign text={state.last_answer} max={400} />],
          ["Last test", state.last_test === null ? "none yet" : <LastTest state={state} nowMs={nowMs} />],
          ["Last call", ago(state.last_call_at)],
          ["Last accepted call", ago(state.last_success_at)],
          ...(state.routes === null
            ? []
            : [["About", <Foreign text={routesText(state.routes)} max={400} />] as [string, Child]]),
          ["Calls waiting", count(state.waiting)],
          ["Calls accepted", count(state.delivered)],
          ["Changed", <Time at={state.modified_at} />],
        ]}
      />
    </>
  );
};

const LastTest: FC<{ state: Receiver; nowMs: number }> = ({ state: { last_test, last_test_at }, nowMs }) => (
  <>
    <Foreign text={last_test ?? ""} max={400} /> {last_test_at !== null && <Ago at={last_test_at} nowMs={nowMs} />}
  </>
);

/** Whether a receiver is told. @param since whether to say since when it fails. */
export const Receiving: FC<{ state: Receiver; nowMs: number; since?: boolean }> = ({ state, nowMs, since = false }) => {
  if (!state.enabled) return <State kind="quiet">{state.gone_at === null ? "off" : "off: its address is gone"}</State>;
  if (isMuted(state.muted_until, nowMs))
    return (
      <State kind="quiet">
        <MutedFor until={state.muted_until} nowMs={nowMs} />
      </State>
    );
  if (state.failing_since === null) return <State kind="ok">on</State>;
  return (
    <State kind="warn">
      failing: {plural(state.failures, "failure")} in a row
      {since && (
        <>
          , since <Time at={state.failing_since} />
        </>
      )}
    </State>
  );
};

export function isMuted(until: string | null, nowMs: number): until is string {
  return until !== null && Date.parse(until) > nowMs;
}

/** `muted for 8 h more`, with the time on hover. */
export const MutedFor: FC<{ until: string; nowMs: number }> = ({ until, nowMs }) => (
  <>
    muted for{" "}
    <time datetime={until} title={until}>
      {duration(Date.parse(until) - nowMs)}
    </time>{" "}
    more
  </>
);

/** `18:05 UTC`, with the date if it is another day. */
export function untilWords(until: string, nowMs: number): string {
  const at = stamp(until);
  return `${at.slice(0, 10) === stamp(nowMs).slice(0, 10) ? clock(until) : at} UTC`;
}

/** The result of a test, and what to do about a refusal. */
export const TestOutcome: FC<{
  of: { delivered: boolean; message: string; advice?: string | null };
  what: string;
  children?: Child;
}> = ({ of: { delivered, message, advice }, what, children }) => (
  <Notice kind={delivered ? "ok" : "bad"} title={`${what} ${delivered ? "accepted" : "not accepted"}`}>
    <p>
      Answer: <Foreign text={message} max={400} />. {!delivered && advice}
      {children}
    </p>
  </Notice>
);
