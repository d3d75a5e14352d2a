import type { Platform } from "../platform.ts";
import { type PackedMessage, sendGroups } from "./packing.ts";

/** What intake needs of a queue binding. */
export interface EventQueue {
  sendBatch(messages: { body: Uint8Array; contentType: "bytes" }[]): Promise<unknown>;
}

/** Waits before the second and third try of one `sendBatch`, in ms. */
const SEND_RETRY_MS = [100, 400];

/** The queue did not take everything. */
export class SendError extends Error {
  /** Records of the messages that it did not take, as far as is known: an answer may have been lost. */
  readonly unsentRecords: number;

  constructor(cause: unknown, unsentRecords: number) {
    super("the queue did not take all messages", { cause });
    this.unsentRecords = unsentRecords;
  }
}

/**
 * Sends packed messages; resolves when the queue has taken every one. A group whose send failed is sent again: if the first try got through
 * after all, its messages carry the ids they had, and the logs take each id once.
 * @throws SendError if a group could not be sent; groups before it were taken, those after it are not tried.
 */
export async function sendMessages(
  messages: readonly PackedMessage[],
  queue: EventQueue,
  platform: Platform,
): Promise<void> {
  let unsent = messages.reduce((sum, { records }) => sum + records, 0);
  for (const group of sendGroups(messages)) {
    for (let attempt = 0; ; attempt++) {
      try {
        // Never `send(view)`: it detaches the buffer even when it fails, and the next try would send nothing. `sendBatch` copies.
        await queue.sendBatch(group.map(({ body }) => ({ body, contentType: "bytes" })));
        break;
      } catch (error) {
        const delay = SEND_RETRY_MS[attempt];
        if (delay === undefined) throw new SendError(error, unsent);
        await platform.sleep(delay);
      }
    }
    unsent -= group.reduce((sum, { records }) => sum + records, 0);
  }
}
