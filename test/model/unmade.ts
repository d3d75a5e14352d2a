import type { Item } from "./block.ts";
import { prepare, recordsOf } from "./parts.ts";
import type { Reader } from "./reader.ts";
import { Dies } from "./task.ts";

/** *unmade*: an entry that a reader could not make, with what it has read. */
export interface Unmade {
  item: Item;
  why: "poison" | "newer";
}

const COUNT = { poison: "setAside", newer: "newer" } as const;

/** A person, a start or an alarm tries again. Poison kills the reader again, and stays. */
export function tryUnmade(reader: Reader, unmade: Unmade): void {
  const { s, w } = reader;
  if (!s.unmade.includes(unmade) || s.job === null) return;
  const { item, why } = unmade;
  if (!reader.canRead((item.group ?? s.job).format)) return;
  const isPoison = !w.cured && item.parts.some(({ poison }) => poison);
  if (why === "poison" && isPoison) throw new Dies(reader.name);
  if (why === "newer" && !item.group && isPoison) {
    // Three deaths would follow.
    unmade.why = "poison";
    const received = recordsOf(item.parts, item.off);
    s.counts.newer -= received;
    s.counts.setAside += received;
    return;
  }
  const made = item.group ?? { ...prepare(s.job, item.parts, item.off), format: s.job.format };
  s.unmade = s.unmade.filter((each) => each !== unmade);
  if (w.is("retryDrops")) return;
  s.counts[COUNT[why]] -= made.received;
  s.counts.filtered += made.filtered;
  for (const records of made.fragments) reader.put(records, made.format);
  reader.wakeLater();
}

export function discardUnmade({ s, w, job }: Reader, unmade: Unmade): void {
  if (!s.unmade.includes(unmade)) return;
  const { item, why } = unmade;
  s.unmade = s.unmade.filter((each) => each !== unmade);
  for (const { id } of item.parts) w.note(`${job}/${id}`, "lack");
  const received = item.group?.received ?? recordsOf(item.parts, item.off);
  s.counts[COUNT[why]] -= received;
  s.counts.discarded += received;
}
