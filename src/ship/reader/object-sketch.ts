import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import { markOf } from "../../formats/sketch/group.ts";
import { HashSet } from "../../formats/sketch/hash-set.ts";
import { HASHES, listedHashes, SKETCH_MAX_WORDS } from "../../formats/sketch/sketch.ts";
import { type SketchStore, sketchesOf } from "../../formats/sketch/sketch-store.ts";
import type { Chunks } from "./chunks.ts";
import type { ObjectRow } from "./reader-rows.ts";

/** Deadline of handing over words, in ms: an upload is not settled before. */
const KEEP_MS = 5_000;

/**
 * Keeps the words of an object that its store has taken, and which records it has, before they go
 * with its bytes. What fails is dropped: a search reads the object, then.
 */
export async function keepSketch(
  object: Pick<ObjectRow, "number" | "batch" | "day" | "sha256">,
  chunks: Chunks,
  sketches: DurableObjectNamespace<SketchStore>,
  { job, node }: { job: number; node: number },
): Promise<void> {
  try {
    const words = wordsOf(chunks, object.batch);
    if (words === null) return;
    const store = sketchesOf(sketches, job, node, object.day);
    const marked = { batch: object.batch, mark: markOf(object) };
    const identities = chunks.identities(object.batch) ?? undefined;
    await answered("SketchStore", KEEP_MS, store.add(HASHES, marked, words, identities));
  } catch (error) {
    log.warn("a sketch was dropped", { job, object: object.number, error: errorText(error) });
  }
}

/** null: they are not known of all of it, or are too many, or it has none: nothing is left out. */
function wordsOf(chunks: Chunks, batch: number): Uint32Array | null {
  const all = new HashSet();
  for (const list of chunks.words(batch)) {
    const hashes = list && listedHashes(list);
    if (hashes === null) return null;
    all.addAll(hashes);
    if (all.size > SKETCH_MAX_WORDS) return null;
  }
  return all.size === 0 ? null : all.all();
}
