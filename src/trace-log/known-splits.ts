import type { TakenId } from "../storage/id-memory.ts";
import { childOf, homeOf, nextBit, ROOT, type Split } from "../storage/splits.ts";

/** What one node of the service knows of the ledger's splits: at first none, and never all. */
export class KnownSplits {
  readonly #splits = new Map<number, readonly Split[]>();

  of(shard: number): readonly Split[] {
    return this.#splits.get(shard) ?? [];
  }

  homeOf(message: TakenId): number {
    return homeOf(message, this.#splits);
  }

  /** Every shard that there is by these splits, the first one first. */
  shards(): number[] {
    const shards = [ROOT];
    // Grows while it is read.
    for (const shard of shards) shards.push(...this.of(shard).map(({ bit }) => childOf(shard, bit)));
    return shards;
  }

  /** Takes what a shard says of its splits. @throws if it is malformed. */
  learn(shard: number, splits: unknown): void {
    if (!isSplits(shard, splits)) throw new Error(`shard ${shard} of the ledger: malformed splits`);
    // The longer list has all of the other one.
    if (splits.length > this.of(shard).length) this.#splits.set(shard, splits);
  }
}

/** The splits in a shard's answer; undefined: it is an answer to the question. */
export function splitsIn(answer: unknown): unknown {
  return typeof answer === "object" && answer !== null && "splits" in answer ? answer.splits : undefined;
}

/** A shard has not done what it was asked: it was split, which is known now. */
export const REFUSED = Symbol("refused");

/** Makes a call to a shard, and learns from its refusal. @throws if that says nothing new. */
export async function learning<T>(
  splits: KnownSplits,
  shard: number,
  call: (known: number) => Promise<T>,
): Promise<T | typeof REFUSED> {
  const before = splits.of(shard).length;
  const answer = await call(before);
  const said = splitsIn(answer);
  if (said === undefined) return answer;
  splits.learn(shard, said);
  if (splits.of(shard).length <= before) throw new Error(`shard ${shard} of the ledger refuses its own`);
  return REFUSED;
}

function isSplits(shard: number, value: unknown): value is readonly Split[] {
  if (!Array.isArray(value)) return false;
  return value.every((split: Partial<Split> | null, i) => {
    const bit = nextBit(shard, value.slice(0, i) as readonly Split[]);
    return bit !== null && split?.bit === bit && Number.isSafeInteger(split.fromMs);
  });
}
