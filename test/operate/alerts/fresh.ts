import { afterEach, beforeEach } from "vitest";
import { FRESH } from "../../../src/operate/alerts/watch.ts";

/** For the tests of a file: each look is a new one, however soon it follows another. */
export function lookAnew(): void {
  const { ms } = FRESH;
  beforeEach(() => {
    FRESH.ms = 0;
  });
  afterEach(() => {
    FRESH.ms = ms;
  });
}
