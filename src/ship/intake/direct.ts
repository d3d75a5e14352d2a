import { QUEUE_MESSAGE_MAX_BYTES } from "../../base/limits.ts";
import { Patience, type Platform, settled, TimeoutError } from "../../base/platform.ts";
import { load } from "../../formats/queue/load-records.ts";
import type { MacKey } from "../../formats/queue/mac.ts";
import { decodeEnvelope } from "../../formats/queue/message.ts";
import { type Append, bareAppend, freshIn, type PartHead, SHARD_FULL } from "../log/append-types.ts";
import { headOf } from "../log/heads.ts";
import { traceLog } from "../log/trace-log.ts";
import type { PackedMessage } from "./packing.ts";

/** The way into the log without the queue. */
export interface DirectWay {
  /**
   * Appends to a shard of the log. Idempotent; its answer is not believed before it was looked at.
   */
  append(shard: number, append: Append): Promise<unknown>;
  platform: Pick<Platform, "sleep">;
  /** The messages are sealed with it; absent: they are not. */
  seal?: MacKey;
}

/**
 * Delays before the second to fourth try of one append, in ms. One that timed out is not repeated.
 */
const RETRY_MS = [200, 1_000, 3_000];

/** Messages of one append, in bytes: a reader has all of their records in memory at once. */
const APPEND_MAX_BYTES = 850_000;

/** …and their number, as some are a hundredth of their records: 5 MB of these, as a rule. */
const APPEND_MAX_MESSAGES = 10;

/** Appends under way for one caller. */
const AT_ONCE = 3;

/** The call of a shard, as the environment has it. */
export function appendCall({ TRACE_LOG }: Pick<Env, "TRACE_LOG">): DirectWay["append"] {
  return async (shard, append) => traceLog(TRACE_LOG, shard).append(append);
}

/** Whether the queue can carry it. */
export function fitsQueue({ body }: PackedMessage): boolean {
  return body.length <= QUEUE_MESSAGE_MAX_BYTES;
}

/** What became of messages that were to be appended. */
export interface DirectOutcome {
  /** Ids of those that the log has not had before. */
  fresh: string[];
  /** It is not known to have these. */
  unsent: PackedMessage[];
  /** Why; undefined: it has all. */
  cause?: unknown;
}

/**
 * Appends messages to the log. One of which this is not known may be there after all; a repeat has
 * the same ids, and the log takes each id once.
 * @param ms deadline of the whole. @param taken is told of those that were appended.
 */
export async function appendMessages(
  messages: readonly PackedMessage[],
  way: DirectWay,
  ms: number,
  taken: (group: readonly PackedMessage[]) => void,
): Promise<DirectOutcome> {
  const patience = new Patience(ms);
  const groups = appendGroups(messages);
  const outcome: DirectOutcome = { fresh: [], unsent: [] };
  try {
    const answers = await settled(groups, AT_ONCE, async (group) => {
      const fresh = await appendGroup(group, way, patience, ms);
      taken(group);
      return fresh;
    });
    for (const [i, answer] of answers.entries()) {
      if (answer.status === "fulfilled") outcome.fresh.push(...answer.value);
      else {
        outcome.unsent.push(...(groups[i] ?? []));
        outcome.cause = answer.reason;
      }
    }
    return outcome;
  } finally {
    patience.end();
  }
}

/** Messages of one shard each, in order. */
function appendGroups(messages: readonly PackedMessage[]): PackedMessage[][] {
  return [...Map.groupBy(messages, ({ shard }) => shard).values()].flatMap((own) => {
    const groups: PackedMessage[][] = [];
    let room = 0;
    for (const message of own) {
      const group = groups.at(-1);
      if (group === undefined || message.body.length > room || group.length === APPEND_MAX_MESSAGES) {
        groups.push([message]);
        room = APPEND_MAX_BYTES;
      } else group.push(message);
      room -= message.body.length;
    }
    return groups;
  });
}

/** @returns ids that are new. @throws if it is not known to be there. */
async function appendGroup(
  group: readonly PackedMessage[],
  { append, platform, seal }: DirectWay,
  patience: Patience,
  ms: number,
): Promise<string[]> {
  const shard = group[0]?.shard ?? 0;
  const whole = appendOf(group, seal);
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await patience.answer(`log ${shard}`, ms, () => append(shard, whole));
      return freshIn(answer);
    } catch (error) {
      const delay = RETRY_MS[attempt];
      if (delay === undefined || error instanceof TimeoutError || isFull(error)) throw error;
      await platform.sleep(delay, patience.over);
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith(SHARD_FULL);
}

/** Without anything made for jobs: their readers make it from the records. */
function appendOf(group: readonly PackedMessage[], seal: MacKey | undefined): Append {
  const heads = group.map(({ body }) => headsOf(body, seal));
  return bareAppend(
    heads.flat(),
    group.map(({ body }, i) => ({ body, parts: (heads[i] ?? []).map(({ id }) => id) })),
  );
}

/** @throws if it is no message: intake made it. */
function headsOf({ buffer }: Uint8Array<ArrayBuffer>, seal: MacKey | undefined): PartHead[] {
  const loading = load({ body: buffer, envelope: decodeEnvelope(buffer) }, seal ? [seal] : []);
  if (loading.kind !== "loaded") throw new Error(`a message that ${loading.why}`);
  // Nothing of it came by the queue.
  return loading.loaded.map((part) => ({ ...headOf(part), bytes: 0 }));
}
