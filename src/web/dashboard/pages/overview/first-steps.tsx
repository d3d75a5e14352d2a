import type { Child, FC } from "hono/jsx";
import { may } from "../../parts/form.tsx";
import { Panel, Snippet } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { AccountLedgerView } from "../../views/account.ts";
import { attachJsonc } from "../functions/snippets.ts";
import type { Jobs } from "./asks.ts";
import { REFRESH_S } from "./wrong.tsx";

export interface Steps {
  job: boolean;
  function: boolean;
  delivered: boolean;
}

/** The steps that are done. */
export function stepsOf({ all }: Jobs, ledger: AccountLedgerView): Steps {
  return {
    job: all.length > 0,
    function: ledger.processed > 0,
    delivered: all.some((job) => job.last_complete !== null) && ledger.routed > 0,
  };
}

/**
 * Shown after a deployment, until the first record is delivered. @param isLocal functions run here.
 */
export const FirstSteps: FC<{ steps: Steps; viewer: Viewer; selfName: string; isLocal: boolean }> = ({
  steps,
  viewer,
  selfName,
  isLocal,
}) => (
  <Panel id="first-steps" title="Get started" refresh={REFRESH_S}>
    <ol class="way">
      <Step number={1} done={steps.job} title="Create a job">
        <p>A job ships your Workers' trace events to your bucket or log service.</p>
        {!steps.job &&
          (may(viewer, "logs:edit") ? (
            <p>
              <a class="button primary" href="/jobs/new">
                Create a job
              </a>
            </p>
          ) : (
            <p class="quiet">Needs the permission logs:edit.</p>
          ))}
      </Step>
      <Step number={2} done={steps.function} title="Attach a Worker">
        <p>
          Add logship as a tail consumer to the Worker's project file, and deploy it. Its next request is the first
          event.
        </p>
        {!steps.function && <Snippet id="attach-first" label="Project file (JSONC)" text={attachJsonc(selfName)} />}
        <p>
          <a href="/attach">
            {isLocal ? "Run one locally, or other ways" : "Other ways"}: TOML, a service binding, HTTP
          </a>
        </p>
      </Step>
      <Step number={3} done={steps.delivered} title="Watch events arrive">
        <p>
          <a href="/live">Open the live view</a>. A job delivers events about half a minute later.
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
