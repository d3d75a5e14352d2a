import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parted } from "../../../src/ship/consumer/poison-messages.ts";
import { ALONE_DEATHS } from "../../../src/ship/log/redeliveries.ts";

interface Message {
  n: number;
  attempts: number;
  deaths: number;
  /** The first kill is not noted, as the message is too young. */
  isYoung: boolean;
}

const message = (n: number, deaths = 0, attempts = 2): Message => ({ n, attempts, deaths, isYoung: false });
const part = (messages: readonly Message[]) => {
  const { now, later, hopeless, isAlone } = parted(messages, ({ deaths }) => deaths);
  const numbers = (of: readonly Message[]) => of.map(({ n }) => n);
  return { now: numbers(now), later: numbers(later), hopeless: numbers(hopeless), isAlone };
};

describe("a batch in which there are messages that batches died with", () => {
  it("is tried whole where there are none", () => {
    expect(part([message(1), message(2)])).toEqual({ now: [1, 2], later: [], hopeless: [], isAlone: false });
    expect(part([])).toEqual({ now: [], later: [], hopeless: [], isAlone: false });
  });

  it("is halved where all are, and those with the most deaths come first", () => {
    const five = [1, 2, 3, 4, 5].map((n) => message(n, 1));
    expect(part(five)).toEqual({ now: [1, 2], later: [3, 4, 5], hopeless: [], isAlone: false });
    expect(part([...five, message(6, 2), message(7, 2)])).toMatchObject({ now: [6], isAlone: true });
    expect(part([message(1, 1)])).toEqual({ now: [1], later: [], hopeless: [], isAlone: true });
  });

  it("is tried in turns where some are: what is not suspected, or half of what is, never both", () => {
    const mixed = (attempts: number) => [message(1), message(2, 1, attempts), message(3), message(4, 1, attempts)];
    expect(part(mixed(3))).toEqual({ now: [1, 3], later: [2, 4], hopeless: [], isAlone: false });
    expect(part(mixed(4))).toEqual({ now: [2], later: [1, 3, 4], hopeless: [], isAlone: true });
  });

  it("is tried without what died alone, while anything else is suspected", () => {
    const one = message(1, ALONE_DEATHS + 1);
    expect(part([one, message(2, 1), message(3, 1), message(4, 2)])).toMatchObject({ now: [4], later: [1, 2, 3] });
    expect(part([one, message(2, ALONE_DEATHS)])).toMatchObject({ now: [1], isAlone: true });
  });

  it("is rid of what died alone three times, and of nothing else: its acknowledgement must not be lost", () => {
    const poison = [0, 1, 2, 3].map((n) => message(n, ALONE_DEATHS + n));
    expect(part(poison)).toEqual({ now: [], later: [0, 1, 2], hopeless: [3], isAlone: false });
  });
});

describe("messages that kill the handler, among many", () => {
  /**
   * A queue in which some messages kill. Batches are drawn from all that waits; new messages keep
   * coming.
   */
  function run(poison: ReadonlySet<number>, size: number, fresh: number, pick: (max: number) => number) {
    let waiting: Message[] = Array.from({ length: size }, (_, n) => ({ ...message(n, 0, 0), isYoung: true }));
    let next = size;
    const done = new Set<number>();
    const aside = new Set<number>();
    const kills = new Map<number, number>();
    let rounds = 0;
    let attempts = 0;
    for (; [...poison].some((n) => !aside.has(n)) || waiting.length > 0; rounds++) {
      if (rounds > 1_000) throw new Error("it does not end");
      const isOver = [...poison].every((n) => aside.has(n));
      for (let n = 0; n < fresh && !isOver; n++) waiting.push({ ...message(next++, 0, 0), isYoung: true });
      const batch: Message[] = [];
      while (batch.length < 100 && waiting.length > 0) batch.push(...waiting.splice(pick(waiting.length), 1));
      for (const each of batch) each.attempts += 1;
      const { now, hopeless, isAlone, later } = parted(batch, ({ deaths }) => deaths);
      for (const { n } of hopeless) aside.add(n);
      if (isAlone) for (const each of now) each.deaths = Math.max(each.deaths, ALONE_DEATHS);
      const killer = now.find(({ n }) => poison.has(n));
      waiting.push(...later);
      if (killer === undefined) {
        for (const each of now) {
          done.add(each.n);
          attempts = Math.max(attempts, each.attempts);
        }
      } else {
        kills.set(killer.n, (kills.get(killer.n) ?? 0) + 1);
        // None of its acknowledgements counts.
        for (const each of now) {
          if (!each.isYoung) each.deaths += 1;
          each.isYoung = false;
        }
        waiting.push(...now);
      }
      waiting = waiting.filter(({ n }) => !aside.has(n));
    }
    return { done, aside, kills, all: next, attempts };
  }

  it("are set aside, they alone, after few deaths, however the queue mixes them", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat({ max: 199 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 200 }),
        fc.constantFrom(0, 20, 80),
        fc.infiniteStream(fc.nat()),
        (numbers, size, fresh, stream) => {
          const poison = new Set(numbers.filter((n) => n < size));
          const pick = (max: number): number => stream.next().value % max;
          const { done, aside, kills, all, attempts } = run(poison, size, fresh, pick);
          expect([...aside].sort()).toEqual([...poison].sort());
          expect(done.size).toBe(all - poison.size);
          // After a hundred they would be dead letters.
          expect(attempts).toBeLessThan(100);
          // Two that are not noted or counted, the halves of a hundred, and three alone.
          for (const count of kills.values()) expect(count).toBeLessThanOrEqual(12);
        },
      ),
      // Always the same: how often a message comes by chance has no bound.
      { numRuns: 60, seed: 1 },
    );
  });
});
