import { plural } from "../../../base/words.ts";
import { readIntakeConfig } from "../../../config.ts";
import type { InnerApi } from "../inner-api.ts";
import { type Page, type PageContext, type Part, REFRESH_HEADER, type View } from "../page.ts";
import { may } from "../parts/form.tsx";
import { Closed, Notice, Panel } from "../parts/panel.tsx";
import type { AccountLedgerView, FunctionView, UsageView } from "../views/account.ts";
import { costView } from "./cost.tsx";
import { askJobsOrNot, askStatus, askWorkers } from "./overview/asks.ts";
import { DeliveryPanel } from "./overview/delivery.tsx";
import { FirstSteps, stepsOf } from "./overview/first-steps.tsx";
import { Cost, Totals } from "./overview/totals.tsx";
import { WorkersPanel } from "./overview/workers.tsx";
import { Wrong } from "./overview/wrong.tsx";

export const overviewPages: readonly Page[] = [
  { path: "/", get: { permission: null, show: overviewView } },
  { path: "/cost", get: { permission: "logs:read", show: costView } },
];

async function overviewView(page: PageContext): Promise<View> {
  const { viewer } = page;
  const parts = may(viewer, "logs:read") ? shippingParts(page) : otherParts(page);
  return { title: "Overview", parts };
}

/** Asks for everything at once; a slow part only delays those below it. */
function shippingParts({ api, viewer, nowMs, env, config, request }: PageContext): Part[] {
  const status = askStatus(api);
  const jobs = askJobsOrNot(api);
  const ledger = awaited(api.get<AccountLedgerView>("/logship/ledger"));
  const selfName = readIntakeConfig(env).selfName ?? "logship";
  const workers = askWorkers(api);
  const wrong = async () => <Wrong status={await status} jobs={await jobs} viewer={viewer} nowMs={nowMs} />;
  const firstSteps = async () => {
    const [known, counts] = [await jobs, await ledger.catch(() => null)];
    // Unknown, or done.
    if (known === null || counts === null) return null;
    const steps = stepsOf(known, counts);
    if (steps.job && steps.function && steps.delivered) return null;
    return <FirstSteps steps={steps} viewer={viewer} selfName={selfName} isLocal={config.localFunctions !== null} />;
  };
  const health = async () => (
    <WorkersPanel workers={await workers} status={await status} viewer={viewer} nowMs={nowMs} />
  );
  const delivery = async () => <DeliveryPanel jobs={await jobs} viewer={viewer} nowMs={nowMs} />;
  const often = [wrong(), firstSteps(), health(), delivery()];
  if (request.headers.has(REFRESH_HEADER)) return often;
  const usage = awaited(api.get<UsageView>("/logship/usage"));
  const totals = async () => <Totals ledger={await ledger} viewer={viewer} />;
  const cost = async () => <Cost usage={await usage} />;
  return [...often, totals(), cost()];
}

/** Awaited later: until then a failure is not an unhandled rejection. */
function awaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

async function functionsTotal(api: InnerApi): Promise<number> {
  const { info } = await api.list<FunctionView>("/functions/scripts", { per_page: 1 });
  return info.total_count;
}

/** For viewers without `logs:read`. */
function otherParts({ api, viewer }: PageContext): Part[] {
  const mayAccess = may(viewer, "access:edit");
  return [
    <Notice kind="info" title="You cannot see what is shipped">
      <Closed what="Jobs, status, ledger and costs" permission="logs:read" />
    </Notice>,
    may(viewer, "functions:read") &&
      (async () => (
        <Panel id="functions" title="Workers">
          <p>
            <a href="/functions">{plural(await functionsTotal(api), "Worker")}</a>
          </p>
        </Panel>
      ))(),
    mayAccess && (
      <Panel id="access" title="Access">
        <p>
          <a href="/access">Tokens, members and changes</a>
        </p>
      </Panel>
    ),
  ].filter((part) => part !== false);
}
