import { ApiError } from "../../base/errors.ts";
import { AUDIT_TEXT_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import { forAudit } from "../../state/access/audit.ts";
import type { AuditEntry, Audited } from "../../state/access/audit-book.ts";
import { accessRegister } from "../../state/access/register.ts";
import { sentBody } from "./body.ts";
import { type AuditEntry as AuditView, LIST_AUDIT } from "./docs/access.ts";
import { isoTime, listed } from "./envelope.ts";
import { queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";

/** How long writing an entry may take, in ms: the change is made, and the caller waits. */
const NOTE_MS = 3_000;

export const auditRoutes: Resources = {
  "/audit": { GET: { permission: "access:edit", doc: LIST_AUDIT, handle: listAudit } },
};

async function listAudit(c: AppContext): Promise<Response> {
  const { page, per_page: perPage } = queryOf(c, LIST_AUDIT);
  const register = accessRegister(c.env.ACCESS);
  const { entries, total }: { entries: Audited[]; total: number } = await register.audit((page - 1) * perPage, perPage);
  return listed(c, entries.map(present), { page, perPage, total });
}

function present({ number, atMs, times, sinceMs, ...entry }: Audited): AuditView {
  const { actor, action, resource, outcome, body, requestId } = entry;
  const kind = actor.kind as AuditView["actor"]["kind"];
  const change = { action, resource, outcome, body };
  const repeats = { times, first_at: isoTime(sinceMs) };
  return { id: number, at: isoTime(atMs), ...repeats, actor: { ...actor, kind }, ...change, request_id: requestId };
}

/**
 * Runs a change and writes it to the audit: `done` if it succeeded, `unconfirmed` if it failed but
 * may have been made. A refused change is not written, nor is one that changed nothing. If the
 * entry cannot be written, the change stands and the log says so.
 */
export async function noted(c: AppContext, action: string, run: () => Promise<Response>): Promise<Response> {
  // A caller that only the platform knows counts once the platform accepts it: made-up bearers must
  // not fill the audit.
  const isKnown = (): boolean => c.var.caller.kind !== "platform" || c.var.accepted === true;
  let response: Response;
  try {
    response = await run();
  } catch (error) {
    if (isKnown() && (!(error instanceof ApiError) || error.status >= 500)) await note(c, action, "unconfirmed", null);
    throw error;
  }
  if (response.ok && isKnown() && c.var.unchanged !== true) await note(c, action, "done", response);
  return response;
}

async function note(
  c: AppContext,
  action: string,
  outcome: AuditEntry["outcome"],
  response: Response | null,
): Promise<void> {
  const { kind, id, name } = c.var.caller;
  try {
    const entry: AuditEntry = {
      actor: { kind, id, name },
      action,
      resource: pathResource(c) ?? (response === null ? null : await madeResource(response)),
      outcome,
      body: forAudit(sentBody(c.req.raw)),
      requestId: c.var.requestId,
    };
    await answered("the access register", NOTE_MS, accessRegister(c.env.ACCESS).note(entry));
  } catch (error) {
    log.error("a change is missing in the audit", { action, kind, id, error: errorText(error) });
  }
}

/** The id in the path; null: the path names a whole collection. */
function pathResource(c: AppContext): string | null {
  const named = Object.entries(c.req.param()).filter(([name]) => name !== "account_id" && name !== "dataset");
  const value = named[0]?.[1];
  return value === undefined ? null : value.slice(0, AUDIT_TEXT_MAX).toWellFormed();
}

/** The id of what was created. Nothing else of the answer is read: it may hold a secret. */
async function madeResource(response: Response): Promise<string | null> {
  const { result } = (await response.clone().json()) as { result: { id?: unknown } | null };
  const id = result?.id;
  return typeof id === "number" || typeof id === "string" ? `${id}` : null;
}
