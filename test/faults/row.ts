import { it, type TestContext } from "vitest";
import type { FaultMeta } from "../support/fault-meta.ts";
import { variants } from "../support/matrix.ts";
import { azureConf, boundConf, googleConf } from "../support/runtime/api.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { bindToEndpoint } from "../support/runtime/r2-over-fetch.ts";
import { World } from "../support/runtime/world.ts";
import type { WorldJob } from "../support/runtime/world-jobs.ts";
import { decided } from "./stores.ts";

/** Kinds of store beside S3, by the scripted endpoint. Azure has rows of its own as well. */
const OTHER_STORES: readonly (readonly [kind: string, conf: ConfOf])[] = [
  ["a bound bucket", boundConf],
  ["a bucket of Google", googleConf],
  ["a container of Azure", azureConf],
];
/**
 * Of these, those of a row that tells: the first ones. Google's conditions and checksums are those
 * of the contract that every store keeps.
 */
const TELLING = 1;

type ConfOf = (name: string, path?: string) => string;

/**
 * For which kinds of store a row runs. In `npm test` it is S3 alone, but for rows that tell whether
 * the other kinds' own conditions and checksums hold.
 */
export interface Kinds {
  readonly tells: boolean;
  /** Kinds that do not have what it is about. */
  readonly without: readonly ConfOf[];
}
export const STORES: Kinds = { tells: false, without: [] };
export const TELLS: Kinds = { tells: true, without: [] };
/** About what only HTTP has, such as a status or a header. */
export const OVER_HTTP: Kinds = { tells: false, without: [boundConf] };
/** About an error code of S3, which Google has as well. */
export const WITH_CODES: Kinds = { tells: false, without: [boundConf, azureConf] };

/** A row for every kind of store. */
export function storeRow(
  fault: string,
  { tells, without }: Kinds,
  run: (world: World, context: TestContext) => Promise<void>,
): void {
  row(fault, run);
  const others = OTHER_STORES.filter(([, conf]) => !without.includes(conf));
  for (const [kind, conf] of variants(others, tells ? TELLING : 0)) {
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
 * delivered. The row fails if its fault never took place: none that it counts, and none that a
 * script of a store or receiver had in store.
 * @param after checks the world once more after it has settled.
 */
export function row(
  fault: string,
  run: (world: World, context: TestContext) => Promise<void>,
  after: (world: World) => Promise<void> = async () => {},
): void {
  it(fault, async (context) => {
    const world = new World(NOON);
    await world.begin();
    await run(world, context);
    const summary = await world.finish();
    await after(world);
    const faults = summary.faults + (await brokenByScripts(world));
    if (faults === 0) throw new Error("no fault took place");
    const meta: FaultMeta = { row: context.task.name, ...summary, faults };
    context.task.meta.fault = meta;
  });
}

/** A row with a job, which is there before anything else. */
export function jobRow(fault: string, run: (world: World, job: WorldJob) => Promise<void>): void {
  row(fault, async (world) => run(world, await world.createJob()));
}

/** How many requests the scripts of all buckets and receivers have decided. */
async function brokenByScripts({ jobs }: World): Promise<number> {
  const controls = jobs.all.flatMap(({ buckets, elsewhere }) => [
    ...buckets.map(({ control }) => control),
    ...elsewhere.map(({ bucket }) => bucket.control),
  ]);
  return (await Promise.all(controls.map(decided))).reduce((sum, count) => sum + count, 0);
}
