import { it, type TestContext } from "vitest";
import type { FaultMeta } from "../support/fault-meta.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { World } from "../support/runtime/world.ts";

/**
 * A row of the fault matrix: a test that breaks something in a world of its own, and leaves it to the world to show that nothing was lost, nothing came
 * twice, every number adds up, and a fresh event still flows. A row whose fault never took place fails: it would show nothing.
 * @param after looks at the world once more, when everything has settled.
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
