import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import type { IntakeConfig } from "../../config.ts";
import { recordLine } from "../../formats/record/encode.ts";
import { type Entry, entryOf, extrasOf } from "../../formats/record/extras.ts";
import { type Findings, toRecord } from "../../formats/record/record.ts";
import type { Loss } from "../log/account-status.ts";
import type { Gatherer } from "./gather.ts";
import { randomIds } from "./ids.ts";
import { type PackedMessage, type PackingContext, packRecords } from "./packing.ts";
import { type Deadlines, reasonOf, SendError, type Sending, sendMessages } from "./send.ts";
import { type Packing, partOf, submit } from "./submit.ts";
import { type Early, earlyParts } from "./viewers.ts";

/**
 * The platform ends `waitUntil` 30 s after the invocation. What is not sent, appended or counted by
 * then is lost unnoticed. So each step has a deadline, in ms: gather (packing-policy.ts) 2,000 and
 * packer (packer.ts) 6,000, or without the packer gather (queue-backoff.ts) 10,000; then the queue
 * 4,000, the log 10,000, count 3,000; in all 27,000. The rest is for packing, and for timers that
 * fire late.
 */
const DEADLINES: Deadlines = { queueMs: 4_000, logMs: 10_000 };
const COUNT_MS = 3_000;

export interface TailContext extends Sending, Packing, Pick<PackingContext, "forTakeover"> {
  config: IntakeConfig;
  platform: Pick<Platform, "now" | "sleep">;
  /** Shared by all invocations of this isolate. */
  gatherer: Gatherer;
  waitUntil(promise: Promise<void>): void;
  /** The way to live viewers for what the queue takes from here; absent: the consumer alone. */
  early?: Early;
  /** Counts events that are not shipped. */
  countLost(events: number, why: Loss): Promise<void>;
}

/**
 * Takes the trace events of one invocation of another function, and gathers them with others.
 * Events of this Worker itself are skipped: they would cause new ones without end. What the queue
 * does not take is appended to the log; what the log does not take either is counted.
 */
export async function handleTail(items: readonly unknown[], context: TailContext): Promise<void> {
  const { gatherer, platform, waitUntil } = context;
  const nowMs = platform.now();
  const { lines, unfit } = linesOf(items, nowMs, context.config);
  // Before any wait: records in the gatherer do not depend on this invocation.
  const { full, waitMs, isHeld } = gatherer.add(lines, nowMs);
  if (unfit > 0) waitUntil(count("unfit", unfit, context));
  if (full.length > 0) waitUntil(send(full, isHeld, context));
  if (waitMs !== null) waitUntil(platform.sleep(waitMs).then(() => send(gatherer.take(), isHeld, context)));
}

function linesOf(
  items: readonly unknown[],
  takenInMs: number,
  config: IntakeConfig,
): { lines: Entry[]; unfit: number } {
  const { selfName, defaultScriptName, extraFields } = config;
  const context = { takenInMs, defaultScriptName, lenient: true, ...(extraFields && { extraFields }) };
  const findings: Findings = { faults: [], unknownKeys: new Set() };
  const lines: Entry[] = [];
  let unfit = 0;
  let unreadable = 0;
  for (const item of items) {
    if (selfName !== null && (item as { scriptName?: unknown } | null)?.scriptName === selfName) continue;
    try {
      const record = toRecord(item, context, "", findings);
      if (record === null) unfit += 1;
      else lines.push(entryOf(recordLine(record), extrasOf(item, context, "", findings)));
    } catch {
      // The error is not logged: the event controls its text.
      unreadable += 1;
    }
  }
  if (unreadable > 0) log.error("events could not be read", { events: unreadable });
  return { lines, unfit: unfit + unreadable };
}

/**
 * Sends gathered records: few of them by way of the packer, which makes one message of those of
 * many isolates, and else, or if it does not answer for them, to the queue. Their time of intake is
 * now, as only this isolate had them so far. Never throws.
 * @param isHeld the packer is not asked: there is no time for it.
 */
async function send(lines: readonly Entry[], isHeld: boolean, context: TailContext): Promise<void> {
  let unsent = lines.length;
  try {
    if (unsent > 0) unsent = await sendLines(lines, isHeld, context);
  } catch (error) {
    log.error("events could not be sent", { error: errorText(error) });
  }
  const { lost, unfit } = context.gatherer.uncounted;
  await Promise.all([unsent + lost > 0 && count("lost", unsent, context), unfit > 0 && count("unfit", 0, context)]);
}

/** @returns how many records are lost. */
async function sendLines(lines: readonly Entry[], isHeld: boolean, context: TailContext): Promise<number> {
  const { gatherer, early, forTakeover } = context;
  const { source, policy, backoff } = gatherer;
  const { seal, shards } = context.config;
  const nowMs = context.platform.now();
  const idOf = randomIds(shards);
  const asks = !isHeld && policy.asksPacker(nowMs);
  const part = asks ? partOf(lines, { takenInMs: nowMs, source, id: idOf(0), shards }, seal) : null;
  if (part !== null && (await submit(part, policy, context))) return 0;
  // The same part: if the packer's message arrives as well, the log takes its id once.
  const { messages, packed, tooLarge } = pack(lines, {
    ...{ takenInMs: nowMs, source, idOf: (n) => (n === 0 && part?.id) || idOf(n), keyed: false, shards },
    ...(seal && { seal }),
    ...(forTakeover && { forTakeover }),
  });
  gatherer.uncounted.unfit += tooLarge;
  try {
    await sendMessages(messages, { ...context, backoff, ...(seal && { seal }) }, DEADLINES);
    if (early?.mayWatch()) early.show(earlyParts(messages, packed, source));
    return 0;
  } catch (error) {
    log.error("neither the queue nor the log took events", { error: errorText(reasonOf(error)) });
    return recordsOf(error instanceof SendError ? error.unsent : messages);
  }
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

/**
 * Counts lost events, and those that are not counted yet. After a failure they are counted with
 * the next ones: twice, if only the answer was lost.
 */
async function count(why: Loss, events: number, { countLost, gatherer: { uncounted } }: TailContext): Promise<void> {
  const all = events + uncounted[why];
  uncounted[why] = 0;
  log.error(why === "lost" ? "intake lost events" : "events are larger than a record may be, or none", { events: all });
  try {
    await answered("the log", COUNT_MS, countLost(all, why));
  } catch (error) {
    uncounted[why] += all;
    log.error("the loss could not be counted", { events: all, error: errorText(error) });
  }
}
