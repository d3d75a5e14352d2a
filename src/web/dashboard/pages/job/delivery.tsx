import type { Child, FC } from "hono/jsx";
import { duration, plural } from "../../../../base/words.ts";
import type { AuditEntry } from "../../../api/docs/access.ts";
import type { PageContext } from "../../page.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Action, may } from "../../parts/form.tsx";
import { Facts, type Kind, Panel, State } from "../../parts/panel.tsx";
import { Ago } from "../../parts/values.tsx";
import type { Viewer } from "../../session.ts";
import type { JobView, LedgerView } from "../../views/job.ts";
import { pendingWords } from "./job-text.ts";

/** Seconds between refreshes. */
const REFRESH_S = 5;

/** Who paused a job, and when; null: it is unknown. */
export type Paused = Pick<AuditEntry, "actor" | "at"> | null;

/** Entries of the audit that are looked at. */
const AUDIT_SHOWN = 100;

/** Of a paused job, from the audit, if the viewer may read it. Never fails. */
export async function loadPaused({ api, viewer }: PageContext, { id, enabled }: JobView): Promise<Paused> {
  if (enabled || !may(viewer, "access:edit")) return null;
  const audit = await api.list<AuditEntry>("/logship/audit", { per_page: AUDIT_SHOWN }).catch(() => ({ items: [] }));
  const paused = ({ action, resource, body }: AuditEntry): boolean =>
    action === "job.update" && resource === `${id}` && (body as { enabled?: unknown } | null)?.enabled === false;
  return audit.items.find(paused) ?? null;
}

/**
 * Whether it delivers, and what it waits for: `Delivering; behind by 12 s`.
 * @param ledger null: its log does not answer.
 */
export function deliveryWords(
  { enabled, error_message: error }: Pick<JobView, "enabled" | "error_message">,
  ledger: Pick<LedgerView, "pending" | "oldest_pending_seconds" | "next_try"> | null,
  nowMs: number,
): { kind: Kind; words: string } {
  const behind = ledger?.oldest_pending_seconds ?? null;
  const late = behind === null ? "" : `; behind by ${duration(behind * 1_000)}`;
  if (error !== null) {
    const [what = ""] = error.split("; records are kept");
    const next = ledger?.next_try ? `; next try in ${duration(Date.parse(ledger.next_try) - nowMs)}` : "";
    return { kind: "bad", words: `${what.charAt(0).toUpperCase()}${what.slice(1)}; records are kept${next}` };
  }
  if (!enabled) return { kind: "warn", words: `Paused: events that arrive now are never shipped${late}` };
  if (ledger === null) return { kind: "warn", words: "Its log does not answer" };
  return { kind: "ok", words: `Delivering${ledger.pending === 0 ? "; nothing is waiting" : late}` };
}

export const DeliveryPanel: FC<{
  job: JobView;
  ledger: LedgerView | null;
  paused: Paused;
  viewer: Viewer;
  nowMs: number;
  isReadable: boolean;
}> = ({ job, ledger, paused, viewer, nowMs, isReadable }) => {
  const { kind, words } = deliveryWords(job, ledger, nowMs);
  return (
    <Panel id="delivery" title="Delivery">
      <div id="state" data-refresh={REFRESH_S}>
        <p class="lead">
          <State kind={kind}>
            <Foreign text={words} max={2_000} />
          </State>
          {paused !== null && (
            <span class="quiet">
              {" "}
              By <Foreign text={paused.actor.name} max={120} />, <Ago at={paused.at} nowMs={nowMs} />
            </span>
          )}
          {job.error_message !== null && (
            <>
              {" "}
              <a href="/status">What to do</a>
            </>
          )}
        </p>
        <Facts rows={factsOf(job, ledger, nowMs)} />
      </div>
      <Actions job={job} viewer={viewer} isReadable={isReadable} />
    </Panel>
  );
};

function factsOf(job: JobView, ledger: LedgerView | null, nowMs: number): [string, Child][] {
  const { last_complete: complete } = job;
  const held = ledger?.set_aside ?? 0;
  return [
    ["Delivered up to", complete === null ? "nothing yet" : <Ago at={complete} nowMs={nowMs} />],
    ...(ledger === null || ledger.pending === 0
      ? []
      : [["Waiting", <Foreign text={pendingWords(job, ledger)} />] as [string, Child]]),
    ...(held === 0 ? [] : [["On hold", <a href="/set-aside">{plural(held, "record")}</a>] as [string, Child]]),
  ];
}

const Actions: FC<{ job: JobView; viewer: Viewer; isReadable: boolean }> = ({ job, viewer, isReadable }) => {
  const path = `/jobs/${job.id}`;
  const shared = { viewer, needs: "logs:edit" } as const;
  return (
    <>
      <div class="actions">
        <Action {...shared} action={`${path}/flush`} label="Flush now" />
        {job.enabled ? (
          <Action {...shared} action={`${path}/enabled`} label="Pause" fields={{ enabled: "false" }} />
        ) : (
          <Action {...shared} action={`${path}/enabled`} label="Resume" fields={{ enabled: "true" }} kind="primary" />
        )}
        <Way viewer={viewer} href={`${path}/edit`} label="Edit" />
        <Way viewer={viewer} href={`/jobs/new?from=${job.id}`} label="Duplicate" />
        {isReadable && (
          <a class="button" href={`${path}/replay`}>
            Replay
          </a>
        )}
        <Way viewer={viewer} href={`${path}/delete`} label="Delete" />
      </div>
      {!may(viewer, "logs:edit") && <p class="quiet">Changing a job needs the permission logs:edit.</p>}
    </>
  );
};

/** A link to a page that changes something. */
const Way: FC<{ viewer: Viewer; href: string; label: string }> = ({ viewer, href, label }) =>
  may(viewer, "logs:edit") ? (
    <a class="button" href={href}>
      {label}
    </a>
  ) : (
    <button type="button" disabled title="needs the permission logs:edit">
      {label}
      <span class="unseen"> (needs the permission logs:edit)</span>
    </button>
  );
