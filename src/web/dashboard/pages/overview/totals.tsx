import type { Child, FC } from "hono/jsx";
import { count, dollars, monthInWords, plural } from "../../../../base/words.ts";
import { may } from "../../parts/form.tsx";
import { Notice, State } from "../../parts/panel.tsx";
import type { Viewer } from "../../session.ts";
import type { AccountLedgerView, UsageView } from "../../views/account.ts";

/** The account's totals, as a sum that can be checked; what is zero is left out. */
export const Totals: FC<{ ledger: AccountLedgerView; viewer: Viewer }> = ({ ledger, viewer }) => {
  const { processed, routed, not_enabled, not_routed, set_aside, discarded, queue, draining, intake_lost } = ledger;
  const parts: readonly [number, Child][] = [
    [routed, "sent to jobs"],
    [not_enabled, "logging off"],
    [not_routed, "no job enabled"],
    [set_aside, may(viewer, "logs:edit") ? <a href="/set-aside">on hold</a> : "on hold"],
    [discarded, "discarded"],
  ];
  const sum = parts.reduce((all, [part]) => all + part, 0);
  const backlog = queue.backlog_messages;
  return (
    <div id="ledger">
      {sum !== processed && <Notice kind="bad" title={`These numbers do not add up: the sum is ${count(sum)}`} />}
      <p class="ways quiet">
        <span>
          In all <b>{count(processed)}</b> processed {sum === processed ? "=" : "≠"}{" "}
          {parts
            .filter(([amount], i) => i === 0 || amount > 0)
            .map(([amount, what], i) => (
              <>
                {i > 0 && " + "}
                {count(amount)} {what}
              </>
            ))}
        </span>
        <span>{intake_lost === 0 ? "0 lost on arrival" : <Lost count={intake_lost} />}</span>
        {backlog !== 0 && <span>{backlog === null ? "queue unknown" : `${plural(backlog, "message")} queued`}</span>}
        {draining.length > 0 && <a href="/jobs#draining">{plural(draining.length, "deleted job")} still delivering</a>}
      </p>
    </div>
  );
};

const Lost: FC<{ count: number }> = ({ count: lost }) => <State kind="bad">{count(lost)} lost on arrival</State>;

/** The cost of this month so far, next to the vendor's own. */
export const Cost: FC<{ usage: UsageView }> = ({ usage }) => (
  <p id="cost" class="quiet">
    {usage.since === null ? (
      <a href="/cost">Nothing counted yet</a>
    ) : (
      <>
        <a href="/cost">Cost in {monthInWords(usage.month)}</a> so far {dollars(usage.list_price_usd)}, by Logpush{" "}
        {dollars(usage.vendor_price_usd)}
        {usage.silent_jobs.length > 0 && `; missing: ${plural(usage.silent_jobs.length, "job")} not answering`}
      </>
    )}
  </p>
);
