import { Patience, type Platform, TimeoutError } from "../platform.ts";
import type { Blobs } from "../queue/blob-store.ts";
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

/** How long the queue, or the blob store, may take for one call, in ms. Both answer within a fraction of a second, or something is wrong. */
const CALL_MS = 10_000;

/**
 * How long all calls of one request of events may take together, in ms: 16 MiB are some seventy `sendBatch`, one after another. What is acknowledged
 * must be in the queue within the minute that consumers allow for what intake is sending: nothing may be claimed complete beyond it.
 */
const SEND_MS = 45_000;

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
 * whose send failed is sent again. What does not answer in time is not: it would be waited for again. In either case the queue may have taken
 * the group after all, then or later; its messages carry the ids they had whoever sends them again, and the logs take each id once.
 * @param allMs bounds the whole, in ms; each call is bounded as well.
 * @throws SendError if a group could not be sent; groups before it were taken, those after it are not tried.
 */
export async function sendMessages(
  messages: readonly PackedMessage[],
  sending: Sending,
  allMs: number = SEND_MS,
): Promise<void> {
  const groups = sendGroups(messages);
  const patience = new Patience(allMs);
  try {
    for (const [i, group] of groups.entries()) {
      for (let attempt = 0; ; attempt++) {
        try {
          await sendGroup(group, sending, patience);
          break;
        } catch (error) {
          const delay = SEND_RETRY_MS[attempt];
          if (delay === undefined || error instanceof TimeoutError) throw new SendError(error, groups.slice(i).flat());
          await sending.platform.sleep(delay);
        }
      }
    }
  } finally {
    patience.end();
  }
}

async function sendGroup(
  group: readonly PackedMessage[],
  { queue, blobs }: Sending,
  patience: Patience,
): Promise<void> {
  for (const { blob } of group) {
    // One that comes late is dropped by whoever consumes the reference, or swept.
    if (blob !== null) await patience.answer("the blob store", CALL_MS, () => blobs.put(blob.key, blob.body));
  }
  // Never `send(view)`: it detaches the buffer even when it fails, and the next try would send nothing. `sendBatch` copies.
  const bodies = group.map(({ body }) => ({ body, contentType: "bytes" as const }));
  await patience.answer("the queue", CALL_MS, () => queue.sendBatch(bodies));
}

/** What went wrong: a {@link SendError} says itself only that something did. */
export function reasonOf(error: unknown): unknown {
  return error instanceof SendError ? error.cause : error;
}
