import { countBits } from "../../formats/output/format.ts";
import type { Identities } from "../../formats/sketch/identities.ts";
import { type Again, Copies, NOTHING, type Verdict } from "./copies.ts";
import type { Hit } from "./hits.ts";
import type { Identified } from "./identify.ts";
import { wholeOf } from "./share.ts";
import type { Source } from "./source.ts";

/** What is compared to leave out an object: so many others, and bytes of all of them. */
const COMPARED_MAX = 32;
const COMPARED_BYTES = 1_000_000;

/**
 * Copies of hits. Those that are read become one, so an object is left out only to read less: what
 * is too much to compare is read. What was left out can be read later, if another object fails.
 */
export class Merged extends Copies {
  /** What was left out for others, with the verdict. */
  readonly #left = new Map<Source, Verdict["kind"]>();

  /** Pages before are done with it as it is out, or could not be searched. */
  protected override isOut(source: Source): boolean {
    return this.of.done.has(source) || super.isOut(source);
  }

  /** Of copies, the one with most fields is worth most; of several, that of the broadest job. */
  worthOf(source: Source): number {
    return countBits(this.identified(source)?.fields ?? 0) * 1_000_000 - this.rank(source);
  }

  /** Those that have all that is written of its records. */
  protected override async others(source: Source, own: Identified, broader: readonly Source[]): Promise<Identities[]> {
    const others = broader.filter((other) => ((this.identified(other)?.fields ?? 0) & own.fields) === own.fields);
    const bytes = others.reduce((sum, other) => sum + (this.identified(other)?.bytes ?? 0), own.bytes);
    const most = Math.min(COMPARED_BYTES, Math.max(source.bytes, source.rawBytes) / 2);
    if (bytes > most || others.length > COMPARED_MAX) return [];
    const found: Identities[] = [];
    for (const other of others) {
      const isRead = (await this.shareOf(other)).instead === null;
      const identities = isRead ? await this.#known(other) : null;
      if (identities !== null) found.push(identities);
    }
    return found;
  }

  async #known(source: Source): Promise<Identities | null> {
    return this.isSpent ? this.held(source) : this.load(source);
  }

  protected override decided(source: Source, verdict: Verdict): void {
    // Of what is read in part, the rest may be read later.
    const isWhole = verdict.kind === "read" && verdict.instead === null && verdict.others.length === 0;
    if (!isWhole) this.#left.set(wholeOf(source), verdict.kind);
  }

  /** What was left out for it is to be read, as far as it is of its time. */
  override fail(source: Source): Again {
    const failed = wholeOf(source);
    if (this.failed.has(failed)) return NOTHING;
    super.fail(failed);
    const again: Again = { sources: [], covered: 0 };
    for (const [left, kind] of this.#left) {
      if (left.job === failed.job || this.failed.has(left) || !this.isBeside(left, failed)) continue;
      const [firstMs, lastMs] = [Math.max(left.firstMs, failed.firstMs), Math.min(left.lastMs, failed.lastMs)];
      again.sources.push({ ...left, firstMs, lastMs, whole: left });
      if (kind === "covered") again.covered += 1;
      // It was told why; what it says now is not told again.
      this.#left.set(left, "unknown");
    }
    return again;
  }

  /** Adds the jobs that have a copy of these hits, found or not. */
  async withJobs(hits: readonly Hit[]): Promise<Hit[]> {
    const asked = hits.map((hit) => {
      const [timeMs, job, , , , record] = hit.place;
      const others = this.of.list.filter((other) => {
        const isThen = record !== "" && other.firstMs <= timeMs && timeMs <= other.lastMs;
        return isThen && other.job !== job && !hit.alsoIn.includes(other.job) && !this.failed.has(other);
      });
      return { hit, record, others };
    });
    await this.identify(asked.flatMap(({ others }) => others));
    const known: Hit[] = [];
    for (const { hit, record, others } of asked) {
      const jobs = new Set(hit.alsoIn);
      for (const other of others)
        if (!jobs.has(other.job) && (await this.#known(other))?.holds(record)) jobs.add(other.job);
      known.push({ ...hit, alsoIn: [...jobs].sort((a, b) => a - b) });
    }
    return known;
  }
}
