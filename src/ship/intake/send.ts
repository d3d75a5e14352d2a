import { errorText, log } from "../../base/logger.ts";
import { Patience, type Platform, TimeoutError } from "../../base/platform.ts";
import { appendMessages, type DirectWay, fitsQueue } from "./direct.ts";
import { type PackedMessage, sendGroups } from "./packing.ts";
import type { QueueBackoff } from "./queue-backoff.ts";

/** A queue binding, as intake uses it. */
export interface EventQueue {
  sendBatch(messages: { body: Uint8Array; contentType: "bytes" }[]): Promise<unknown>;
}

export interface Sending extends DirectWay {
  queue: EventQueue;
  platform: Pick<Platform, "now" | "sleep">;
  /** What this isolate knows of the queue; absent: each caller finds out by itself. */
  backoff?: QueueBackoff;
}

/** Deadlines of sending, in ms, for all calls together. */
export interface Deadlines {
  /** Of the calls to the queue… */
  queueMs: number;
  /** …and of those to the log that follow. */
  logMs: number;
}

/** Delays before the second and third try of one `sendBatch`, in ms. */
const SEND_RETRY_MS = [100, 400];

/** Deadline of one call to the queue, in ms. It usually answers within a fraction of a second. */
const CALL_MS = 10_000;

/**
 * Of HTTP and RPC: 16 MiB are some seventy `sendBatch` in sequence. Together they must stay below
 * the minute that consumers allow for messages in flight, beyond which they claim completeness.
 */
export const REQUEST_DEADLINES: Deadlines = { queueMs: 33_000, logMs: 12_000 };

/** Neither the queue nor the log took everything. */
export class SendError extends Error {
  /** Messages that neither took, or acknowledged. */
  readonly unsent: readonly PackedMessage[];

  constructor(cause: unknown, unsent: readonly PackedMessage[]) {
    super("neither the queue nor the log took all messages", { cause });
    this.unsent = unsent;
  }
}

/**
 * Sends packed messages; resolves when the queue or the log has all of them. What the queue cannot
 * carry is appended to the log, and so is what it does not take. Either may have taken after all
 * what it did not acknowledge; a repeat has the same ids, and the log takes each id once.
 * @param taken is told of each group that was taken.
 * @returns ids of messages that are new to the log, as it said itself.
 * @throws SendError if neither took some of them. Others were taken.
 */
export async function sendMessages(
  messages: readonly PackedMessage[],
  sending: Sending,
  { queueMs, logMs }: Deadlines,
  taken: (group: readonly PackedMessage[]) => void = () => {},
): Promise<ReadonlySet<string>> {
  const { backoff, platform } = sending;
  const small = messages.filter(fitsQueue);
  const isHeld = (backoff?.holdMs(platform.now()) ?? 0) > 0;
  const refused = isHeld ? small : await queueMessages(small, sending, queueMs, taken);
  const left = [...refused, ...messages.filter((message) => !fitsQueue(message))];
  if (left.length === 0) return new Set();
  const { fresh, unsent, cause } = await appendMessages(left, sending, logMs, taken);
  if (unsent.length > 0) throw new SendError(cause, unsent);
  return new Set(fresh);
}

/**
 * A group that failed is sent again, one that timed out is not.
 * @returns what it did not take: from the first group that failed, those after it are not tried.
 */
async function queueMessages(
  messages: readonly PackedMessage[],
  { queue, platform, backoff }: Sending,
  allMs: number,
  taken: (group: readonly PackedMessage[]) => void,
): Promise<PackedMessage[]> {
  const groups = sendGroups(messages);
  const patience = new Patience(allMs);
  try {
    for (const [i, group] of groups.entries()) {
      for (let attempt = 0; ; attempt++) {
        try {
          // Not `send(view)`: it detaches the buffer even if it fails, so a retry would send
          // nothing. `sendBatch` copies.
          const bodies = group.map(({ body }) => ({ body, contentType: "bytes" as const }));
          await patience.answer("the queue", CALL_MS, () => queue.sendBatch(bodies));
          backoff?.took();
          taken(group);
          break;
        } catch (error) {
          const delay = SEND_RETRY_MS[attempt];
          if (delay === undefined || error instanceof TimeoutError) {
            log.warn("the queue did not take events; they go to the log", { error: errorText(error) });
            backoff?.refused(platform.now());
            return groups.slice(i).flat();
          }
          await platform.sleep(delay, patience.over);
        }
      }
    }
    return [];
  } finally {
    patience.end();
  }
}

/** The cause of a {@link SendError}; any other error itself. */
export function reasonOf(error: unknown): unknown {
  return error instanceof SendError ? error.cause : error;
}
