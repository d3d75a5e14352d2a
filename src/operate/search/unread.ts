import type { Copies } from "./copies.ts";
import type { LookedUp, LookUp } from "./look-up.ts";
import { wholeOf } from "./share.ts";
import type { Source } from "./source.ts";

export interface Queue {
  /** Absent: nothing is known of what they hold. */
  lookUp: LookUp | undefined;
  /** Objects whose sketches are asked at once. */
  lookAhead: number;
  compare(a: Source, b: Source): number;
  /** @param skipped so many of those that are out were to be read. */
  looked(looked: LookedUp, skipped: number): void;
}

/** What is to be read next: after another one, if that decides what of it is read. */
export interface Next {
  source: Source;
  after: Source | undefined;
}

/** The objects that are to be read, in order. Sketches take those out that hold no match. */
export class Unread {
  readonly #of: Queue;
  readonly #left: Source[];
  readonly #open: Set<Source>;
  /** Of these, sketches were asked. */
  readonly #lookedUp = new Set<Source>();
  /** Of these, they say that they hold no match. */
  readonly #out = new Set<Source>();
  #looking: Promise<void> = Promise.resolve();

  constructor(left: readonly Source[], of: Queue) {
    this.#of = of;
    this.#left = left.toSorted(of.compare);
    this.#open = new Set(left);
  }

  /** The first of them, up to so many. */
  first(most: number): Source[] {
    return this.#left.slice(0, most);
  }

  take(source: Source): void {
    this.#left.splice(this.#left.indexOf(source), 1);
    this.#open.delete(source);
  }

  add(sources: readonly Source[]): void {
    this.#left.push(...sources);
    this.#left.sort(this.#of.compare);
    for (const source of sources) this.#open.add(source);
  }

  /**
   * The next in order, or what has to be read before it.
   * @param copies null: all is of one job.
   * @param isIdle this page gets no further otherwise.
   * @returns null: no other can be decided on this page.
   */
  next(copies: Copies | null, underWay: ReadonlyMap<Source, unknown>, isIdle: boolean): Next | null {
    for (const first of this.#left) {
      let source = first;
      const before = () => copies?.awaited(source) ?? [];
      for (let other: Source | undefined = first; other !== undefined; ) {
        source = other;
        other = before().find((one) => this.#open.has(one));
      }
      if (!copies?.isCutOff(source) || (isIdle && first === this.#left.at(-1)))
        return { source, after: before().find((other) => underWay.has(other)) };
    }
    return null;
  }

  /** Nothing is begun meanwhile that may turn out to hold no match. */
  async looked(): Promise<void> {
    await this.#looking;
  }

  isLookedUp(source: Source): boolean {
    return this.#of.lookUp === undefined || this.#lookedUp.has(wholeOf(source));
  }

  isOut(source: Source): boolean {
    return this.#out.has(wholeOf(source));
  }

  /** Asks the sketches of the first objects. */
  async lookAhead(source: Source): Promise<void> {
    await this.#look(() => (this.isLookedUp(source) ? [] : this.#left.map(wholeOf)));
  }

  /** Asks the sketches of these objects. */
  async lookAt(sources: readonly Source[]): Promise<void> {
    while (sources.some((source) => !this.isLookedUp(source))) await this.#look(() => sources);
  }

  /** Asks those of the first of these objects, after what is asked already. */
  async #look(wanted: () => readonly Source[]): Promise<void> {
    this.#looking = this.#looking.then(() => this.#ask(wanted()));
    await this.#looking;
  }

  async #ask(sources: readonly Source[]): Promise<void> {
    const { lookUp, lookAhead, looked } = this.#of;
    const next = sources.filter((source) => !this.isLookedUp(source)).slice(0, lookAhead);
    if (lookUp === undefined || next.length === 0) return;
    const found = await lookUp(next);
    for (const source of next) this.#lookedUp.add(source);
    for (const source of found.out) this.#out.add(source);
    const skipped = this.#left.filter((source) => found.out.has(wholeOf(source)));
    for (const source of skipped) this.take(source);
    looked(found, skipped.length);
  }
}
