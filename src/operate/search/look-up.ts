import { errorText, log } from "../../base/logger.ts";
import { answered, settled, TimeoutError } from "../../base/platform.ts";
import { type Looked, sketchesOf } from "../../formats/sketch/sketch-store.ts";
import type { Needed } from "./needed-terms.ts";
import { wantedIn } from "./query.ts";
import type { Source } from "./source.ts";

/** What is known of objects that hold no match. */
export interface LookedUp {
  out: ReadonlySet<Source>;
  /** Of sketches, that were read for it. */
  bytes: number;
}

/** Asks the sketches of objects. What is not known is not out: it has to be read. */
export type LookUp = (sources: readonly Source[]) => Promise<LookedUp>;

/** Where the sketch of an object is. */
export interface Sketched {
  /** UTC days since the epoch. */
  day: number;
  mark: string;
}

/** Stores of sketches that are asked side by side. */
const ASKED_AT_ONCE = 8;

/** Deadline of a question, in ms. One that misses it is not asked again by this search. */
const ASK_MS = 10_000;

/** @param sketched the objects that may have a sketch. */
export function sketchLookUp(
  sketches: Env["SKETCHES"],
  needed: Needed,
  sketched: ReadonlyMap<Source, Sketched>,
): LookUp {
  const silent = new Set<string>();
  const wanted = wantedIn(needed);
  return async (sources) => {
    const known = sources.flatMap((source) => {
      const { day, mark } = sketched.get(source) ?? {};
      return day === undefined || mark === undefined ? [] : [{ source, day, mark }];
    });
    const groups = Map.groupBy(known, ({ source: { job, node }, day }) => `${job},${node},${day}`);
    const out = new Set<Source>();
    let bytes = 0;
    await settled([...groups], ASKED_AT_ONCE, async ([name, group]) => {
      const [{ source, day }] = group as [(typeof group)[number]];
      if (wanted === null || silent.has(name)) return;
      const asked = group.map(({ source: { batch }, mark }) => ({ batch, mark }));
      const store = sketchesOf(sketches, source.job, source.node, day);
      const ask = async (): Promise<Looked> => store.look(asked, wanted);
      try {
        const looked = await answered("SketchStore", ASK_MS, ask());
        const batches = new Set(looked.out);
        for (const each of group) if (batches.has(each.source.batch)) out.add(each.source);
        bytes += looked.bytes;
      } catch (error) {
        if (error instanceof TimeoutError) silent.add(name);
        log.warn("sketches were not asked, and their objects are read", { job: source.job, error: errorText(error) });
      }
    });
    return { out, bytes };
  };
}
