/**
 * Scripted parts of the platform for intake: a queue and a log that fail on demand, and a clock
 * without real waits.
 */

import { env } from "cloudflare:workers";
import type { Platform } from "../../../src/base/platform.ts";
import type { Part } from "../../../src/formats/queue/message.ts";
import type { DirectWay } from "../../../src/ship/intake/direct.ts";
import { Gatherer } from "../../../src/ship/intake/gather.ts";
import type { PackedMessage } from "../../../src/ship/intake/packing.ts";
import type { EventQueue } from "../../../src/ship/intake/send.ts";
import { handleTail, type TailContext } from "../../../src/ship/intake/tail.ts";
import type { Append, Appended } from "../../../src/ship/log/append-types.ts";
import { TAKEN } from "../../formats/record/samples.ts";
import { type ReadMessage, readMessage } from "../../support/read-message.ts";

/** A message of one part, as intake makes them. */
export type Sent = ReadMessage & Part;

export interface ScriptedQueue extends EventQueue {
  /**
   * Every call, in order: the messages as a consumer would decode them, and whether the queue took
   * them.
   */
  readonly calls: { messages: Sent[]; bodies: Uint8Array[]; contentTypes: string[]; taken: boolean }[];
  /** The messages of all calls that were taken. */
  taken(): Sent[];
}

export interface ScriptedLog extends Pick<DirectWay, "append"> {
  /** Every call, in order, and whether the shard took it. */
  readonly calls: { shard: number; append: Append; taken: boolean }[];
  /** The messages of all calls that were taken. */
  taken(): Sent[];
}

/** What fails as the log's shards do. */
export type Fails = (call: number, shard: number) => Error | null;

/** The log, in memory: it knows each part once. @param fails the n-th call, from 1. */
export function scriptedLog(fails: Fails = () => null): ScriptedLog {
  const calls: ScriptedLog["calls"] = [];
  const known = new Set<string>();
  return {
    calls,
    taken: () =>
      calls.filter(({ taken }) => taken).flatMap(({ append }) => append.records.map(({ body }) => decoded(body))),
    async append(shard, append): Promise<Appended> {
      const copy = structuredClone(append);
      const error = fails(calls.length + 1, shard);
      calls.push({ shard, append: copy, taken: error === null });
      if (error !== null) throw error;
      const fresh = copy.parts.map(({ id }) => id).filter((id) => !known.has(id));
      for (const id of fresh) known.add(id);
      return { fresh, tooOld: [] };
    },
  };
}

/** A log that takes nothing. */
export const noLog = (): ScriptedLog => scriptedLog(() => new Error("the log does not answer"));

/** The log's binding, whose appends go to a scripted one. */
export function logBinding({ append }: ScriptedLog): unknown {
  return {
    getByName: (name: string) =>
      new Proxy(env.TRACE_LOG.getByName(name), {
        get: (stub, method) =>
          method === "append"
            ? (what: Append) => append(Number(name.split(" ")[1]), what)
            : Reflect.get(stub, method, stub),
      }),
  };
}

/**
 * @param fails whether the queue refuses the n-th call, from 1.
 * @param loses whether the queue takes the n-th call and its answer is lost.
 */
export function scriptedQueue(
  fails: (call: number) => boolean = () => false,
  loses: (call: number) => boolean = () => false,
): ScriptedQueue {
  const calls: ScriptedQueue["calls"] = [];
  return {
    calls,
    taken: () => calls.filter(({ taken }) => taken).flatMap(({ messages }) => messages),
    async sendBatch(messages) {
      const taken = !fails(calls.length + 1);
      const bodies = messages.map(({ body }) => body.slice());
      calls.push({
        messages: bodies.map(decoded),
        bodies,
        contentTypes: messages.map(({ contentType }) => contentType),
        taken,
      });
      if (!taken || loses(calls.length)) throw new Error("Unknown Internal Error (15000)");
    },
  };
}

/** A queue that takes nothing. */
export const noQueue = (): ScriptedQueue => scriptedQueue(() => true);

/** Decodes a body as a consumer does. @throws if it cannot be decoded. */
export function decoded(body: Uint8Array): Sent {
  const result = readMessage(body.slice().buffer);
  if (!result.ok) throw new Error(`a message that ${result.why}`);
  const [part, ...others] = result.value.parts;
  if (part === undefined || others.length > 0) throw new Error("a message of several parts");
  return { ...result.value, ...part };
}

/** The same for a message that was not sent yet. */
export function unpacked({ body }: PackedMessage): Sent {
  return decoded(body);
}

/**
 * A platform whose clock stands at `nowMs`. Its sleeps are recorded in `slept` and take no time.
 */
export function scriptedPlatform(nowMs: number): Platform & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    random: () => 0.5,
    fetch: () => Promise.reject(new Error("nothing here may use the network")),
    sleep: async (ms) => {
      slept.push(ms);
    },
  };
}

/** What `tail()` works with in one isolate. */
export interface ScriptedTail extends TailContext {
  readonly queue: ScriptedQueue;
  readonly log: ScriptedLog;
  /** Events that were counted as lost: why, and how many. */
  readonly lost: string[];
  /** Promises given to `waitUntil`. */
  readonly living: Promise<void>[];
}

/** By default queue and log take everything, and the packer is full. */
export function scriptedTail({
  queue = scriptedQueue(),
  log = scriptedLog(),
  config = {},
  ...fields
}: Partial<Omit<ScriptedTail, "config">> & { config?: Partial<TailContext["config"]> } = {}): ScriptedTail {
  const [lost, living]: [string[], Promise<void>[]] = [[], []];
  return {
    ...{ queue, log, lost, living, append: log.append },
    config: { selfName: "logship", defaultScriptName: "unnamed", shards: 1, ...config },
    platform: scriptedPlatform(TAKEN),
    gatherer: new Gatherer(),
    waitUntil: (promise) => void living.push(promise),
    pack: async () => ({ refused: "full" }),
    countLost: async (events, why) => void lost.push(`${why} ${events}`),
    ...fields,
  };
}

/** One invocation of `tail()`, to the end of its promises. */
export async function tailed(items: readonly unknown[], context: ScriptedTail): Promise<void> {
  await handleTail(items, context);
  await Promise.all(context.living);
}
