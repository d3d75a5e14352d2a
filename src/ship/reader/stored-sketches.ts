import { errorText, log } from "../../base/logger.ts";
import { answered } from "../../base/platform.ts";
import type { ListedSketch } from "../../formats/manifest/manifest.ts";
import { sketchKey } from "../../formats/manifest/place.ts";
import type { Sealed, SketchStore } from "../../formats/sketch/sketch-store.ts";
import type { FixedObject, OpenDestination } from "../destinations/destination.ts";
import type { Failure } from "../destinations/failure.ts";
import { streamed } from "./stream.ts";

/** Deadline of a call, in ms: a group of a hundred large objects is made in it. */
const CALL_MS = 30_000;

/** Where the sketches of a day go. */
export interface SketchPlace {
  root: string;
  /** As placeMark tells places apart. */
  place: string;
  job: number;
  node: number;
  day: number;
}

/**
 * Brings the sketches of a day's objects, of one node, into the bucket of the objects. Each is
 * written once, and then goes from its store; however often this runs, none is written twice.
 * @returns those that are there; or why one is not.
 */
export async function storeSketches(
  store: DurableObjectStub<SketchStore>,
  to: Pick<OpenDestination, "write">,
  where: SketchPlace,
  options: { doubtful: boolean; leaveOut: number },
): Promise<ListedSketch[] | Failure> {
  const listed: ListedSketch[] = [];
  for (const group of await answered<Sealed[]>("SketchStore", CALL_MS, store.seal())) {
    const { id, bytes, sha256, md5, head, objects } = group;
    const key = group.key ?? sketchKey(where.root, where.job, where, sha256);
    if (group.key === null) {
      const contentType = "application/octet-stream";
      const object: FixedObject = { key, bytes, sha256, md5, records: objects, rawBytes: bytes, contentType };
      const outcome = await to.write(object, () => streamed(bytes, piecesOf(store, group)), options);
      if (outcome.kind === "failed" && outcome.error.kind !== "refused")
        return { ...outcome.error, words: `a sketch: ${outcome.error.words}` };
      if (outcome.kind !== "delivered") {
        // It is of this file: others, and the manifest, do not wait for it.
        log.warn("a sketch stays where it is", { job: where.job, key, outcome: outcome.kind });
        continue;
      }
      await answered("SketchStore", CALL_MS, store.moved(id, key, where.place));
    }
    if (group.key === null || group.place === where.place) listed.push({ key, bytes, sha256, head, objects });
  }
  return listed;
}

/** Those that are there already. Where that is not to be known, none is: searches read more. */
export async function thereOf(store: DurableObjectStub<SketchStore>, where: SketchPlace): Promise<ListedSketch[]> {
  try {
    const groups = await answered<Sealed[]>("SketchStore", CALL_MS, store.seal());
    return groups.flatMap(({ key, place, bytes, sha256, head, objects }) =>
      key !== null && place === where.place ? [{ key, bytes, sha256, head, objects }] : [],
    );
  } catch (error) {
    log.warn("a manifest names no sketches", { job: where.job, error: errorText(error) });
    return [];
  }
}

async function* piecesOf(store: DurableObjectStub<SketchStore>, { id, bytes }: Sealed): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes; ) {
    const piece = await answered<Uint8Array>("SketchStore", CALL_MS, store.read(id, at, bytes));
    if (piece.length === 0) throw new Error("a sketch is gone");
    at += piece.length;
    yield piece;
  }
}
