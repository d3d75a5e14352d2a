import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { ApiError } from "../../../src/base/errors.ts";
import { flag, pageOf, paging, queryOf, wholeNumber, wholeNumberOr } from "../../../src/web/api/query.ts";
import type { AppContext } from "../../../src/web/api/route.ts";

/** A request with these decoded parameters, as the router gives them. */
function asked(query: { readonly [name: string]: string | undefined }): AppContext {
  return { req: { query: (name: string) => query[name] } } as unknown as AppContext;
}

/** What was read, or the words of the refusal. @throws any other error. */
function read<T>(reading: () => T): { value: T } | { refused: string } {
  try {
    return { value: reading() };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
    return { refused: error.message };
  }
}

const odd = fc.oneof(
  fc.constantFrom("", " 1", "1 ", "+1", "-0", "-1", "0x10", "1e3", "1.0", "١", "9".repeat(17), "NaN", "true", "1\n"),
  fc.string({ unit: "binary" }),
);

describe("a whole number in a query", () => {
  it("is read if it is written in digits and within its range, and refused in words otherwise", () => {
    const range = fc.tuple(fc.nat({ max: 100 }), fc.nat()).map(([min, more]) => ({ min, max: min + more }));
    const number = fc.oneof(fc.integer({ min: -3, max: 120 }), fc.integer(), fc.maxSafeNat()).map(String);
    const zeros = number.map((text) => `000${text}`);
    fc.assert(
      fc.property(fc.oneof(number, zeros, odd), range, (text, { min, max }) => {
        const expected = text.length <= 16 && /^[0-9]+$/.test(text) && !text.includes("\n") ? BigInt(text) : -1n;
        const taken = expected >= BigInt(min) && expected <= BigInt(max);
        expect(read(() => queryOf(asked({ n: text }), { query: z.object({ n: wholeNumber(min, max) }) }).n)).toEqual(
          taken ? { value: Number(expected) } : { refused: `n must be a whole number from ${min} to ${max}` },
        );
      }),
      { numRuns: 2_000 },
    );
    expect(queryOf(asked({}), { query: z.object({ n: wholeNumber(0, 1).optional() }) })).toEqual({});
  });

  it("may be the largest safe one, and is never read as another", () => {
    const { MAX_SAFE_INTEGER: max } = Number;
    const After = z.object({ after: wholeNumber(0, max) });
    expect(read(() => queryOf(asked({ after: `${max}` }), { query: After }).after)).toEqual({ value: max });
    for (const text of ["9007199254740992", "9007199254740993"])
      expect(read(() => queryOf(asked({ after: text }), { query: After }))).toMatchObject({ refused: /after/ });
  });
});

describe("a query", () => {
  it("is told of every fault at once, and what it does not name is left alone", () => {
    const Both = z.object({ n: wholeNumber(0, 9), discard: flag, m: wholeNumberOr(7, 0, 9) });
    expect(queryOf(asked({ n: "3", other: "x" }), { query: Both })).toEqual({ n: 3, discard: false, m: 7 });
    const refused = (): readonly string[] => {
      try {
        return [JSON.stringify(queryOf(asked({ n: "x", discard: "yes", m: "10" }), { query: Both }))];
      } catch (error) {
        return (error as ApiError).entries.map(({ code, message }) => `${code} ${message}`);
      }
    };
    expect(refused()).toEqual([
      "1001 n must be a whole number from 0 to 9",
      "1001 discard must be true or false",
      "1001 m must be a whole number from 0 to 9",
    ]);
  });
});

describe("a flag in a query", () => {
  const Discard = z.object({ discard: flag });

  it("is true, false, or refused", () => {
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom("true", "false", "TRUE", "1", "true "), odd), (text) => {
        const expected = { true: { value: true }, false: { value: false } }[text];
        const answer = read(() => queryOf(asked({ discard: text }), { query: Discard }).discard);
        expect(answer).toEqual(
          Object.hasOwn({ true: 1, false: 1 }, text) ? expected : { refused: "discard must be true or false" },
        );
      }),
    );
    expect(queryOf(asked({}), { query: Discard })).toEqual({ discard: false });
  });
});

describe("the pages of a list", () => {
  const page = (query: { readonly [name: string]: string }, all: readonly number[]) =>
    pageOf(queryOf(asked(query), { query: paging(25) }), all);

  it("are all of it, each entry once and in order, and none is larger than asked for", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 60 }), fc.integer({ min: 1, max: 25 }), (all, perPage) => {
        const pages = Array.from({ length: Math.ceil(all.length / perPage) + 1 }, (_, i) =>
          page({ page: `${i + 1}`, per_page: `${perPage}` }, all),
        );
        expect(pages.flatMap(({ shown }) => shown)).toEqual(all);
        for (const [i, { shown, info }] of pages.entries()) {
          expect(shown.length).toBeLessThanOrEqual(perPage);
          expect(info).toEqual({ page: i + 1, perPage, total: all.length });
        }
        // Pages beyond the last are empty; pages before it are full.
        expect(pages.at(-1)?.shown).toEqual([]);
        for (const { shown } of pages.slice(0, -2)) expect(shown.length).toBe(perPage);
      }),
    );
  });

  it("begin with the first, of the largest size, and go no further than a list may be", () => {
    const all = Array.from({ length: 60 }, (_, i) => i);
    expect(page({}, all)).toEqual({ shown: all.slice(0, 25), info: { page: 1, perPage: 25, total: 60 } });
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 1_000_000 }), (number) => {
        expect(page({ page: `${number}` }, all).shown).toEqual([]);
      }),
    );
    for (const query of [{ page: "0" }, { page: "1000001" }, { per_page: "0" }, { per_page: "26" }])
      expect(read(() => page(query, all))).toHaveProperty("refused");
  });
});
