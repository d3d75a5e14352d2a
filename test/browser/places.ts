/** Where the pages are: for each pattern the addresses at which a seeded shipper has one. */
import type { Seeded } from "./seed.ts";

/** By the patterns of src/dashboard/pages.ts; places.test.ts says which is missing. */
export const PLACES: Readonly<Record<string, (seeded: Seeded) => readonly string[]>> = {
  "/": () => ["/"],
  "/jobs": () => ["/jobs"],
};

/** A file rather than a page. */
export const FILES: readonly string[] = [];

/** What no pattern has: nothing is there, or not any more. */
export const NOTHING = ["/nothing-here", "/jobs/999999"];
