import type { IntakeConfig } from "../config.ts";
import type { Platform } from "../platform.ts";
import { recordLine } from "../record/encode.ts";
import { type Findings, toRecord } from "../record/record.ts";
import { randomIds } from "./ids.ts";
import { packRecords } from "./packing.ts";
import { type EventQueue, SendError, sendMessages } from "./send.ts";

export interface TailContext {
  queue: EventQueue;
  config: IntakeConfig;
  platform: Platform;
  /** Events that could not be handed on. */
  countLost(events: number): Promise<void>;
}

/** Takes the trace events of one invocation of another function. Its own are left out: they would feed themselves for ever. */
export async function handleTail(
  items: readonly unknown[],
  { queue, config, platform, countLost }: TailContext,
): Promise<void> {
  const takenInMs = platform.now();
  const findings: Findings = { faults: [], unknownKeys: new Set() };
  const lines: string[] = [];
  let lost = 0;
  for (const item of items) {
    const own = config.selfName !== null && (item as { scriptName?: unknown } | null)?.scriptName === config.selfName;
    if (own) continue;
    try {
      const record = toRecord(
        item,
        { takenInMs, defaultScriptName: config.defaultScriptName, lenient: true },
        "",
        findings,
      );
      if (record === null) lost += 1;
      else lines.push(recordLine(record));
    } catch (error) {
      console.error({ message: "an event could not be read", error: String(error) });
      lost += 1;
    }
  }
  lost += await send(lines, takenInMs, queue, platform);
  if (lost > 0) {
    console.error({ message: "intake lost events", events: lost });
    try {
      await countLost(lost);
    } catch (error) {
      console.error({ message: "the loss could not be counted", events: lost, error: String(error) });
    }
  }
}

/** @returns how many could not be sent. */
async function send(
  lines: readonly string[],
  takenInMs: number,
  queue: EventQueue,
  platform: Platform,
): Promise<number> {
  if (lines.length === 0) return 0;
  const context = { takenInMs, idOf: randomIds(), keyed: false };
  let packed = packRecords(lines, context);
  let lost = 0;
  if (!packed.ok) {
    const tooLarge = new Set(packed.tooLarge);
    lost = tooLarge.size;
    packed = packRecords(
      lines.filter((_, i) => !tooLarge.has(i)),
      context,
    );
  }
  if (!packed.ok) return lines.length;
  try {
    await sendMessages(packed.messages, queue, platform);
    return lost;
  } catch (error) {
    console.error({ message: "the queue did not take events", error: String(error) });
    return lost + (error instanceof SendError ? error.unsentRecords : lines.length - lost);
  }
}
