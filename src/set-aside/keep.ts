import { createHash } from "node:crypto";
import { encodeUtf8 } from "../bytes.ts";
import { errorText, log } from "../log.ts";
import { wholeMessage } from "../object/load.ts";
import type { Blobs } from "../queue/blob-store.ts";
import type { Delivery } from "../queue/delivery.ts";
import { encodeExtras } from "../queue/extras.ts";
import { encodeParts, idOf, joinMessage } from "../queue/message.ts";
import { linesOfParts } from "../queue/parts.ts";
import type { SetAsideMessage } from "../trace-log/trace-log.ts";

export interface AsideContext {
  setAside(message: SetAsideMessage): Promise<void>;
  blobs: Pick<Blobs, "get">;
}

/**
 * Sets a message aside: the ledger stores it whole, a reference with its records; of several parts,
 * each as a message of its own, as the ledger may have counted some of them. If that fails, it goes
 * back to the queue.
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
    for (const message of messagesOf(delivery, await wholeMessage(delivery, blobs)))
      await setAside({ ...(unreadable !== undefined && { unreadable }), ...message, queue, why });
    delivery.ack("set_aside");
  } catch (error) {
    log.error("setting a message aside failed", { error: errorText(error) });
    delivery.retry();
  }
}

type Kept = Pick<SetAsideMessage, "taken" | "noted" | "alsoNoted" | "events" | "unreadable" | "message">;

/** What is stored, the id that each is remembered by, and how many events it counts as. */
function messagesOf(
  { taken, queuedMs }: Delivery,
  { body, content, isMissing }: Awaited<ReturnType<typeof wholeMessage>>,
): Kept[] {
  const message = bytesOf(body).slice().buffer;
  if (content.ok) {
    return linesOfParts(content.value).map(({ part, lines, extras = [] }, _i, { length }) => ({
      taken: idOf(part),
      events: part.records,
      message: length === 1 ? message : encodeParts([part], ndjson(lines), { body: encodeExtras(extras) }).buffer,
    }));
  }
  const [first, ...others] = taken;
  // Its header was valid once, and is all that is left.
  if (isMissing && first !== undefined && others.length === 0)
    return [{ taken: first, events: 1, unreadable: content.why, message }];
  return [unreadableOf({ taken, queuedMs }, message, content.why)];
}

/**
 * Its header cannot be trusted, or some of its parts may be counted already. A hash of the bytes is
 * the same at each delivery; it counts as one event.
 */
function unreadableOf(
  { taken, queuedMs }: Pick<Delivery, "taken" | "queuedMs">,
  message: ArrayBuffer,
  why: string,
): Kept {
  const [first, ...others] = taken;
  const id = createHash("sha256").update(new Uint8Array(message)).digest("hex").slice(0, 32);
  return {
    taken: { id, takenInMs: queuedMs, keyed: true },
    ...(first !== undefined && { noted: first }),
    ...(others.length > 0 && { alsoNoted: others }),
    events: 1,
    unreadable: why,
    message,
  };
}

/**
 * Sets a message aside without reading its records, which may kill the handler. One of several
 * parts counts as unreadable, as the ledger may have counted some of them. If that fails, it goes
 * back to the queue.
 */
export async function putAsideUnread(
  delivery: Delivery,
  queue: string,
  why: string,
  { setAside, blobs }: AsideContext,
): Promise<void> {
  try {
    const { body, envelope } = delivery;
    const key = envelope.ok ? envelope.value.elsewhere : null;
    const blob = key === null ? null : await blobs.get(key);
    const message = bytesOf(blob === null ? body : joinMessage(body as ArrayBuffer, blob)).slice().buffer;
    const [part, ...others] = envelope.ok ? envelope.value.parts : [];
    const kept: Kept =
      part === undefined || others.length > 0 || (key !== null && blob === null)
        ? unreadableOf(delivery, message, why)
        : { taken: idOf(part), events: part.records, message };
    await setAside({ ...kept, queue, why });
    delivery.ack("set_aside");
  } catch (error) {
    log.error("setting a message aside failed", { error: errorText(error) });
    delivery.retry();
  }
}

function ndjson(lines: readonly string[]): Uint8Array {
  return encodeUtf8(lines.map((line) => `${line}\n`).join(""));
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
