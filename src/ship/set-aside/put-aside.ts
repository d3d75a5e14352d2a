import { createHash } from "node:crypto";
import { encodeUtf8 } from "../../base/bytes.ts";
import { errorText, log } from "../../base/logger.ts";
import { idOf } from "../../formats/queue/message.ts";
import type { Delivery } from "../../formats/queue/retries.ts";
import type { HoldMessage } from "../log/on-hold.ts";

export interface AsideContext {
  hold(shard: number, message: HoldMessage): Promise<void>;
}

/**
 * Sets a message aside: its shard stores it whole, and remembers its parts. If that fails, it goes
 * back to the queue.
 * @param unreadable why its records cannot be read, if they cannot.
 */
export async function putAside(
  delivery: Delivery,
  queue: string,
  why: string,
  { hold }: AsideContext,
  unreadable?: string,
): Promise<void> {
  try {
    const message = bytesOf(delivery.body).slice().buffer;
    await hold(delivery.shard, {
      ...{ message, queue, why },
      parts: delivery.envelope.ok
        ? delivery.envelope.value.parts.map((part) => ({ ...idOf(part), records: part.records }))
        : [],
      hash: hashOf(message, delivery.queuedMs),
      ...(unreadable !== undefined && { unreadable }),
    });
    delivery.ack("set_aside");
  } catch (error) {
    log.error("setting a message aside failed", { error: errorText(error) });
    delivery.retry();
  }
}

/** A hash of the bytes is the same at each delivery. */
function hashOf(message: ArrayBuffer, queuedMs: number): HoldMessage["hash"] {
  const id = createHash("sha256").update(new Uint8Array(message)).digest("hex").slice(0, 32);
  return { id, takenInMs: queuedMs, keyed: true };
}

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  let text: string;
  try {
    text = typeof body === "string" ? body : (JSON.stringify(body) ?? String(body));
  } catch {
    text = String(body);
  }
  return encodeUtf8(text);
}
