import { afterEach, beforeEach, vi } from "vitest";
import { REFUSALS_MS } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { forgetting } from "./forgetting.ts";
import { deleteLeftovers } from "./leftovers.ts";
import { LinesOfTest } from "./lines.ts";
import { rememberMainModule } from "./main-module.ts";
import { setTimersAtOnce } from "./timers.ts";

rememberMainModule();
setTimersAtOnce();

const lines = new LinesOfTest(console);

let test = 0;
beforeEach(() => {
  test += 1;
  lines.forget();
});

/** Refusals are noted seconds later; those of an earlier test are none of this one's audit. */
const { sleep } = platform;
platform.sleep = async (ms, end) => {
  const begun = test;
  await sleep(ms, end);
  if (ms === REFUSALS_MS && begun !== test) await new Promise(() => {});
};

const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;

/** Test files share the runtime with its storage, mocks and timers, so each test cleans up. */
afterEach(async ({ task }) => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  // The mock of a fake timer restores the fake one, which would stay for all later tests.
  Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  for (const forget of forgetting) forget();
  if (task.result?.state === "fail") lines.print();
  await deleteLeftovers();
});
