import { LogShards } from "../../ship/log/log-shards.ts";
import { controlPlane } from "../../state/control/plane.ts";
import { ACCOUNT_LEDGER } from "./docs/account.ts";
import { isoTime, success } from "./envelope.ts";
import { logStatus, SILENT, shardsOfLog } from "./job-view.ts";
import type { AppContext, Resources } from "./route.ts";

export const ledgerRoutes: Resources = {
  "/ledger": { GET: { permission: "logs:read", doc: ACCOUNT_LEDGER, handle: readLedger } },
};

async function readLedger(c: AppContext): Promise<Response> {
  const status = await new LogShards(c.env).status();
  const deleted = await controlPlane(c.env.CONTROL).draining();
  const shards = await shardsOfLog(
    c.env,
    deleted.map(({ id }) => id),
  );
  const draining = await Promise.all(
    deleted.map(async ({ id, deletedMs }) => {
      const log = await logStatus(c.env, id, shards);
      return {
        id,
        deleted_at: isoTime(deletedMs),
        pending: log === undefined ? null : (log?.counts.pending ?? 0),
        error_message: log === undefined ? SILENT : (log?.errorMessage ?? null),
      };
    }),
  );
  return success(c, {
    ...status.counts,
    queue: { backlog_messages: status.queueBacklog, seen_at: isoTime(status.queueSeenMs) },
    intake_lost: status.intakeLost,
    intake_unfit: status.intakeUnfit,
    kept_since: isoTime(status.keptSinceMs ?? null),
    draining: draining.filter(({ pending }) => pending !== 0),
  });
}
