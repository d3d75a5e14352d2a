import type { Child, FC } from "hono/jsx";
import type * as z from "zod";
import type { Webhook } from "../../../api/docs/webhook.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts, Notice, State } from "../../parts/panel.tsx";
import { Ago, count, plural, Time } from "../../parts/values.tsx";

/** Its `url` is masked but for the host. */
export type WebhookView = z.infer<typeof Webhook>;

/** The state of the webhook. */
export const WebhookPanel: FC<{ state: WebhookView; nowMs: number }> = ({ state, nowMs }) => {
  const ago = (at: string | null): Child => (at === null ? "never" : <Ago at={at} nowMs={nowMs} />);
  return (
    <>
      {state.gone_at !== null && !state.enabled && (
        <Notice kind="warn" title="Switched off by its receiver">
          <p>
            It answered HTTP 410 <Ago at={state.gone_at} nowMs={nowMs} />, and waiting calls were dropped. Turn it on
            again, or set another address.
          </p>
        </Notice>
      )}
      {state.given_up > 0 && (
        <Notice kind="warn" title={`${plural(state.given_up, "undelivered call")}`}>
          <p>The receiver did not accept them within three days.</p>
        </Notice>
      )}
      <Facts
        rows={[
          ["Address", <Foreign text={state.url} max={400} />],
          ["State", <How state={state} />],
          ["Last answer", state.last_answer === null ? "none yet" : <Foreign text={state.last_answer} max={400} />],
          ["Last call", ago(state.last_call_at)],
          ["Last accepted call", ago(state.last_success_at)],
          ["Calls waiting", count(state.waiting)],
          ["Calls accepted", count(state.delivered)],
          ["Changed", <Time at={state.modified_at} />],
        ]}
      />
    </>
  );
};

const How: FC<{ state: WebhookView }> = ({ state }) => {
  if (!state.enabled) return <State kind="quiet">off</State>;
  if (state.failing_since === null) return <State kind="ok">on</State>;
  return (
    <State kind="warn">
      failing: {plural(state.failures, "failure")} in a row, since <Time at={state.failing_since} />
    </State>
  );
};
