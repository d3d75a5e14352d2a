import { encodeUtf8 } from "../../base/bytes.ts";
import { PACKER_PART_MAX_BYTES } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import { type MacKey, macOfLines } from "../../formats/queue/mac.ts";
import { type Entry, splitEntry } from "../../formats/record/extras.ts";
import { type HandedPart, PACKER_MS } from "./packer.ts";
import type { PackingPolicy } from "./packing-policy.ts";

export interface Packing {
  /** Hands a part to the packer; its answer is not believed before it was looked at. */
  pack(part: HandedPart): Promise<unknown>;
  platform: Pick<Platform, "now">;
}

/**
 * Records as a part for the packer.
 * @param entries at least one. @returns null: they are too many.
 */
export function partOf(
  entries: readonly Entry[],
  head: Pick<HandedPart, "id" | "takenInMs" | "source" | "shards">,
  seal: MacKey | undefined,
): HandedPart | null {
  // A text is never longer than its UTF-8.
  if (entries.reduce((sum, entry) => sum + entry.length + 1, 0) > PACKER_PART_MAX_BYTES) return null;
  const split = entries.map(splitEntry);
  const raw = encodeUtf8(split.map(({ line }) => `${line}\n`).join(""));
  const hasExtras = split.some(({ extra }) => extra !== "");
  const extras = hasExtras ? encodeUtf8(split.map(({ extra }) => `${extra}\n`).join("")) : null;
  if (raw.length + (extras?.length ?? 0) > PACKER_PART_MAX_BYTES) return null;
  const sealed = seal ? macOfLines(raw, seal, extras) : null;
  return { ...head, records: entries.length, raw, ...(extras && { extras }), seal: sealed };
}

/**
 * Hands a part to the packer.
 * @returns whether the queue has it; false: that is not known. Never throws.
 */
export async function submit(part: HandedPart, policy: PackingPolicy, { pack, platform }: Packing): Promise<boolean> {
  let why: string;
  try {
    const answer = (await answered("the packer", PACKER_MS, pack(part))) as {
      shared?: unknown;
      refused?: unknown;
    } | null;
    const shared = answer?.shared;
    if (typeof shared === "number" && shared >= 1) {
      policy.packed(shared, platform.now());
      return true;
    }
    why = answer?.refused === "full" ? "it is full" : "it refused them";
  } catch (error) {
    why = errorText(error);
  }
  log.warn("the packer did not take events; they go to the queue", { error: why });
  policy.failed(platform.now());
  return false;
}
