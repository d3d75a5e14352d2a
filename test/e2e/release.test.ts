/**
 * Upgrade and rollback: this code, and the release in test/fixtures/release, on the same state,
 * each after the other, and killed in between. Records wait in open batches while the version
 * changes.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import type { BuiltWorker } from "../../tools/servers/dev-server.ts";
import { until } from "../../tools/until.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { drain, receivedBy } from "./fault-support.ts";
import { setQueueWait } from "./queue-wait.ts";
import { IsolatedShipper, jobInto, pathOf, RECEIVED_WITHIN_MS } from "./shipper.ts";

const RELEASE = join(ROOT, "test/fixtures/release");

/** The release, with a copy of its configuration. */
function releaseFor({ folder }: IsolatedShipper): BuiltWorker {
  const copy = join(folder, "release");
  mkdirSync(copy);
  const config = join(copy, "wrangler.jsonc");
  copyFileSync(join(RELEASE, "wrangler.jsonc"), config);
  setQueueWait(config, 1);
  return { config, script: join(RELEASE, "built/index.js") };
}

describe("a release to go back to", () => {
  it("goes on where this code was, and this code where it was: every record once", { timeout: 300_000 }, async ({
    expect,
  }) => {
    await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
    const head = shipper.built;
    const release = releaseFor(shipper);
    const oracle = new Oracle({ name: "release", at: Date.now() });
    const folder = "versions";
    // So long that records wait in an open batch while the version changes.
    const job = await shipper.api.createJob(jobInto(folder, { max_upload_interval_seconds: 300 }));
    let taken = 0;
    let last: () => Promise<unknown> = () => Promise.resolve();
    const take = async (count: number): Promise<void> => {
      // Today and some days ahead, far ones among them.
      const events = oracle.mint(count, { days: 4 });
      const idempotencyKey = `request-${taken}`;
      const post = () =>
        shipper.api.postEvents(
          events.map(({ event }) => event),
          { idempotencyKey },
        );
      await post();
      // What the version before has taken: its repeat has the same ids in this one.
      await last();
      last = post;
      oracle.acknowledged(job.id, events);
      taken += count;
      await receivedBy(shipper.api, job, taken);
      const counts = await until({
        what: "the account's ledger to have counted them",
        withinMs: RECEIVED_WITHIN_MS,
        look: () => shipper.api.accountLedger(),
        enough: ({ processed }) => processed >= taken,
      });
      expect(counts).toMatchObject({ processed: taken, routed: taken, set_aside: 0 });
    };
    await take(40);
    for (const built of [release, head, release]) {
      await shipper.crashAndRestart({ built });
      await take(30);
    }
    await drain(shipper.api, job);
    assertClean(oracle.audit(job.id, await shipper.bucket.read(`${folder}/`), { path: pathOf(folder) }));
    expect(await shipper.api.jobLedger(job.id)).toMatchObject({ received: taken, delivered: taken });
  });
});
