/**
 * What the files of a worker share, as they run one after another: a browser, and a shipper with
 * and one without data.
 */
import type { Browser } from "playwright-core";
import { afterAll, test } from "vitest";
import { HostileStore } from "../e2e/hostile-store.ts";
import { IsolatedShipper, type Settings } from "../e2e/shipper.ts";
import { launch, Stage } from "./browser.ts";
import { type Seeded, seed } from "./seed.ts";

/** A browser, and a shipper with data for every page. */
export interface World {
  stage: Stage;
  store: HostileStore;
  seeded: Seeded;
}

interface Shared {
  browser: Browser;
  empty: Stage;
  world: World;
}

const inWorker = { scope: "worker" } as const;

/** Short, so that no test waits for the queue. */
const QUEUE_WAIT_S = 1;

const shared = test.extend<{ $worker: Shared }>({
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads here what a fixture needs.
    async ({}, use) => {
      await using browser = await launch();
      await use(browser);
    },
    inWorker,
  ],
  empty: [
    async ({ browser }, use) => {
      await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S });
      await use(new Stage(browser, shipper));
    },
    inWorker,
  ],
  world: [
    async ({ browser }, use) => {
      await using store = await HostileStore.start();
      await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S });
      const stage = new Stage(browser, shipper);
      await use({ stage, store, seeded: await seed(shipper, store) });
    },
    inWorker,
  ],
});

/** What `begin` gives before the tests of a file; at their end the browser has no pages. */
function duringFile<T extends { stage: Stage }>(given: () => T | undefined): () => T {
  afterAll(async () => {
    const contexts = given()?.stage.browser.contexts() ?? [];
    await Promise.all(contexts.map((context) => context.close()));
  });
  return () => {
    const value = given();
    if (value === undefined) throw new Error("it is not there yet");
    return value;
  };
}

/**
 * A shipper with data for every page. What a file changes, the next one finds: each leaves jobs and
 * functions as it found them. @returns a getter for use in the tests.
 */
export function theWorld(): () => World {
  let world: World | undefined;
  shared.beforeAll(({ world: given }) => {
    world = given;
  });
  return duringFile(() => world);
}

/**
 * A shipper with what files before have left. @returns a getter for use in the tests.
 */
export function theStage(): () => Stage {
  let stage: Stage | undefined;
  shared.beforeAll(({ empty }) => {
    stage = empty;
  });
  const get = duringFile(() => stage && { stage });
  return () => get().stage;
}

/** A shipper of the file's own, which it may kill. @returns a getter for use in the tests. */
export function ownStage(settings: Settings = {}): () => Stage {
  let stage: Stage | undefined;
  shared.beforeAll(async ({ browser }) => {
    stage = new Stage(browser, await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S, settings }));
  });
  afterAll(() => stage?.shipper[Symbol.asyncDispose]());
  const get = duringFile(() => stage && { stage });
  return () => get().stage;
}
