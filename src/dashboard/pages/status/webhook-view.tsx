import type { Child, FC } from "hono/jsx";
import { Foreign } from "../../parts/foreign.tsx";
import { Facts, Notice, State } from "../../parts/panel.tsx";
import { Ago, count, plural, Time } from "../../parts/values.tsx";

export interface WebhookView {
  /** The host alone; the rest is `****`. */
  url: string;
  enabled: boolean;
  created_at: string;
  modified_at: string;
  gone_at: string | null;
  waiting: number;
  delivered: number;
  given_up: number;
  failures: number;
  failing_since: string | null;
  last_answer: string | null;
  last_call_at: string | null;
  last_success_at: string | null;
}

/** How the webhook does. */
export const WebhookPanel: FC<{ state: WebhookView; nowMs: number }> = ({ state, nowMs }) => {
  const ago = (at: string | null): Child => (at === null ? "never" : <Ago at={at} nowMs={nowMs} />);
  return (
    <>
      {state.gone_at !== null && !state.enabled && (
        <Notice kind="warn" title="Its receiver has switched it off">
          <p>
            It answered HTTP 410 <Ago at={state.gone_at} nowMs={nowMs} />, and what was waiting was dropped. Switch it
            on again, or set another address.
          </p>
        </Notice>
      )}
      {state.given_up > 0 && (
        <Notice kind="warn" title={`${plural(state.given_up, "call was", "calls were")} given up`}>
          <p>The receiver did not take them within three days.</p>
        </Notice>
      )}
      <Facts
        rows={[
          ["Address", <Foreign text={state.url} max={400} />],
          ["State", <How state={state} />],
          [
            "Last answer",
            state.last_answer === null ? "there was no call yet" : <Foreign text={state.last_answer} max={400} />,
          ],
          ["Last call", ago(state.last_call_at)],
          ["Last call that was taken", ago(state.last_success_at)],
          ["Calls waiting", count(state.waiting)],
          ["Calls taken", count(state.delivered)],
          ["Changed", <Time at={state.modified_at} />],
        ]}
      />
    </>
  );
};

const How: FC<{ state: WebhookView }> = ({ state }) => {
  if (!state.enabled) return <State kind="quiet">off: nobody is called</State>;
  if (state.failing_since === null) return <State kind="ok">on</State>;
  return (
    <State kind="bad">
      failing: {plural(state.failures, "try", "tries")} in a row, since <Time at={state.failing_since} />
    </State>
  );
};
