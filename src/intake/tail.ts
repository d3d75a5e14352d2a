import type { IntakeConfig } from "../config.ts";
import { KEEP_MAX_BYTES } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { answered, Patience, type Platform } from "../platform.ts";
import { recordLine } from "../record/encode.ts";
import { type Entry, entryOf, extrasOf } from "../record/extras.ts";
import { type Findings, toRecord } from "../record/record.ts";
import { type Early, earlyParts } from "./audience.ts";
import type { Gatherer } from "./gather.ts";
import { handOver, type Packing, partOf } from "./hand-over.ts";
import { randomIds } from "./ids.ts";
import { outboxShardOf } from "./outboxes.ts";
import { type PackedMessage, type PackingContext, packRecords } from "./packing.ts";
import { reasonOf, SendError, type Sending, sendMessages } from "./send.ts";

/**
 * The platform ends `waitUntil` 30 s after the invocation. What is not sent, stored or counted by
 * then is lost unnoticed. So each step has a deadline, in ms: gather (company.ts) 2,000, packer
 * (packer.ts) 6,000, send 6,400 with its delays, store 9,000 with its delays, count 3,000; in all
 * 26,400. The rest is for packing, and for timers that fire late.
 */
const SEND_MS = 6_000;
/** For all calls to the outbox, retries included… */
const KEEP_MS = 8_000;
/** …and for one try. `keep` is idempotent. */
const KEEP_TRY_MS = 2_500;
const COUNT_MS = 3_000;

/** Delays between tries to store messages, in ms. */
const KEEP_RETRY_MS = [200, 1_000];

export interface TailContext extends Sending, Packing {
  config: IntakeConfig;
  platform: Pick<Platform, "now" | "sleep">;
  /** Shared by all invocations of this isolate. */
  gatherer: Gatherer;
  waitUntil(promise: Promise<void>): void;
  /** The way to live viewers for what the queue takes from here; absent: the consumer alone. */
  early?: Early;
  /** Stores messages that the queue does not take, in one object of the outbox. Idempotent. */
  keep(messages: readonly PackedMessage[], shard: number): Promise<void>;
  /** Counts events that could be neither sent nor stored. */
  countLost(events: number): Promise<void>;
}

/**
 * Takes the trace events of one invocation of another function, and gathers them with others.
 * Events of this Worker itself are skipped: they would cause new ones without end. What cannot be
 * sent is stored in the outbox; what cannot be stored is counted.
 */
export async function handleTail(items: readonly unknown[], context: TailContext): Promise<void> {
  const nowMs = context.platform.now();
  const { lines, lost } = linesOf(items, nowMs, context.config);
  // Before any wait: records in the gatherer do not depend on this invocation.
  const { full, wait } = context.gatherer.add(lines, nowMs);
  if (lost > 0) context.waitUntil(count(lost, context));
  if (full.length > 0) context.waitUntil(send(full, context));
  if (wait) {
    const waitMs = context.gatherer.company.gatherMs(nowMs);
    context.waitUntil(context.platform.sleep(waitMs).then(() => send(context.gatherer.take(), context)));
  }
}

function linesOf(items: readonly unknown[], takenInMs: number, config: IntakeConfig): { lines: Entry[]; lost: number } {
  const { selfName, defaultScriptName, extraFields } = config;
  const context = { takenInMs, defaultScriptName, lenient: true, ...(extraFields && { extraFields }) };
  const findings: Findings = { faults: [], unknownKeys: new Set() };
  const lines: Entry[] = [];
  let lost = 0;
  let unreadable = 0;
  for (const item of items) {
    if (selfName !== null && (item as { scriptName?: unknown } | null)?.scriptName === selfName) continue;
    try {
      const record = toRecord(item, context, "", findings);
      if (record === null) lost += 1;
      else lines.push(entryOf(recordLine(record), extrasOf(item, context, "", findings)));
    } catch {
      // The error is not logged: the event controls its text.
      unreadable += 1;
    }
  }
  if (unreadable > 0) log.error("events could not be read", { events: unreadable });
  return { lines, lost: lost + unreadable };
}

/**
 * Sends gathered records: few of them by way of the packer, which makes one message of those of
 * many isolates, and else, or if it does not answer for them, to the queue. Their time of intake is
 * now, as only this isolate had them so far. Never throws.
 */
