import type { Child, FC } from "hono/jsx";
import { count, dollars, monthInWords, plural } from "../../../../base/words.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { Facts, Notice, Panel, State } from "../../parts/panel.tsx";
import { Ago, Since } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { AccountLedgerView, FindingView, StatusView, UsageView } from "../../views/account.ts";
import { functionPath } from "../functions/logging.tsx";

/** Findings that the panel of functions shows. */
const FUNCTION_KINDS: ReadonlySet<string> = new Set([
  "function_failing",
  "function_slow",
  "function_quiet",
  "function_kind_quiet",
  "function_off",
  "function_never_seen",
  "attachment_undone",
  "attachment_unknown",
  "functions_more",
  "functions_not_watched",
]);

/** Findings shown at most. */
const NAMED_MAX = 8;

export function functionFindings(findings: readonly FindingView[]): FindingView[] {
  return findings.filter(({ kind }) => FUNCTION_KINDS.has(kind));
}

/**
 * The number of functions and the findings about them. @param total null: the viewer may not see
 * functions.
 */
export const FunctionsPanel: FC<{
  status: StatusView | null;
  total: number | null;
  viewer: Viewer;
  nowMs: number;
}> = ({ status, total, viewer, nowMs }) => {
  const found = functionFindings(status?.findings ?? []);
  return (
    <Panel
      id="functions"
      title="Workers"
      aside={total === null ? undefined : <a href="/functions">{plural(total, "Worker")}</a>}
    >
      {status === null ? (
        <p>Status unavailable.</p>
      ) : found.length === 0 && total === 0 ? (
        <p class="quiet">No Workers yet.</p>
      ) : found.length === 0 ? (
        <p>
          <State kind="ok">No Worker has gone quiet</State>, and none sends events with logging off.
        </p>
      ) : (
        <ul class="named">
          {found.slice(0, NAMED_MAX).map((finding) => (
            <li>
              <FunctionFinding finding={finding} viewer={viewer} nowMs={nowMs} />
            </li>
          ))}
        </ul>
      )}
      {found.length > NAMED_MAX && (
        <p>
          <a href="/status">{count(found.length - NAMED_MAX)} more</a>
        </p>
      )}
      {total === null && <Closed what="List of Workers" permission="functions:read" />}
    </Panel>
  );
};

const FunctionFinding: FC<{ finding: FindingView; viewer: Viewer; nowMs: number }> = ({ finding, viewer, nowMs }) => {
  const { subject, severity, summary, since } = finding;
  return (
    <>
      <State kind={severity === "error" ? "bad" : "warn"}>{severity}</State>{" "}
      {subject.type === "function" && may(viewer, "functions:read") ? (
        <a href={functionPath(subject.name)}>
          <Foreign text={summary} max={400} />
        </a>
      ) : (
        <Foreign text={summary} max={400} />
      )}
      <Since at={since} nowMs={nowMs} />
    </>
  );
};

/** In place of a part that the viewer may not see. */
export const Closed: FC<{ what: string; permission: string }> = ({ what, permission }) => (
  <p class="quiet">
    {what}: needs the permission <code>{permission}</code>.
  </p>
);

/** The account's totals, as a sum that can be checked. */
export const LedgerPanel: FC<{ ledger: AccountLedgerView; viewer: Viewer; nowMs: number }> = ({
  ledger,
  viewer,
  nowMs,
}) => {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded, queue } = ledger;
  const parts: readonly [number, Child][] = [
    [routed, "sent to jobs"],
    [not_enabled, "logging off"],
    [not_routed, "no job enabled"],
    [set_aside, may(viewer, "logs:edit") ? <a href="/set-aside">on hold</a> : "on hold"],
    [discarded, "discarded"],
  ];
  const sum = parts.reduce((all, [part]) => all + part, 0);
  return (
    <Panel id="ledger" title="All-time totals">
      <p class="sum">
        <span>
          <b>{count(processed)}</b> processed
        </span>
        {parts.map(([amount, what], i) => (
          <span>
            <span class="sign">{i === 0 ? (sum === processed ? "=" : "≠") : "+"}</span> <b>{count(amount)}</b> {what}
          </span>
        ))}
      </p>
      {sum !== processed && <Notice kind="bad" title={`These numbers do not add up: the sum is ${count(sum)}`} />}
      <Facts
        rows={[
          [
            "Queued",
            queue.backlog_messages === null ? (
              <span class="quiet">unknown</span>
            ) : (
              <>
                {plural(queue.backlog_messages, "message")}
                {queue.seen_at !== null && (
                  <span class="quiet">
                    , as of <Ago at={queue.seen_at} nowMs={nowMs} />
                  </span>
                )}
              </>
            ),
          ],
          ["Lost on arrival", ledger.intake_lost === 0 ? "0" : <State kind="bad">{count(ledger.intake_lost)}</State>],
          [
            "Deleted jobs still delivering",
            ledger.draining.length === 0
              ? "none"
              : `${count(ledger.draining.length)}, ${plural(
                  ledger.draining.reduce((all, { pending }) => all + (pending ?? 0), 0),
                  "record",
                )} waiting`,
          ],
        ]}
      />
    </Panel>
  );
};

/** The cost of this month so far, next to the vendor's own. */
export const CostPanel: FC<{ usage: UsageView; nowMs: number }> = ({ usage, nowMs }) => (
  <Panel id="cost" title={`Cost in ${monthInWords(usage.month)} so far`} aside={<a href="/cost">How it is counted</a>}>
    {usage.since === null ? (
      <p class="quiet">Nothing counted yet.</p>
    ) : (
      <>
        <Facts
          rows={[
            ["List price", <span class="price">{dollars(usage.list_price_usd)}</span>],
            ["Logpush, same records", <span class="price">{dollars(usage.vendor_price_usd)}</span>],
            ["Records delivered", count(usage.counted.records_delivered)],
          ]}
        />
        <p class="quiet">
          Counted since <Ago at={usage.since} nowMs={nowMs} />; partly derived.
          {usage.silent_jobs.length > 0 && ` Missing: ${plural(usage.silent_jobs.length, "job")} not answering.`}
        </p>
      </>
    )}
  </Panel>
);
