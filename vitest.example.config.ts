import { defineConfig } from "vitest/config";

/** The server-rendered application, built, beside the shipper: apart from the other tests, as it has packages of its own, and needs a browser. */
export default defineConfig({
  test: {
    name: "example",
    include: ["test/example/**/*.test.ts"],
    globalSetup: "./test/example/global-setup.ts",
    testTimeout: 120_000,
    hookTimeout: 90_000,
    // They share one shop, and each counts all that is shipped.
    fileParallelism: false,
  },
});
