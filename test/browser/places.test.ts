import { expect, it } from "vitest";
import { PATTERNS } from "./pages-there-are.ts";
import { PLACES } from "./places.ts";

it("has an address for every page that there is", () => {
  expect(PATTERNS.length).toBeGreaterThan(0);
  expect(PATTERNS.filter((pattern) => PLACES[pattern] === undefined)).toEqual([]);
});

it("has none for a page that is gone", () => {
  expect(Object.keys(PLACES).filter((pattern) => !PATTERNS.includes(pattern))).toEqual([]);
});
