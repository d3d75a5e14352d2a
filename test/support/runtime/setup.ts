import { reset } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import { LinesOfTest } from "./lines.ts";
import { rememberMainModule } from "./main-module.ts";

rememberMainModule();

const lines = new LinesOfTest(console);

beforeEach(() => lines.forget());

/** Test files share the runtime with its storage, mocks and timers, so each test cleans up. */
afterEach(async ({ task }) => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  if (task.result?.state === "fail") lines.print();
  await reset();
});
