/** The part about memory, as text. */
import type { BatchMemory, MemoryResult } from "./memory.ts";
import { grown, type Peak } from "./memory-harness.ts";
import { AIM_BYTES, type MixMemory } from "./mixes.ts";
import { count, table } from "./table.ts";

/**
 * Memory of an isolate, in MB. https://developers.cloudflare.com/workers/platform/limits/#memory
 */
const ISOLATE_MB = 128;

export function memoryReport(memory: MemoryResult | "unreadable"): string[] {
  if (memory === "unreadable")
    return ["MEMORY: not measured; it takes Linux, whose /proc says what a process has had resident"];
  const { batches, objects, together, receivers, idle } = memory;
  return [
    `MEMORY that the runtime's process had resident at most, in MB above what it had before (${megabytes(idle)} idle; an isolate may have ${ISOLATE_MB}, other parts of the process not counted)`,
    `while one object is cut and uploaded\n${table(
      ["data", "raw MB", "stored MB", "cut", "GET /objects", "upload", "store stalls", "store slow", "delivered"],
      objects.map(({ texture, object, cut, list, upload, stalled, slow, delivery }) => [
        texture,
        count(object.rawBytes / 1e6),
        count(object.bytes / 1e6),
        ...[cut, list, upload, stalled, slow, delivery].map(increment),
      ]),
    )}`,
    `while ${together.atOnce} objects of ${count((together.objects[0]?.bytes ?? 0) / 1e6)} MB are uploaded side by side: ${increment(together.peak)}`,
    ...Object.entries(receivers).map(
      ([scheme, { atOnce, objects, peak }]) =>
        `while ${objects.length} objects of ${megabytes(objects[0]?.rawBytes ?? 0)} MB before compression go to ${scheme}://, ${atOnce} at a time: ${increment(peak)}`,
    ),
    `while a batch of the queue is consumed, into logs of the same process\n${table(
      ["data", "messages", "raw MB", "jobs", "as the runtime collects", "collected at each step"],
      batches.map(batchCells),
    )}`,
  ];
}

export function mixesReport(mixes: readonly MixMemory[] | "unreadable"): string[] {
  if (mixes === "unreadable") return memoryReport(mixes);
  return [
    `MEMORY that the runtime's process had resident at most while requests and batches were taken in, in MB above what it had before (the aim, for what is held: below ${megabytes(AIM_BYTES)}; garbage that is not collected yet comes on top)\n${table(
      ["what", "held", "as the runtime collects"],
      mixes.map(({ what, peak, held }) => [what, increment(held), increment(peak)]),
    )}`,
  ];
}

function batchCells({ texture, messages, rawBytes, jobs, peak, held }: BatchMemory): string[] {
  return [texture, `${messages}`, megabytes(rawBytes), `${jobs}`, increment(peak), increment(held)];
}

function increment(peak: Peak): string {
  const bytes = grown(peak);
  return `${bytes < 0 ? "" : "+"}${megabytes(bytes)}`;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
