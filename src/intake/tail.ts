import type { IntakeConfig } from "../config.ts";
import type { Platform } from "../platform.ts";
import { recordLine } from "../record/encode.ts";
import { type Findings, toRecord } from "../record/record.ts";
import { GATHER_MS, type Gatherer } from "./gather.ts";
import { randomIds } from "./ids.ts";
import { type PackedMessage, packRecords } from "./packing.ts";
import { reasonOf, SendError, type Sending, sendMessages } from "./send.ts";

/** Waits before messages that could not be kept are handed over again, in ms: the same again changes nothing. */
const KEEP_RETRY_MS = [200, 1_000];

export interface TailContext extends Sending {
  config: IntakeConfig;
  platform: Pick<Platform, "now" | "sleep">;
  /** Shared by all invocations of this isolate. */
  gatherer: Gatherer;
  /** Lets the invocation live until the promise is settled. */
  waitUntil(promise: Promise<void>): void;
  /** Keeps messages that the queue does not take; the same again changes nothing. */
  keep(messages: readonly PackedMessage[]): Promise<void>;
  /** Events that could not be handed on to anybody. */
  countLost(events: number): Promise<void>;
}

/**
 * Takes the trace events of one invocation of another function, and gathers them with those of others. Its own are left out: they would feed themselves
 * for ever. What cannot be sent is kept; what cannot be kept is counted.
 */
export async function handleTail(items: readonly unknown[], context: TailContext): Promise<void> {
  const nowMs = context.platform.now();
  const { lines, lost } = linesOf(items, nowMs, context.config);
  // Before anything is waited for: what is in the gatherer is safe from whatever becomes of this invocation.
  const { full, wait } = context.gatherer.add(lines, nowMs);
  if (lost > 0) context.waitUntil(count(lost, context));
  if (full.length > 0) context.waitUntil(send(full, context));
  if (wait) {
    context.waitUntil(context.platform.sleep(GATHER_MS).then(() => send(context.gatherer.take(), context)));
  }
}

function linesOf(
  items: readonly unknown[],
  takenInMs: number,
  config: IntakeConfig,
): { lines: string[]; lost: number } {
  const { selfName, defaultScriptName } = config;
  const findings: Findings = { faults: [], unknownKeys: new Set() };
  const lines: string[] = [];
  let lost = 0;
  for (const item of items) {
    if (selfName !== null && (item as { scriptName?: unknown } | null)?.scriptName === selfName) continue;
    try {
      const record = toRecord(item, { takenInMs, defaultScriptName, lenient: true }, "", findings);
      if (record === null) lost += 1;
      else lines.push(recordLine(record));
    } catch (error) {
      console.error({ message: "an event could not be read", error: String(error) });
      lost += 1;
    }
  }
  return { lines, lost };
}

/** Sends what was gathered. Its time of intake is now: until here nobody had it but this isolate. Never throws: nobody would notice. */
async function send(lines: readonly string[], context: TailContext): Promise<void> {
  if (lines.length === 0) return;
  let unsent = lines.length;
  try {
    const { messages, tooLarge } = pack(lines, context.platform.now());
    unsent = tooLarge;
    try {
      await sendMessages(messages, context);
    } catch (error) {
      const left = error instanceof SendError ? error.unsent : messages;
      console.error({ message: "the queue did not take events; they are kept", error: reasonOf(error) });
      unsent += left.reduce((sum, { records }) => sum + records, 0);
      await keep(left, context);
      unsent = tooLarge;
    }
  } catch (error) {
    console.error({ message: "events could not be kept", error: String(error) });
  }
  if (unsent > 0) await count(unsent, context);
}

/** @throws if it cannot be done. */
async function keep(messages: readonly PackedMessage[], context: TailContext): Promise<void> {
  for (const delayMs of KEEP_RETRY_MS) {
    try {
      await context.keep(messages);
      return;
    } catch (error) {
      console.warn({ message: "events could not be kept yet", error: String(error) });
      await context.platform.sleep(delayMs);
    }
  }
  await context.keep(messages);
}

function pack(lines: readonly string[], takenInMs: number): { messages: PackedMessage[]; tooLarge: number } {
  const context = { takenInMs, idOf: randomIds(), keyed: false };
  const packed = packRecords(lines, context);
  if (packed.ok) return { messages: packed.messages, tooLarge: 0 };
  const tooLarge = new Set(packed.tooLarge);
  const rest = packRecords(
    lines.filter((_, i) => !tooLarge.has(i)),
    context,
  );
  return { messages: rest.ok ? rest.messages : [], tooLarge: rest.ok ? tooLarge.size : lines.length };
}

async function count(events: number, { countLost }: TailContext): Promise<void> {
  console.error({ message: "intake lost events", events });
  try {
    await countLost(events);
  } catch (error) {
    console.error({ message: "the loss could not be counted", events, error: String(error) });
  }
}
