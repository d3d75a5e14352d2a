/**
 * Upgrade and rollback: this code, and the release in test/fixtures/release, on the same state,
 * each after the other, and killed in between. Records wait in open batches while the version
 * changes.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "vitest";
import { ApiClient } from "../../tools/client/api-client.ts";
import { ROOT } from "../../tools/paths.ts";
import type { BuiltWorker } from "../../tools/servers/dev-server.ts";
import { until } from "../../tools/until.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { assertReceived, drain, receivedBy } from "./fault-support.ts";
import { HostileStore } from "./hostile-store.ts";
import { setQueueWait } from "./queue-wait.ts";
import { IsolatedShipper, jobInto, pathOf, RECEIVED_WITHIN_MS } from "./shipper.ts";

const DAY_MS = 86_400_000;

const RECEIVER = "receiver-elastic-after";
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

/** How many records of any time a search finds, and how it ends. */
async function search({ url, token }: IsolatedShipper, question: object): Promise<{ hits: number; end: unknown }> {
  const span = {
    since: new Date(Date.now() - DAY_MS).toISOString(),
    until: new Date(Date.now() + 9 * DAY_MS).toISOString(),
  };
  const answer = await fetch(`${url}/client/v4/accounts/local/logship/search`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ ...span, ...question }),
  });
  const lines = (await answer.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string });
  return { hits: lines.filter(({ type }) => type === "hit").length, end: lines.at(-1) };
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
    await using store = await HostileStore.start();
    // So long that records wait in an open batch while the version changes.
    const job = await shipper.api.createJob(jobInto(folder, { max_upload_interval_seconds: 300 }));
    // Its log is the release's as well, until it ships to a receiver.
    const moved = await shipper.api.createJob(jobInto("moved", { max_upload_interval_seconds: 300 }));
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
      for (const each of [job, moved]) oracle.acknowledged(each.id, events);
      taken += count;
      for (const each of [job, moved]) await receivedBy(shipper.api, each, taken);
      const counts = await until({
        what: "the account's ledger to have counted them",
        withinMs: RECEIVED_WITHIN_MS,
        look: () => shipper.api.accountLedger(),
        enough: ({ processed }) => processed >= taken,
      });
      expect(counts).toMatchObject({ processed: taken, routed: taken, set_aside: 0 });
    };
    const tokens: string[] = [];
    /** Each version takes the tokens of the other, and issues one. */
    const useTokens = async (): Promise<void> => {
      for (const token of tokens) await new ApiClient(shipper.url, { token }).accountLedger();
      const asked = { name: "release", permissions: ["logs:read"] };
      tokens.push((await shipper.call<{ value: string }>("POST", "/tokens", asked)).value);
    };
    await take(40);
    await useTokens();
    for (const built of [release, head, release]) {
      await shipper.crashAndRestart({ built });
      await take(30);
      await useTokens();
    }
    await drain(shipper.api, job);
    assertClean(oracle.audit(job.id, await shipper.bucket.read(`${folder}/`), { path: pathOf(folder) }));
    expect(await shipper.api.jobLedger(job.id)).toMatchObject({ received: taken, delivered: taken });
    await shipper.crashAndRestart({ built: head });
    const { hits, end } = await search(shipper, { job_id: job.id, limit: 1_000 });
    expect([hits, end]).toMatchObject([taken, { complete: true, not_searched: [] }]);
    expect(await shipper.call("GET", "/functions/scripts/shop/health")).toMatchObject({
      total: { invocations: taken },
    });
    await shipper.api.updateJob(moved.id, { destination_conf: store.destination(RECEIVER) });
    await drain(shipper.api, moved);
    const { records } = await assertReceived(shipper.api, store, RECEIVER, oracle, moved, { tellsRepeats: true });
    expect(records).toBe(taken);
    expect(await shipper.api.jobLedger(moved.id)).toMatchObject({ delivered: taken, resent_in_doubt: 0 });
  });
});
