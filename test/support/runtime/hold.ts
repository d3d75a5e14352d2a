/** What is set aside: messages, and entries of the log. */
import { createMessageBatch, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Delivery } from "../../../src/formats/queue/retries.ts";
import type { HoldMessage } from "../../../src/ship/log/on-hold.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { putAside } from "../../../src/ship/set-aside/put-aside.ts";
import { api } from "./api.ts";
import { NOON, readAll } from "./pipeline.ts";

/** Sets a message aside, as the queue handler does. @param unreadable why it cannot be read. */
export async function putOnHold(body: ArrayBuffer, why = "failed too often", unreadable?: string): Promise<void> {
  const [message] = createMessageBatch("q", [{ id: "1", timestamp: new Date(NOON), attempts: 1, body }]).messages;
  if (message === undefined) throw new Error("a batch without its message");
  const hold = (shard: number, held: HoldMessage) => traceLog(env.TRACE_LOG, shard).hold(held);
  const delivery = new Delivery(message);
  await putAside(delivery, "q", why, { hold }, unreadable);
  if (delivery.fate !== "set_aside") throw new Error("the message is not set aside");
}

/**
 * Has a job's reader die of a message, the only one on hold, which is sent again.
 * @returns the name of the entry that is set aside then.
 */
export async function poison(jobId: number, message: ArrayBuffer): Promise<string> {
  await readAll();
  await putOnHold(message);
  const [held] = (await api<{ id: string }[]>("GET", "/logship/set-aside")).body.result;
  await api("POST", `/logship/set-aside/${held?.id}/resend`);
  const { n } = await runInDurableObject(traceLog(env.TRACE_LOG, 0), (_log, { storage }) =>
    storage.sql.exec<{ n: number }>("SELECT last_block AS n FROM state").one(),
  );
  await runInDurableObject(nodeAt(env.READERS, jobId, 0), (_reader, { storage }) => {
    storage.sql.exec("INSERT INTO unmade (n, k, tries) VALUES (?, 0, 3)", n);
  });
  await readAll();
  return `entry-${jobId}-0-${n}`;
}
