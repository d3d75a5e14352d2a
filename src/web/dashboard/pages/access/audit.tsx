import type { FC } from "hono/jsx";
import type { AuditEntry as Change } from "../../../api/docs/access.ts";
import type { Page, PageContext, View } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { paged } from "../../parts/pager.tsx";
import { Empty, Panel, State, Table } from "../../parts/panel.tsx";
import { Time } from "../../parts/values.tsx";

export const auditPages: readonly Page[] = [
  { path: "/access/audit", get: { permission: "access:edit", show: auditView } },
];

const PER_PAGE = 25;

/** Part of a body that is shown, in UTF-16 units. */
const BODY_SHOWN = 4_000;

async function auditView(context: PageContext): Promise<View> {
  const { items, page, pager } = await paged<Change>(context, "/logship/audit", { of: "changes", perPage: PER_PAGE });
  return {
    title: "Changes",
    parts: [
      <p class="quiet">
        Changes through the API or these pages, and refused credentials, newest first. logship keeps them for 90 days.
        Reads, events and other rejected requests are not here.
      </p>,
      <Panel id="all-changes" title="All changes">
        {(items.length > 0 || page === 1) && <Changes changes={items} />}
        {pager}
      </Panel>,
    ],
  };
}

export const Changes: FC<{ changes: readonly Change[] }> = ({ changes }) =>
  changes.length === 0 ? (
    <Empty title="No changes yet">
      <p>Changes to jobs, Workers, tokens, members and the webhook appear here, with who made them.</p>
    </Empty>
  ) : (
    <Table
      caption="Changes"
      columns={["When", "Who", "What", "Of", "Outcome", "Sent"]}
      rows={changes.map((change) => [
        <When change={change} />,
        <>
          <Foreign text={change.actor.name} max={120} />
          <span class="quiet"> {change.actor.kind}</span>
        </>,
        <Foreign as="code" text={change.action} max={80} />,
        <Resource change={change} />,
        <State kind={change.outcome === "done" ? "ok" : "warn"}>{change.outcome}</State>,
        <Body change={change} />,
      ])}
    />
  );

const When: FC<{ change: Change }> = ({ change: { at, times, first_at } }) => (
  <>
    <Time at={at} />
    {times > 1 && (
      <span class="quiet">
        {" "}
        {times} times since <Time at={first_at} />
      </span>
    )}
  </>
);

const Resource: FC<{ change: Change }> = ({ change: { action, resource } }) => {
  if (resource === null) return <span class="quiet">{action.startsWith("webhook.") ? "the webhook" : "unknown"}</span>;
  if (action.startsWith("job.") && /^[1-9]\d{0,14}$/.test(resource))
    return <a href={`/jobs/${resource}`}>job {resource}</a>;
  return <Foreign text={resource} max={120} />;
};

const Body: FC<{ change: Change }> = ({ change: { id, body, request_id } }) => (
  <details>
    <summary>
      Details<span class="unseen"> of change {id}</span>
    </summary>
    {body === null ? (
      <p class="quiet">No body.</p>
    ) : (
      <Foreign as="pre" class="text" text={JSON.stringify(body, null, 2)} max={BODY_SHOWN} />
    )}
    {request_id !== null && (
      <p class="quiet">
        Request <Foreign text={request_id} max={120} />
      </p>
    )}
  </details>
);
