import { reset } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import { forgetApps } from "./isolates.ts";
import { LinesOfTest } from "./lines.ts";
import { rememberMainModule } from "./main-module.ts";

rememberMainModule();

const lines = new LinesOfTest(console);

beforeEach(() => lines.forget());

const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;

/** Test files share the runtime with its storage, mocks and timers, so each test cleans up. */
afterEach(async ({ task }) => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  // The mock of a fake timer restores the fake one, which would stay for all later tests.
  Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  forgetApps();
  if (task.result?.state === "fail") lines.print();
  await reset();
});
