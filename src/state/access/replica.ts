import { ACCESS_COPY_MS } from "../../base/limits.ts";
import { emailKey, sameHash } from "../../formats/secrets/credentials.ts";
import { type CopiedSecret, type Identified, isOver, isUnproven, type Proof } from "./proofs.ts";
import { locatorOf } from "./sessions.ts";

/** What a shard asks the register. Both are rejected if it does not answer in time. */
export interface Source {
  /** Every secret; null: access is being changed, so a copy could be outdated when it arrives. */
  copy(): Promise<CopiedSecret[] | null>;
  identify(proof: Proof, keys?: readonly string[]): Promise<Identified>;
}

/**
 * The copy of the register in a shard's memory. It never outlives a change of access: before the
 * register makes one, it has every shard drop its copy, and hands out none until the change is
 * made.
 */
export class Copied {
  readonly #source: Source;
  readonly #now: () => number;
  #copy: Copy | null = null;
  /** A copy on its way: questions that come meanwhile wait for it. */
  #asked: Promise<void> | null = null;
  #drops = 0;

  constructor(source: Source, now: () => number) {
    this.#source = source;
    this.#now = now;
  }

  /** Looks a proof up, in the copy or, while access is being changed, in the register. */
  async identify(proof: Proof, keys?: readonly string[]): Promise<Identified> {
    if (this.#fresh() === null) {
      this.#asked ??= this.#ask();
      await this.#asked;
    }
    const copy = this.#fresh();
    return copy === null ? this.#source.identify(proof, keys) : copy.identify(proof, keys, this.#now());
  }

  /** A copy that is on its way is not kept either: it was made before the change. */
  drop(): void {
    this.#drops += 1;
    this.#copy = null;
    this.#asked = null;
  }

  #fresh(): Copy | null {
    return this.#copy !== null && Math.abs(this.#now() - this.#copy.atMs) < ACCESS_COPY_MS ? this.#copy : null;
  }

  async #ask(): Promise<void> {
    const drops = this.#drops;
    // The age of a copy counts from the question.
    const atMs = this.#now();
    try {
      const secrets = await this.#source.copy();
      if (drops === this.#drops) this.#copy = secrets === null ? null : new Copy(secrets, atMs);
    } finally {
      if (drops === this.#drops) this.#asked = null;
    }
  }
}

/** All secrets of the register at one time. */
class Copy {
  readonly atMs: number;
  readonly #secrets: readonly CopiedSecret[];
  readonly #byLocator: Map<number, CopiedSecret[]>;

  constructor(secrets: readonly CopiedSecret[], atMs: number) {
    this.atMs = atMs;
    this.#secrets = secrets;
    this.#byLocator = Map.groupBy(secrets, ({ hash }) => locatorOf(hash));
  }

  identify(proof: Proof, keys: readonly string[] | undefined, nowMs: number): Identified {
    const address = proof.kind === "key" ? emailKey(proof.email) : null;
    const found = (this.#byLocator.get(locatorOf(proof.hash)) ?? []).find(
      (each) => each.emailKey === address && sameHash(each.hash, proof.hash),
    );
    const known = found === undefined || isOver(found.known.expiresMs, nowMs) ? null : found.known;
    if (keys === undefined) return { known };
    const isDoubtful = ({ known: { expiresMs }, checkedBy }: CopiedSecret): boolean =>
      isUnproven(checkedBy, keys) && !isOver(expiresMs, nowMs);
    return { known, doubtful: this.#secrets.some(isDoubtful) };
  }
}
