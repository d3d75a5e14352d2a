import type { Child, FC } from "hono/jsx";
import { may } from "../../parts/form.tsx";
import { Panel, Snippet } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { AccountLedgerView } from "../../views/account.ts";
import { attachJsonc } from "../functions/snippets.ts";
import type { Jobs } from "./asks.ts";
import { REFRESH_S } from "./verdict.tsx";

export interface Steps {
  job: boolean;
  function: boolean;
  delivered: boolean;
}

/** How far somebody has come. */
export function stepsOf({ all }: Jobs, ledger: AccountLedgerView): Steps {
  return {
    job: all.length > 0,
    function: ledger.processed > 0,
    delivered: all.some((job) => job.last_complete !== null) && ledger.routed > 0,
  };
}

/** The way to the first records, for whoever has just deployed; gone when it has been walked. @param isLocal functions run here. */
export const FirstSteps: FC<{ steps: Steps; viewer: Viewer; selfName: string; isLocal: boolean }> = ({
  steps,
  viewer,
  selfName,
  isLocal,
}) => (
  <Panel id="first-steps" title="The way to your first records" refresh={REFRESH_S}>
    <ol class="way">
      <Step number={1} done={steps.job} title="Create a job">
        <p>A job ships the trace events of your functions into a bucket of yours.</p>
        {!steps.job &&
          (may(viewer, "logs:edit") ? (
            <p>
              <a class="button primary" href="/jobs/new">
                Create a job
              </a>
            </p>
          ) : (
            <p class="quiet">Somebody with the permission logs:edit has to do that.</p>
          ))}
      </Step>
      <Step number={2} done={steps.function} title="Attach a function">
        <p>
          Put this into the project file of the function whose events you want, and deploy it. Its next request is the
          first event.
        </p>
        {!steps.function && <Snippet id="attach-first" label="Project file (JSONC)" text={attachJsonc(selfName)} />}
        <p>
          <a href="/attach">
            {isLocal ? "Run one here, locally; or other ways" : "Other ways"}: TOML, a service binding, HTTP
          </a>
        </p>
      </Step>
      <Step number={3} done={steps.delivered} title="Watch them arrive">
        <p>
          <a href="/live">See the events as they come</a>. What a job takes is in the bucket half a minute later.
        </p>
      </Step>
    </ol>
  </Panel>
);

const Step: FC<{ number: number; done: boolean; title: string; children?: Child }> = ({
  number,
  done,
  title,
  children,
}) => (
  <li class={done ? "done" : undefined}>
    <span class="tick" aria-hidden="true">
      {done ? "✓" : `${number}.`}
    </span>
    <div>
      <h3>
        <span class="unseen">Step {number}: </span>
        {title}
        {done && <span class="quiet"> (done)</span>}
      </h3>
      {children}
    </div>
  </li>
);
