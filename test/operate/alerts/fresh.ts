import { afterEach, beforeEach } from "vitest";
import { HOLD } from "../../../src/operate/alerts/alert-calls.ts";
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

/** The same: no call is held, so that what is told when is a matter of checks alone. */
export function tellAtOnce(): void {
  const { ms } = HOLD;
  beforeEach(() => {
    HOLD.ms = 0;
  });
  afterEach(() => {
    HOLD.ms = ms;
  });
}
