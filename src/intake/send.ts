import type { Platform } from "../platform.ts";
import type { Blobs } from "./blob-store.ts";
import { type PackedMessage, sendGroups } from "./packing.ts";

/** What intake needs of a queue binding. */
export interface EventQueue {
  sendBatch(messages: { body: Uint8Array; contentType: "bytes" }[]): Promise<unknown>;
}

/** Where messages go. */
export interface Sending {
  queue: EventQueue;
  blobs: Pick<Blobs, "put">;
  platform: Pick<Platform, "sleep">;
}

/** Waits before the second and third try of one `sendBatch`, in ms. */
const SEND_RETRY_MS = [100, 400];

/** The queue did not take everything. */
export class SendError extends Error {
  /** Messages that it did not take, as far as is known: an answer may have been lost. */
  readonly unsent: readonly PackedMessage[];

  constructor(cause: unknown, unsent: readonly PackedMessage[]) {
    super("the queue did not take all messages", { cause });
    this.unsent = unsent;
  }
}

/**
 * Sends packed messages; resolves when the queue has taken every one. What is too large for it is in the blob store before its reference is sent. A group
 * whose send failed is sent again: if the first try got through after all, its messages carry the ids they had, and the logs take each id once.
 * @throws SendError if a group could not be sent; groups before it were taken, those after it are not tried.
 */
export async function sendMessages(messages: readonly PackedMessage[], sending: Sending): Promise<void> {
  const groups = sendGroups(messages);
  for (const [i, group] of groups.entries()) {
    for (let attempt = 0; ; attempt++) {
      try {
        await sendGroup(group, sending);
        break;
      } catch (error) {
        const delay = SEND_RETRY_MS[attempt];
        if (delay === undefined) throw new SendError(error, groups.slice(i).flat());
        await sending.platform.sleep(delay);
      }
    }
  }
}

async function sendGroup(group: readonly PackedMessage[], { queue, blobs }: Sending): Promise<void> {
  for (const { blob } of group) if (blob !== null) await blobs.put(blob.key, blob.body);
  // Never `send(view)`: it detaches the buffer even when it fails, and the next try would send nothing. `sendBatch` copies.
  await queue.sendBatch(group.map(({ body }) => ({ body, contentType: "bytes" })));
}

/** What went wrong, in words: a {@link SendError} says itself only that something did. */
export function reasonOf(error: unknown): string {
  return String(error instanceof SendError ? error.cause : error);
}
