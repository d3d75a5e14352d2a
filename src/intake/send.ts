import { Patience, type Platform, TimeoutError } from "../platform.ts";
import type { Blobs } from "../queue/blob-store.ts";
import { type PackedMessage, sendGroups } from "./packing.ts";

/** A queue binding, as intake uses it. */
export interface EventQueue {
  sendBatch(messages: { body: Uint8Array; contentType: "bytes" }[]): Promise<unknown>;
}

export interface Sending {
  queue: EventQueue;
  blobs: Pick<Blobs, "put">;
  platform: Pick<Platform, "sleep">;
}

/** Delays before the second and third try of one `sendBatch`, in ms. */
const SEND_RETRY_MS = [100, 400];

/**
 * Deadline of one call to the queue or the blob store, in ms. Both usually answer within a fraction
 * of a second.
 */
const CALL_MS = 10_000;

/**
 * Deadline of all calls for one request, those to the register of keys included, in ms: 16 MiB are
 * some seventy `sendBatch` in sequence. Must stay below the minute that consumers allow for
 * messages in flight, beyond which they claim completeness.
 */
export const SEND_MS = 45_000;

/** The queue did not take everything. */
export class SendError extends Error {
  /** Messages that it did not take, or did not acknowledge. */
  readonly unsent: readonly PackedMessage[];

  constructor(cause: unknown, unsent: readonly PackedMessage[]) {
    super("the queue did not take all messages", { cause });
    this.unsent = unsent;
  }
}

/**
 * Sends packed messages; resolves when the queue has taken all of them. Records go to the blob
 * store before their reference is sent. A group that failed is sent again, one that timed out is
 * not. Either may have been taken after all; a repeat has the same ids, and the logs take each id
 * once.
 * @param allMs deadline of the whole, in ms; each call has its own.
 * @param taken is told of each group that the queue has taken.
 * @throws SendError if a group could not be sent. Groups before it were taken; those after it are
 *   not tried.
 */
export async function sendMessages(
  messages: readonly PackedMessage[],
  sending: Sending,
  allMs: number = SEND_MS,
  taken: (group: readonly PackedMessage[]) => void = () => {},
): Promise<void> {
  const groups = sendGroups(messages);
  const patience = new Patience(allMs);
  try {
    for (const [i, group] of groups.entries()) {
      for (let attempt = 0; ; attempt++) {
        try {
          await sendGroup(group, sending, patience);
          taken(group);
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
    // A late one is dropped by the consumer of its reference, or swept.
    if (blob !== null) await patience.answer("the blob store", CALL_MS, () => blobs.put(blob.key, blob.body));
  }
  // Not `send(view)`: it detaches the buffer even if it fails, so a retry would send nothing.
  // `sendBatch` copies.
  const bodies = group.map(({ body }) => ({ body, contentType: "bytes" as const }));
  await patience.answer("the queue", CALL_MS, () => queue.sendBatch(bodies));
}

/** The cause of a {@link SendError}; any other error itself. */
export function reasonOf(error: unknown): unknown {
  return error instanceof SendError ? error.cause : error;
}
