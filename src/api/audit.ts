import { forAudit } from "../access/audit.ts";
import { type AuditEntry, type Audited, accessRegister } from "../access/register.ts";
import { ApiError } from "../errors.ts";
import { AUDIT_TEXT_MAX } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";
import { sentBody } from "./body.ts";
import { AuditPage, LIST_AUDIT } from "./docs/access.ts";
import { listed } from "./envelope.ts";
import { queryOf } from "./query.ts";
import type { AppContext, Resource } from "./route.ts";

/** How long a note may take, in ms: the change is made, and whoever made it waits for his answer. */
const NOTE_MS = 3_000;

export const auditRoutes: readonly Resource[] = [
  {
    path: "/audit",
    methods: {
      GET: {
        permission: "access:edit",
        doc: LIST_AUDIT,
        async handle(c) {
          const { page, per_page: perPage } = queryOf(c, AuditPage);
          const read: { entries: Audited[]; total: number } = await accessRegister(c.env.ACCESS).audit(
            (page - 1) * perPage,
            perPage,
          );
          return listed(c, read.entries.map(present), { page, perPage, total: read.total });
        },
      },
    },
  },
];

function present({ number, atMs, actor, action, resource, outcome, body, requestId }: Audited): object {
  return {
    id: number,
    at: new Date(atMs).toISOString(),
    actor,
    action,
    resource,
    outcome,
    body,
    request_id: requestId,
  };
}

/**
 * Runs a change, and notes it: `done` if it succeeded, `unconfirmed` if it failed in a way after which it may have been made all the same. What was
 * refused is no change. A note that cannot be written does not undo the change, nor hide it from whoever made it: the log says so.
 */
export async function noted(c: AppContext, action: string, run: () => Promise<Response>): Promise<Response> {
  // Of callers whom the platform judges, nothing before it has: whoever makes up bearers must not fill the audit.
  const isKnown = (): boolean => c.var.caller.kind !== "platform" || c.var.accepted === true;
  let response: Response;
  try {
    response = await run();
  } catch (error) {
    if (isKnown() && (!(error instanceof ApiError) || error.status >= 500)) await note(c, action, "unconfirmed", null);
    throw error;
  }
  if (response.ok && isKnown()) await note(c, action, "done", response);
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
    log.error("a change was not noted in the audit", { action, kind, id, error: errorText(error) });
  }
}

/** What the path names; null: a whole collection. */
function pathResource(c: AppContext): string | null {
  const named = Object.entries(c.req.param()).filter(([name]) => name !== "account_id" && name !== "dataset");
  const value = named[0]?.[1];
  return value === undefined ? null : value.slice(0, AUDIT_TEXT_MAX).toWellFormed();
}

/** The id of what was created; of the answer, nothing else is looked at, as it may hold a secret. */
async function madeResource(response: Response): Promise<string | null> {
  const { result } = (await response.clone().json()) as { result: { id?: unknown } | null };
  const id = result?.id;
  return typeof id === "number" || typeof id === "string" ? `${id}` : null;
}