async function send(lines: readonly Entry[], context: TailContext): Promise<void> {
  if (lines.length === 0) return;
  let unsent = lines.length;
  try {
    const nowMs = context.platform.now();
    const { source, company } = context.gatherer;
    const idOf = randomIds();
    const part = company.asksPacker(nowMs) ? partOf(lines, nowMs, source, idOf(0), context.config.form?.seal) : null;
    if (part !== null && (await handOver(part, company, context))) return;
    // The same part: if the packer's message arrives as well, logs and ledger take its id once.
    const packing = { takenInMs: nowMs, source, idOf: (n: number) => (n === 0 && part?.id) || idOf(n), keyed: false };
    const { messages, packed, tooLarge } = pack(lines, {
      ...packing,
      ...(context.config.form && { form: context.config.form }),
    });
    unsent = tooLarge;
    try {
      await sendMessages(messages, context, SEND_MS);
      if (context.early?.mayWatch()) context.early.show(earlyParts(messages, packed, source));
    } catch (error) {
      const left = error instanceof SendError ? error.unsent : messages;
      log.error("the queue did not take events; they are kept", { error: errorText(reasonOf(error)) });
      unsent += recordsOf(left);
      unsent -= await keepAll(left, context);
    }
  } catch (error) {
    log.error("events could not be kept", { error: errorText(error) });
  }
  if (unsent > 0) await count(unsent, context);
}

/**
 * Stores messages in the objects of the outbox side by side: one that fails or is full costs no
 * other its messages. @returns how many records were stored. Never throws.
 */
async function keepAll(messages: readonly PackedMessage[], context: TailContext): Promise<number> {
  const patience = new Patience(KEEP_MS);
  let kept = 0;
  const byShard = Map.groupBy(messages, ({ id }) => outboxShardOf(id));
  try {
    const shards = [...byShard].map(async ([shard, own]) => {
      for (const part of keepable(own)) {
        await keep(part, shard, context, patience);
        kept += recordsOf(part);
      }
    });
    for (const each of await Promise.allSettled(shards)) {
      if (each.status === "rejected") log.error("events could not be kept", { error: errorText(each.reason) });
    }
  } finally {
    patience.end();
  }
  return kept;
}

/**
 * @throws if it failed or timed out. If it was stored after all, it arrives though it was counted
 *   as lost: the lesser evil.
 */
async function keep(
  messages: readonly PackedMessage[],
  shard: number,
  context: TailContext,
  patience: Patience,
): Promise<void> {
  const handOver = (): Promise<void> => answered("the outbox", KEEP_TRY_MS, context.keep(messages, shard));
  for (const delayMs of KEEP_RETRY_MS) {
    try {
      await patience.answer(`keeping ${shard}`, KEEP_MS, handOver);
      return;
    } catch (error) {
      if (patience.isOver) throw error;
      log.warn("events could not be kept yet", { error: errorText(error) });
      await context.platform.sleep(delayMs);
    }
  }
  await patience.answer(`keeping ${shard}`, KEEP_MS, handOver);
}

/** Splits messages into calls within the size limit, in order. */
export function keepable(messages: readonly PackedMessage[]): PackedMessage[][] {
  const parts: PackedMessage[][] = [];
  let room = 0;
  for (const message of messages) {
    const bytes = message.body.length + (message.blob?.body.length ?? 0);
    const part = parts.at(-1);
    if (part === undefined || bytes > room) {
      parts.push([message]);
      room = KEEP_MAX_BYTES - bytes;
    } else {
      part.push(message);
      room -= bytes;
    }
  }
  return parts;
}

function recordsOf(messages: readonly PackedMessage[]): number {
  return messages.reduce((sum, { records }) => sum + records, 0);
}

/** @returns `packed`: the lines of the messages, in order. */
function pack(
  lines: readonly Entry[],
  context: PackingContext,
): { messages: PackedMessage[]; packed: readonly Entry[]; tooLarge: number } {
  const all = packRecords(lines, context);
  if (all.ok) return { messages: all.messages, packed: lines, tooLarge: 0 };
  const tooLarge = new Set(all.tooLarge);
  const packed = lines.filter((_, i) => !tooLarge.has(i));
  const rest = packRecords(packed, context);
  return rest.ok
    ? { messages: rest.messages, packed, tooLarge: tooLarge.size }
    : { messages: [], packed: [], tooLarge: lines.length };
}

/** Not retried: it might count twice. */
async function count(events: number, { countLost }: TailContext): Promise<void> {
  log.error("intake lost events", { events });
  try {
    await answered("the ledger", COUNT_MS, countLost(events));
  } catch (error) {
    log.error("the loss could not be counted", { events, error: errorText(error) });
  }
}
