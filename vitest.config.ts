import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { SOAK_VARIABLE } from "./test/support/soak-settings.ts";

/**
 * Tests in the runtime, as it will run. Storage is reset after each test.
 * @param isolate whether each file has a runtime of its own, which takes seconds to start; else one serves many, and what a module remembers outlives a file.
 */
function inRuntime(
  name: string,
  isolate: boolean,
  include: string[],
  exclude: string[],
): TestProjectInlineConfiguration {
  return {
    plugins: [
      cloudflareTest(({ inject }) => ({
        wrangler: { configPath: "./wrangler.jsonc" },
        miniflare: {
          // Every setting is stated, so that a developer's own .dev.vars changes nothing.
          bindings: {
            ACCOUNT_ID: "test-account",
            ADMIN_TOKEN: "admin-token-of-the-tests",
            SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
            SECRETS_KEY_PREVIOUS: "",
            ALLOW_LOOPBACK_DESTINATIONS: "true",
            OBJSTORE_ENDPOINT: inject("s3Url"),
            SELF_NAME: "logship",
            DEFAULT_SCRIPT_NAME: "unnamed",
            PREVIEW_RECENT: "true",
            LOCAL_FUNCTIONS: "",
            DEST_TEST: JSON.stringify({
              host: new URL(inject("s3Url")).host,
              access_key_id: "test-access-key",
              secret_access_key: "test-secret-key",
            }),
          },
        },
      })),
    ],
    test: {
      name,
      include,
      exclude,
      isolate,
      globalSetup: "./test/support/global-setup.ts",
      setupFiles: "./test/support/runtime/setup.ts",
      testTimeout: 30_000,
    },
  };
}

/** Folders whose tests leave nothing behind in a module, so that their files can stand in any order in one runtime: from record to object, and pages. */
const SHARED = [
  "access",
  "dashboard",
  "destinations",
  "filter",
  "intake",
  "log",
  "openapi",
  "output",
  "pipeline",
  "record",
  "shop",
  "storage",
].map((folder) => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    // What a passing test logs is what it provoked.
    silent: "passed-only",
    // By default one processor is left idle, and of two that is half of them.
    maxWorkers: "100%",
    projects: [
      inRuntime("shared", false, SHARED, []),
      // Handlers, durable objects, and every fault.
      inRuntime(
        "runtime",
        true,
        ["test/**/*.test.ts"],
        [
          ...SHARED,
          "test/e2e/**",
          "test/browser/**",
          "test/example/**",
          "test/unit-support/**",
          "test/tools/**",
          // `npm run soak` runs it, which notices when the runtime hangs under so many crashes.
          ...(process.env[SOAK_VARIABLE] === undefined ? ["test/soak/soak.test.ts"] : []),
        ],
      ),
      {
        // The tests' own tools, and those of the demo, in Node.
        test: {
          name: "node",
          include: ["test/unit-support/**/*.test.ts", "test/tools/**/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        // The real thing over HTTP: `wrangler dev` in a process of its own.
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          // After all others: processes that are timed from outside are not to share a machine with a fault matrix.
          sequence: { groupOrder: 1 },
          testTimeout: 180_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
