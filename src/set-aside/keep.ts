import { createHash } from "node:crypto";
import type { SetAsideMessage } from "../account/ledger.ts";
import { encodeUtf8 } from "../bytes.ts";
import { errorText, log } from "../log.ts";
import { idOf } from "../object/build.ts";
import { wholeMessage } from "../object/load.ts";
import type { Blobs } from "../queue/blob-store.ts";
import { decodeEnvelope, decodeMessage } from "../queue/message.ts";
import { retry } from "../queue/redelivery.ts";

export interface AsideContext {
  setAside(message: SetAsideMessage): Promise<void>;
  blobs: Pick<Blobs, "get">;
}

/**
 * Hands a message to the account's keeping, with what it refers to; if even that fails, it stays in the queue.
 * @param unreadable why its records cannot be read, if that is known already.
 */
export async function putAside(
  delivery: Message<unknown>,
  queue: string,
  why: string,
  { setAside, blobs }: AsideContext,
  unreadable?: string,
): Promise<void> {
  try {
    const whole = await wholeMessage(delivery.body, blobs);
    const body = "body" in whole ? whole.body : delivery.body;
    const identity = identityOf(body, delivery.timestamp.getTime());
    await setAside({
      ...(unreadable !== undefined && { unreadable }),
      ...identity,
      queue,
      why,
      message: bytesOf(body).slice().buffer,
    });
    delivery.ack();
  } catch (error) {
    log.error("setting a message aside failed", { error: errorText(error) });
    retry(delivery);
  }
}

/** What a message is remembered by and how many events it counts as. */
function identityOf(
  body: unknown,
  deliveredMs: number,
): Pick<SetAsideMessage, "taken" | "noted" | "events" | "unreadable"> {
  const decoded = decodeMessage(body);
  if (decoded.ok) return { taken: idOf(decoded.value), events: decoded.value.records };
  const envelope = decodeEnvelope(body);
  // A reference whose records are gone: its header is all there is, and it was ours once.
  if (envelope.ok && envelope.value.elsewhere !== null)
    return { taken: idOf(envelope.value), events: 1, unreadable: decoded.why };
  // Nothing that it says of itself can be believed: its bytes tell who it is, whenever it comes again, and it counts as one event.
  const id = createHash("sha256").update(bytesOf(body)).digest("hex").slice(0, 32);
  const taken = { id, takenInMs: deliveredMs, keyed: true };
  return { taken, ...(envelope.ok && { noted: idOf(envelope.value) }), events: 1, unreadable: decoded.why };
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
