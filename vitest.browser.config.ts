import { defineConfig } from "vitest/config";

/** The dashboard in a real browser: apart from the other tests, as it needs one to be installed. */
export default defineConfig({
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 90_000,
    fileParallelism: false,
  },
});
