import { unavailable } from "../errors.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";
import type { Finding } from "../status/types.ts";
import { type Sight, watch } from "../status/watch.ts";
import { type Finding as FindingView, READ_STATUS } from "./docs/status.ts";
import { isoTime, success } from "./envelope.ts";
import type { AppContext, Resource } from "./route.ts";

/** How long a check may take, in ms; its own bounds are shorter. Tests override it. */
export const LOOK_PATIENCE = { ms: 25_000 };

export const statusRoutes: readonly Resource[] = [
  { path: "/status", methods: { GET: { permission: "logs:read", doc: READ_STATUS, handle: readStatus } } },
];

async function readStatus(c: AppContext): Promise<Response> {
  const { checkedMs, findings, notices } = await look(c.env.WATCH);
  const errors = findings.filter(({ severity }) => severity === "error").length;
  return success(c, {
    ok: findings.length === 0,
    checked_at: isoTime(checkedMs),
    errors,
    warnings: findings.length - errors,
    findings: findings.map(present),
    notices: notices ?? [],
  });
}

/** @throws ApiError 503: a check that did not run is not a check that found nothing. */
async function look(namespace: Env["WATCH"]): Promise<Sight> {
  try {
    const seen = await answered("the watch", LOOK_PATIENCE.ms, watch(namespace).look());
    if (seen !== null) return seen;
    throw new Error("it could not check");
  } catch (error) {
    log.error("the watch did not answer", { error: errorText(error) });
    throw unavailable("the watch does not answer, so the status is unknown; repeat the request");
  }
}

function present({ kind, severity, subject, sinceMs, affected, summary, advice }: Finding): FindingView {
  return { kind: kind as FindingView["kind"], severity, subject, since: isoTime(sinceMs), affected, summary, advice };
}
