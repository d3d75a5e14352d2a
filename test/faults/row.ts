import { it, type TestContext } from "vitest";
import type { FaultMeta } from "../support/fault-meta.ts";
import { variants } from "../support/matrix.ts";
import { boundConf, googleConf } from "../support/runtime/api.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { bindToEndpoint } from "../support/runtime/r2-over-fetch.ts";
import { World } from "../support/runtime/world.ts";

/** Kinds of store beside S3, by the scripted endpoint. */
const OTHER_STORES = [
  ["a bucket of Google", googleConf],
  ["a bound bucket", boundConf],
] as const;

/**
 * For which kinds of store a row runs. In `npm test` it is S3 alone, but for rows that tell whether
 * the other kinds' own conditions and checksums hold.
 */
interface Kinds {
  readonly tells: boolean;
  /** false: it is about what only HTTP has, such as a status or a header. */
  readonly binding: boolean;
}
export const STORES: Kinds = { tells: false, binding: true };
export const TELLS: Kinds = { tells: true, binding: true };
export const OVER_HTTP: Kinds = { tells: false, binding: false };

/** A row for every kind of store. */
export function storeRow(
  fault: string,
  { tells, binding }: Kinds,
  run: (world: World, context: TestContext) => Promise<void>,
): void {
  row(fault, run);
  const others = OTHER_STORES.filter(([, conf]) => binding || conf !== boundConf);
  for (const [kind, conf] of tells ? others : variants(others, 0)) {
    row(`${fault}; ${kind}`, async (world, context) => {
      if (conf === boundConf) context.onTestFinished(bindToEndpoint());
      world.jobs.conf = conf;
      await run(world, context);
    });
  }
}

/**
 * A row of the fault matrix: a test that breaks something in a world of its own. The world then
 * checks that nothing is lost or duplicated, that every count adds up, and that a fresh event is
 * delivered. The row fails if its fault never took place.
 * @param after checks the world once more after it has settled.
 */
export function row(
  fault: string,
  run: (world: World, context: TestContext) => Promise<void>,
  after: (world: World) => Promise<void> = async () => {},
): void {
  it(fault, async (context) => {
    const world = new World(NOON);
    await run(world, context);
    const summary = await world.finish();
    await after(world);
    if (summary.faults === 0) throw new Error("no fault took place");
    const meta: FaultMeta = { row: context.task.name, ...summary };
    context.task.meta.fault = meta;
  });
}
