import { identitiesIn } from "../../formats/sketch/group.ts";
import type { Identified as Stored } from "../../formats/sketch/sketch-store.ts";
import type { SketchFiles } from "./sketch-files.ts";
import type { Source } from "./source.ts";

/** What tells which records an object has. */
export interface Identified {
  /** How large it is. */
  bytes: number;
  /** What is written of each record, as `writtenFields`. */
  fields: number;
  /** As `Identities.read` takes it. null: it is not to be had now. @throws never. */
  load(): Promise<Uint8Array | null>;
}

/** Of which objects it is known which records they have. */
export type Identify = (sources: readonly Source[]) => Promise<ReadonlyMap<Source, Identified>>;

/** @param held of what waits in its reader. */
export function identifier(files: SketchFiles, held: ReadonlyMap<Source, Identified>): Identify {
  return async (sources) => {
    const found = new Map<Source, Identified>();
    for (const source of sources) {
      const known = held.get(source);
      if (known !== undefined) found.set(source, known);
    }
    await files.eachDay(sources, async ({ objects, store, marked, ask, groups }) => {
      const asked = await ask<Stored>(async () =>
        store === null ? { loose: [], groups: [] } : store.identified(marked),
      );
      const byMark = new Map<string, Identified>();
      for (const { mark, bytes, fields } of asked.loose) {
        const load = () => loaded(ask(async () => (await store?.identities(batchOf(mark))) ?? null));
        byMark.set(mark, { bytes, fields, load });
      }
      for (const { head, read } of await groups(asked.groups))
        for (const [mark, section] of identitiesIn(head))
          byMark.set(mark, {
            bytes: section.bytes,
            fields: section.fields,
            load: () => loaded(ask(() => read(section))),
          });
      for (const { source, of } of objects) {
        const known = byMark.get(of.mark);
        if (known !== undefined) found.set(source, known);
      }

      function batchOf(mark: string) {
        return marked.find((one) => one.mark === mark) ?? { batch: -1, mark };
      }
    });
    return found;
  };
}

/** null: it does not come, or there is nothing. */
export async function loaded(load: Promise<Uint8Array | null>): Promise<Uint8Array | null> {
  try {
    const bytes = await load;
    return bytes === null || bytes.length === 0 ? null : bytes;
  } catch {
    return null;
  }
}
