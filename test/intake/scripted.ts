/**
 * Scripted parts of the platform for intake: a queue that fails on demand, and a clock without real
 * waits.
 */

import type { PackedMessage } from "../../src/intake/packing.ts";
import type { EventQueue } from "../../src/intake/send.ts";
import type { Platform } from "../../src/platform.ts";
import type { Blobs } from "../../src/queue/blob-store.ts";
import { decodeEnvelope, decodeMessage, joinMessage, type Message, type Part } from "../../src/queue/message.ts";

/** A message of one part, as intake makes them. */
export type Sent = Message & Part;

export interface ScriptedQueue extends EventQueue {
  /**
   * Every call, in order: the messages as a consumer would decode them, and whether the queue took
   * them.
   */
  readonly calls: { messages: Sent[]; bodies: Uint8Array[]; contentTypes: string[]; taken: boolean }[];
  /** The messages of all calls that were taken. */
  taken(): Sent[];
}

export interface ScriptedBlobs extends Blobs {
  readonly bodies: Map<string, Uint8Array>;
  /** Every `put` and `drop`, in order. */
  readonly calls: string[];
}

/** A blob store in memory. @param fails whether the n-th `put` does, from 1. */
export function scriptedBlobs(fails: (call: number) => boolean = () => false): ScriptedBlobs {
  const bodies = new Map<string, Uint8Array>();
  const calls: string[] = [];
  let puts = 0;
  return {
    bodies,
    calls,
    async put(id, body) {
      puts += 1;
      calls.push(`put ${id}`);
      if (fails(puts)) throw new Error("the blob store does not answer");
      bodies.set(id, body.slice());
    },
    get: async (id) => bodies.get(id) ?? null,
    async drop(id) {
      calls.push(`drop ${id}`);
      bodies.delete(id);
    },
  };
}

/** The blob store's binding, backed by one in memory. */
export function blobBinding(blobs: ScriptedBlobs): unknown {
  return {
    getByName: () => ({
      put: (id: string, body: ArrayBuffer) => blobs.put(id, new Uint8Array(body)),
      get: async (id: string) => blobs.bodies.get(id)?.slice().buffer ?? null,
      drop: (id: string) => blobs.drop(id),
    }),
  };
}

/**
 * @param fails whether the queue refuses the n-th call, from 1.
 * @param blobs resolves references.
 * @param loses whether the queue takes the n-th call and its answer is lost.
 */
export function scriptedQueue(
  fails: (call: number) => boolean = () => false,
  blobs = scriptedBlobs(),
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
        messages: bodies.map((body) => decoded(body, blobs)),
        bodies,
        contentTypes: messages.map(({ contentType }) => contentType),
        taken,
      });
      if (!taken || loses(calls.length)) throw new Error("Unknown Internal Error (15000)");
    },
  };
}

/**
 * Decodes a body as a consumer does. @param blobs resolves references. @throws if it cannot be
 * decoded.
 */
export function decoded(body: Uint8Array, blobs?: Pick<ScriptedBlobs, "bodies">): Sent {
  let whole = body.slice().buffer as ArrayBuffer;
  const envelope = decodeEnvelope(whole);
  if (envelope.ok && envelope.value.elsewhere !== null) {
    const kept = blobs?.bodies.get(envelope.value.elsewhere);
    if (kept === undefined) throw new Error("a reference that leads nowhere");
    whole = joinMessage(whole, kept);
  }
  const result = decodeMessage(whole);
  if (!result.ok) throw new Error(`a message that ${result.why}`);
  const [part, ...others] = result.value.parts;
  if (part === undefined || others.length > 0) throw new Error("a message of several parts");
  return { ...result.value, ...part };
}

/** The same for a message that was not sent yet. */
export function unpacked({ body, blob }: PackedMessage): Sent {
  return decoded(body, { bodies: new Map(blob === null ? [] : [[blob.key, blob.body]]) });
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
