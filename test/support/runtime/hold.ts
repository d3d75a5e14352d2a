import { createMessageBatch } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Delivery } from "../../../src/queue/delivery.ts";
import { putAside } from "../../../src/set-aside/keep.ts";
import type { HoldMessage } from "../../../src/trace-log/on-hold.ts";
import { traceLog } from "../../../src/trace-log/trace-log.ts";
import { NOON } from "./pipeline.ts";

/** Sets a message aside, as the queue handler does. @param unreadable why it cannot be read. */
export async function putOnHold(body: ArrayBuffer, why = "failed too often", unreadable?: string): Promise<void> {
  const [message] = createMessageBatch("q", [{ id: "1", timestamp: new Date(NOON), attempts: 1, body }]).messages;
  if (message === undefined) throw new Error("a batch without its message");
  const hold = (shard: number, held: HoldMessage) => traceLog(env.TRACE_LOG, shard).hold(held);
  const delivery = new Delivery(message);
  await putAside(delivery, "q", why, { hold }, unreadable);
  if (delivery.fate !== "set_aside") throw new Error("the message is not set aside");
}
