import { unavailable } from "../errors.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";
import type { Finding } from "../status/types.ts";
import { watch } from "../status/watch.ts";
import { READ_STATUS } from "./docs/status.ts";
import { success } from "./envelope.ts";
import type { Resource } from "./route.ts";

/** How long a look may take, in ms: it bounds itself to less. Overridden by tests, which do not wait. */
export const LOOK_PATIENCE = { ms: 25_000 };

export const statusRoutes: readonly Resource[] = [
  {
    path: "/status",
    methods: {
      GET: {
        permission: "logs:read",
        doc: READ_STATUS,
        async handle(c) {
          const { checkedMs, findings } = await look(c.env.WATCH);
          const errors = findings.filter(({ severity }) => severity === "error").length;
          return success(c, {
            ok: findings.length === 0,
            checked_at: new Date(checkedMs).toISOString(),
            errors,
            warnings: findings.length - errors,
            findings: findings.map(present),
          });
        },
      },
    },
  },
];

/** @throws ApiError 503: that nobody looks is not the same as that nothing is wrong. */
async function look(namespace: Env["WATCH"]): Promise<{ checkedMs: number; findings: readonly Finding[] }> {
  try {
    const seen = await answered("the watch", LOOK_PATIENCE.ms, watch(namespace).look());
    if (seen !== null) return seen;
    throw new Error("it could not look");
  } catch (error) {
    log.error("the watch does not tell what is wrong", { error: errorText(error) });
    throw unavailable("the watch does not answer: nobody can tell whether anything is wrong; repeat the request");
  }
}

function present({ kind, severity, subject, sinceMs, affected, summary, advice }: Finding): object {
  const since = sinceMs === null ? null : new Date(sinceMs).toISOString();
  return { kind, severity, subject, since, affected, summary, advice };
}
