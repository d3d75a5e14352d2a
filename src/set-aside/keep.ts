import { createHash } from "node:crypto";
import type { SetAsideMessage } from "../account/ledger.ts";
import { encodeUtf8 } from "../bytes.ts";
import { errorText, log } from "../log.ts";
import { wholeMessage } from "../object/load.ts";
import type { Blobs } from "../queue/blob-store.ts";
import type { Delivery } from "../queue/delivery.ts";
import { idOf } from "../queue/message.ts";

export interface AsideContext {
  setAside(message: SetAsideMessage): Promise<void>;
  blobs: Pick<Blobs, "get">;
}

/**
 * Sets a message aside: the ledger stores it whole, a reference with its records. If that fails, it
 * goes back to the queue.
 * @param unreadable why its records cannot be read, if that is known already.
 */
export async function putAside(
  delivery: Delivery,
  queue: string,
  why: string,
  { setAside, blobs }: AsideContext,
  unreadable?: string,
): Promise<void> {
  try {
    const whole = await wholeMessage(delivery, blobs);
    await setAside({
      ...(unreadable !== undefined && { unreadable }),
      ...identityOf(delivery, whole),
      queue,
      why,
      message: bytesOf(whole.body).slice().buffer,
    });
    delivery.ack("set_aside");
  } catch (error) {
    log.error("setting a message aside failed", { error: errorText(error) });
    delivery.retry();
  }
}

/** The id that a message is remembered by, and how many events it counts as. */
function identityOf(
  { taken, queuedMs }: Delivery,
  { body, content, isMissing }: Awaited<ReturnType<typeof wholeMessage>>,
): Pick<SetAsideMessage, "taken" | "noted" | "events" | "unreadable"> {
  if (content.ok) return { taken: idOf(content.value), events: content.value.records };
  // Its header was valid once, and is all that is left.
  if (isMissing && taken !== null) return { taken, events: 1, unreadable: content.why };
  // Its header cannot be trusted. A hash of the bytes is the same at each delivery; it counts as
  // one event.
  const id = createHash("sha256").update(bytesOf(body)).digest("hex").slice(0, 32);
  return {
    taken: { id, takenInMs: queuedMs, keyed: true },
    ...(taken !== null && { noted: taken }),
    events: 1,
    unreadable: content.why,
  };
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
