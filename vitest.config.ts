import { readFileSync, statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig, type Plugin, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { WHOLE_MATRIX_VARIABLE } from "./test/support/matrix-settings.ts";
import { SOAK_VARIABLE } from "./test/support/soak-settings.ts";

/** A file system in memory, on Linux. */
const MEMORY = "/dev/shm";
const MEMORY_MIN_BYTES = 4 * 2 ** 30;

/** Whether there is one with room for all that tests store at once. */
function hasMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= MEMORY_MIN_BYTES;
  } catch {
    return false;
  }
}

// Storage syncs with each transaction, which on a disk takes as long as all else that a test does.
if (process.env.TMPDIR === undefined && hasMemory()) process.env.TMPDIR = MEMORY;

/**
 * Lets tests in Node import pages: scripts and style sheets for browsers are text, and no durable object is ever
 * constructed.
 */
const pagesInNode: Plugin = {
  name: "pages-in-node",
  enforce: "pre",
  resolveId(id, importer = "") {
    if (id === "cloudflare:workers") return `\0${id}`;
    // Under another name: Vite has plans of its own for style sheets.
    return id.endsWith(".css") ? `\0${resolve(dirname(importer), id)}.text` : null;
  },
  load(id) {
    if (id === "\0cloudflare:workers")
      return "export class DurableObject {} export class WorkerEntrypoint {} export const env = {};";
    const file = id.replace(/^\0(.*)\.text$/, "$1");
    return /\.(?:client\.js|css)$/.test(file) ? `export default ${JSON.stringify(readFileSync(file, "utf8"))}` : null;
  },
};

/**
 * Folders in Node: the tests' own tools, those of the demo, the model of the log, and the scheduler
 * of the real code.
 */
const IN_NODE = ["test/unit-support/**", "test/tools/**", "test/model/**", "test/schedule/**"];

/** Tests of storage that run in the runtime, and in Node against the stand-in of the scheduler. */
const OF_STORAGE = ["contract", "id-memory.property", "migrate"].map((name) => `test/base/storage/${name}.test.ts`);

/** Gives these tests the stand-in. */
const standIn: Plugin = {
  name: "stand-in",
  enforce: "pre",
  resolveId: (id) => (/^cloudflare:(test|workers)$/.test(id) ? resolve("test/schedule/cloudflare-test.ts") : null),
};

/** Folders of what runs in processes of its own, apart from the tests in the runtime. */
const OUTSIDE = ["test/azurite/**", "test/e2e/**", "test/browser/**", "test/example/**"];

/** `npm run soak` runs it, which notices when the runtime hangs under so many crashes. */
const SOAK = process.env[SOAK_VARIABLE] === undefined ? ["test/soak/soak.test.ts"] : [];

/**
 * Tests in the runtime, as it will run. Storage is reset after each test; files share the runtime.
 */
const runtime: TestProjectInlineConfiguration = {
  plugins: [
    cloudflareTest(({ inject }) => ({
      wrangler: { configPath: "./wrangler.jsonc" },
      miniflare: {
        // Tests deliver messages themselves: a queue that delivers later would reach a later test.
        queueProducers: { EVENTS: { queueName: "without-consumer" } },
        // Every setting is stated, so that a developer's own .dev.vars changes nothing.
        bindings: {
          ACCOUNT_ID: "test-account",
          ADMIN_TOKEN: "admin-token-of-the-tests",
          SECRETS_KEY: "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
          SECRETS_KEY_PREVIOUS: "",
          ALLOW_LOOPBACK_DESTINATIONS: "true",
          OBJSTORE_ENDPOINT: inject("s3Url"),
          // A bucket, nothing, and a queue.
          DESTINATION_BINDINGS: "TRACES, GONE, EVENTS",
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
    name: "runtime",
    include: ["test/**/*.test.ts"],
    exclude: [...OUTSIDE, ...IN_NODE, ...SOAK],
    isolate: false,
    globalSetup: "./test/support/global-setup.ts",
    setupFiles: "./test/support/runtime/setup.ts",
    testTimeout: 30_000,
  },
};

/**
 * Files that take longest, in this order: they come first, so that nothing else waits for them at
 * the end.
 */
const LONG = [
  "/test/faults/",
  "/test/e2e/faults",
  "/test/e2e/release",
  "/test/e2e/past",
  "/test/e2e/demo",
  "/test/browser/axe",
  "/test/browser/keyboard",
  "/test/browser/create",
  "/test/browser/no-script",
  "/test/browser/live",
  "/test/browser/edit",
];

/** It sends bodies that have to arrive in time: not beside the start of many processes. */
const LAST = ["/test/e2e/hostile-requests"];

/** Where a file comes among those of its project. */
function placeOf({ moduleId }: TestSpecification): number {
  const long = LONG.findIndex((part) => moduleId.includes(part));
  if (long !== -1) return long;
  return LONG.length + (LAST.some((part) => moduleId.includes(part)) ? 1 : 0);
}

/**
 * Sorts files by project, the longest first: a runtime is kept for the next file only if that file
 * is of the same project.
 */
class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort(
      (a, b) => a.project.name.localeCompare(b.project.name) || placeOf(a) - placeOf(b),
    );
  }
}

export default defineConfig({
  test: {
    // What a passing test logs is what it provoked.
    silent: "passed-only",
    // One more than there are processors: some of the tests wait, and by default one is left idle.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: ByProject },
    provide: { wholeMatrix: process.env[WHOLE_MATRIX_VARIABLE] !== undefined },
    projects: [
      runtime,
      {
        plugins: [standIn],
        test: {
          name: "node",
          include: [...IN_NODE.map((folder) => `${folder}/*.test.ts`), ...OF_STORAGE],
          // Files share what they import.
          isolate: false,
          testTimeout: 30_000,
        },
      },
      {
        // The real thing over HTTP: `wrangler dev` in a process of its own. The files mostly wait.
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: "./test/e2e/built.ts",
          // After all others: processes that are timed from outside do not share a machine with a
          // fault matrix.
          sequence: { groupOrder: 1 },
          maxWorkers: 3,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        // Shipping into Azurite: `npm run test:azurite` alone runs it, and installs its packages.
        test: {
          name: "azurite",
          include: ["test/azurite/*.test.ts"],
          globalSetup: "./test/e2e/built.ts",
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The dashboard in a real browser.
        plugins: [pagesInNode],
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          // Files share what they import: the dashboard's pages, Playwright and axe.
          isolate: false,
          globalSetup: "./test/e2e/built.ts",
          sequence: { groupOrder: 2 },
          maxWorkers: 3,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        // The server-rendered application, built, beside the shipper: it has packages of its own,
        // and needs a browser.
        test: {
          name: "example",
          include: ["test/example/**/*.test.ts"],
          globalSetup: "./test/example/global-setup.ts",
          sequence: { groupOrder: 3 },
          // The files share one shop, and each counts all that is shipped.
          maxWorkers: 1,
          testTimeout: 240_000,
          hookTimeout: 90_000,
        },
      },
    ],
  },
});
