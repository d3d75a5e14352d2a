import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { keyedIds } from "../../../src/ship/intake/ids.ts";

/** Texts that are easily confused: separators, escapes, halves of a surrogate pair. */
const text = fc.string({
  unit: fc.constantFrom("a", "b", ",", '"', "\\", "[", "]", "0", "\u0000", "\ud800", "\udc00", "\ufffd"),
  maxLength: 4,
});
const request = fc.record({ key: text, body: text.map(encodeUtf8), part: fc.nat({ max: 12 }) });
type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

const idOf = ({ key, body, part }: Request): string => keyedIds(key, body)(part);
const nameOf = ({ key, body, part }: Request): string => JSON.stringify([key, [...body], part]);

describe("the ids of a request that may be repeated", () => {
  it("are the same if key, body and part are, and only then", () => {
    fc.assert(
      fc.property(fc.array(request, { minLength: 2, maxLength: 20 }), (requests) => {
        const ids = requests.map(idOf);
        expect(new Set(ids).size).toBe(new Set(requests.map(nameOf)).size);
        for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
      }),
      { numRuns: 500 },
    );
  });

  it("are not changed by the order in which they are asked for, nor by what becomes of the body's buffer", () => {
    fc.assert(
      fc.property(request, fc.array(fc.nat({ max: 50 }), { minLength: 1 }), ({ key, body }, parts) => {
        const copy = body.slice();
        const ids = keyedIds(key, body);
        body.fill(0);
        expect(parts.map(ids)).toEqual(parts.map((part) => keyedIds(key, copy)(part)));
      }),
    );
  });
});
