import { reset } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import { LinesOfTest } from "./lines.ts";
import { rememberMainModule } from "./main-module.ts";

rememberMainModule();

const lines = new LinesOfTest(console);

beforeEach(() => lines.forget());

/** Storage is isolated by file only, and mocks not at all: each test of the runtime leaves nothing behind. */
afterEach(async ({ task }) => {
  vi.restoreAllMocks();
  if (task.result?.state === "fail") lines.print();
  await reset();
});
