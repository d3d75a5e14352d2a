import { it, type TestContext } from "vitest";
import type { FaultMeta } from "../support/fault-meta.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { World } from "../support/runtime/world.ts";

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
