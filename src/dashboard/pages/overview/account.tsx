import type { Child, FC } from "hono/jsx";
import { Foreign } from "../../parts/foreign.tsx";
import { may } from "../../parts/form.tsx";
import { Facts, Notice, Panel, State } from "../../parts/panel.tsx";
import { Ago, count, dollars, monthInWords, plural } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { AccountLedgerView, FindingView, StatusView, UsageView } from "../../views/account.ts";
import { functionPath } from "../functions/logging.tsx";

/** What of the status is about functions that do not ship as they used to, or as somebody wants. */
const FUNCTION_KINDS: ReadonlySet<string> = new Set([
  "function_quiet",
  "function_off",
  "function_never_seen",
  "attachment_undone",
  "attachment_unknown",
  "functions_more",
  "functions_not_watched",
]);

/** So many are named. */
const NAMED_MAX = 8;

/** Findings about functions. */
export function functionFindings(findings: readonly FindingView[]): FindingView[] {
  return findings.filter(({ kind }) => FUNCTION_KINDS.has(kind));
}

/** How many functions there are, and which of them went quiet. @param total null: that is not open to the viewer. */
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
      title="Functions"
      aside={total === null ? undefined : <a href="/functions">{plural(total, "function")}</a>}
    >
      {status === null ? (
        <p>Whether any function went quiet cannot be told at the moment.</p>
      ) : found.length === 0 && total === 0 ? (
        <p class="quiet">No function was seen yet.</p>
      ) : found.length === 0 ? (
        <p>
          <State kind="ok">No function has gone quiet</State>, and none sends events while its logging is off.
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
          <a href="/status">{count(found.length - NAMED_MAX)} more of these</a>
        </p>
      )}
      {total === null && <Closed what="The functions themselves" permission="functions:read" />}
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
      {since !== null && (
        <span class="quiet">
          {" "}
          Since <Ago at={since} nowMs={nowMs} />.
        </span>
      )}
    </>
  );
};

/** What of a page somebody does not see, and what it takes. */
export const Closed: FC<{ what: string; permission: string }> = ({ what, permission }) => (
  <p class="quiet">
    {what}: needs the permission <code>{permission}</code>.
  </p>
);

/** What became of everything that ever came, as a sum that anybody can check. */
export const LedgerPanel: FC<{ ledger: AccountLedgerView; viewer: Viewer; nowMs: number }> = ({
  ledger,
  viewer,
  nowMs,
}) => {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded, queue, outbox } = ledger;
  const parts: readonly [number, Child][] = [
    [routed, "offered to jobs"],
    [not_enabled, "logging off"],
    [not_routed, "no job on"],
    [set_aside, may(viewer, "logs:edit") ? <a href="/set-aside">set aside</a> : "set aside"],
    [discarded, "discarded"],
  ];
  const sum = parts.reduce((all, [part]) => all + part, 0);
  return (
    <Panel id="ledger" title="Every event since the beginning">
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
      {sum !== processed && (
        <Notice kind="bad" title={`The account's numbers do not add up: the sum is ${count(sum)}`} />
      )}
      <Facts
        rows={[
          [
            "Waits in the queue",
            queue.backlog_messages === null ? (
              <span class="quiet">not known yet</span>
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
          [
            "Waits for the queue",
            outbox.oldest === null ? (
              "nothing"
            ) : (
              <>
                {plural(outbox.events, "event")}, the oldest from <Ago at={outbox.oldest} nowMs={nowMs} />
              </>
            ),
          ],
          [
            "Lost on the way in",
            ledger.intake_lost === 0 ? "0" : <State kind="bad">{count(ledger.intake_lost)}</State>,
          ],
          [
            "Deleted jobs that still deliver",
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

/** What this month cost so far, beside what the vendor's own would. */
export const CostPanel: FC<{ usage: UsageView; nowMs: number }> = ({ usage, nowMs }) => (
  <Panel
    id="cost"
    title={`What ${monthInWords(usage.month)} cost so far`}
    aside={<a href="/cost">How that is counted</a>}
  >
    {usage.since === null ? (
      <p class="quiet">Nothing was counted yet.</p>
    ) : (
      <>
        <Facts
          rows={[
            ["By list price", <span class="price">{dollars(usage.list_price_usd)}</span>],
            ["The vendor's own, for the same records", <span class="price">{dollars(usage.vendor_price_usd)}</span>],
            ["Records delivered", count(usage.counted.records_delivered)],
          ]}
        />
        <p class="quiet">
          Counted since <Ago at={usage.since} nowMs={nowMs} />; partly derived.
          {usage.silent_jobs.length > 0 &&
            ` ${plural(usage.silent_jobs.length, "job does", "jobs do")} not answer, and ${usage.silent_jobs.length === 1 ? "is" : "are"} missing.`}
        </p>
      </>
    )}
  </Panel>
);
