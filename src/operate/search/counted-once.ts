import type { Identities } from "../../formats/sketch/identities.ts";
import { type Again, Copies, NOTHING, type Verdict } from "./copies.ts";
import type { Identified } from "./identify.ts";
import type { Source } from "./source.ts";

/** What is compared, at most: so many objects beside one, and bytes of all their identities. */
const COMPARED_MAX = 500;
const COMPARED_BYTES = 1_000_000;

/**
 * Copies of what is counted. What was counted stays so: a record is taken of the first object that
 * has it, whatever is written of it there, and that one is read before the others. An object with
 * too much beside it is left out as a whole.
 */
export class CountedOnce extends Copies {
  /** Of what holds no match, nothing is counted. */
  protected override broader(source: Source): readonly Source[] {
    return super.broader(source).filter((other) => !this.isOut(other));
  }

  /** What pages before counted comes first, whatever became of the jobs since. */
  protected override rank(source: Source): number {
    return super.rank(source) - (this.of.done.has(source) ? this.of.order.length : 0);
  }

  override awaited(source: Source): readonly Source[] {
    const broader = this.broader(source);
    return broader.length > COMPARED_MAX && this.identified(source) !== null ? [] : broader;
  }

  override isCutOff(source: Source): boolean {
    const { listedToMs, isNewest } = this.of;
    if (listedToMs === null || this.rank(source) <= 0) return false;
    return isNewest ? source.firstMs <= listedToMs : source.lastMs >= listedToMs;
  }

  protected override async judged(source: Source): Promise<Verdict> {
    const isGone = this.of.gone.some(({ job, endMs }) => job !== source.job && this.#mayReach(source, endMs));
    return isGone || this.isCutOff(source) ? { kind: "undecided" } : super.judged(source);
  }

  #mayReach({ firstMs, lastMs }: Source, endMs: number | null): boolean {
    return endMs === null || (this.of.isNewest ? lastMs >= endMs : firstMs <= endMs);
  }

  protected override async others(
    _source: Source,
    own: Identified,
    broader: readonly Source[],
  ): Promise<Identities[] | null> {
    const others = broader.filter((other) => this.identified(other) !== null);
    const bytes = others.reduce((sum, other) => sum + (this.identified(other)?.bytes ?? 0), own.bytes);
    if (others.length === 0) return [];
    if (bytes > COMPARED_BYTES || broader.length > COMPARED_MAX) return null;
    const found: Identities[] = [];
    for (const other of others) {
      const identities = await this.load(other);
      if (identities === null) return null;
      found.push(identities);
    }
    return found;
  }

  override lack(): Again {
    return NOTHING;
  }
}
