import type { Needed } from "../../formats/query/needed-terms.ts";
import { wantedIn } from "../../formats/query/prune.ts";
import { membersIn, membersOut, segmentsFor, shapeIn } from "../../formats/sketch/group.ts";
import { HASHES } from "../../formats/sketch/sketch.ts";
import type { Asked } from "../../formats/sketch/sketch-store.ts";
import { ALL, hashesIn, heldBy, type Wanted } from "../../formats/sketch/wanted.ts";
import { each } from "./listing.ts";
import type { Group, SketchFiles } from "./sketch-files.ts";
import type { Source } from "./source.ts";

/** What is known of objects that hold no match. */
export interface LookedUp {
  out: ReadonlySet<Source>;
  /** Of sketches, that were read for it. */
  bytes: number;
}

/** Asks the sketches of objects. What is not known is not out: it has to be read. */
export type LookUp = (sources: readonly Source[]) => Promise<LookedUp>;

/** Of one group; what is looked up in further ones is taken to be there. */
const SEGMENTS_MAX = 256;

export function sketchLookUp(files: SketchFiles, needed: Needed): LookUp {
  const wanted = wantedIn(needed);
  return async (sources) => {
    const out = new Set<Source>();
    if (wanted === null) return { out, bytes: 0 };
    await files.eachDay(sources, async ({ objects, store, marked, ask, groups }) => {
      const leave = (marks: readonly string[]): void => {
        const left = new Set(marks);
        for (const { source, of } of objects) if (left.has(of.mark)) out.add(source);
      };
      const asked = await ask<Asked>(async () =>
        store === null ? { out: [], bytes: 0, groups: [] } : store.ask(HASHES, marked, wanted),
      );
      files.count(asked.bytes);
      leave(asked.out);
      await each(await groups(asked.groups), async (group) => leave(await outOf(group, wanted)));
    });
    return { out, bytes: files.takeBytes() };
  };
}

/**
 * Which members of a group cannot hold what is wanted. A segment that is not there, or differs from
 * what was written, excludes none.
 */
async function outOf({ head, read }: Group, wanted: Wanted): Promise<string[]> {
  const shape = shapeIn(head);
  const holders = new Map<number, bigint>();
  let held = ALL;
  for (const segment of segmentsFor(head, hashesIn(wanted)).slice(0, SEGMENTS_MAX)) {
    // One at a time is held: of many words, they are as much as the group.
    const bytes = await read(segment);
    if (bytes === null) continue;
    for (const hash of segment.hashes) holders.set(hash, membersIn(bytes, shape, hash));
    held = heldBy(wanted, (hash) => holders.get(hash) ?? ALL);
    // No member is left: what the other words say changes nothing.
    if (held === 0n) break;
  }
  return membersOut(head.members, held);
}
