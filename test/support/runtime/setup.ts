import { reset } from "cloudflare:test";
import { afterEach, vi } from "vitest";

/** Storage is isolated by file only, and mocks not at all: each test of the runtime leaves nothing behind. */
afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
});
