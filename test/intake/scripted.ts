/** Scripted parts of the platform for intake: a queue that fails when told to, and a clock nobody waits for. */
import { decodeMessage, type Message } from "../../src/intake/message.ts";
import type { EventQueue } from "../../src/intake/send.ts";
import type { Platform } from "../../src/platform.ts";

export interface ScriptedQueue extends EventQueue {
  /** Every call, in order: the messages as a consumer would decode them, and whether the queue took them. */
  readonly calls: { messages: Message[]; bodies: Uint8Array[]; contentTypes: string[]; taken: boolean }[];
  /** The messages of all calls that were taken. */
  taken(): Message[];
}

/** @param fails says of the n-th call, from 1, whether the queue refuses it. */
export function scriptedQueue(fails: (call: number) => boolean = () => false): ScriptedQueue {
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
      if (!taken) throw new Error("Unknown Internal Error (15000)");
    },
  };
}

/** What a consumer makes of a body. @throws if it can make nothing of it. */
export function decoded(body: Uint8Array): Message {
  const result = decodeMessage(body.slice().buffer);
  if (!result.ok) throw new Error(`a message that ${result.why}`);
  return result.value;
}

/** A platform whose clock stands at `nowMs`; the waits asked of it are in `slept`, and take no time. */
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
