import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replays } from "../../../src/operate/replay/replays.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { api, azureConf, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, logStatus, runCron } from "../../support/runtime/pipeline.ts";
import { ALL, at, expectCopied, inReplays, RECORDS, runReplays, shippedJob } from "./shipped.ts";

describe("a replay", () => {
  it("ships every object again, once and whole, under a key of its own, and counts it apart", async () => {
    const shipped = await shippedJob(3);
    const before = await shipped.ledger();
    const begun = await shipped.begin();
    const planned = { objects: 3, records: 3 * RECORDS, bytes: begun.planned.bytes };
    expect(begun).toMatchObject({ state: "running", planned, left: planned, error_message: null, ended_at: null });
    const ended = await shipped.settle(begun.id);
    expect(ended).toMatchObject({ state: "done", planned, done: planned, problems: [], error_message: null });
    expect(ended.left).toEqual({ objects: 0, records: 0, bytes: 0 });
    await expectCopied(shipped, begun.id, { objects: 3 });
    const { replayed, ...others } = await shipped.ledger();
    expect({ ...others, replayed: before.replayed }).toEqual(before);
    const { own, copies } = await shipped.objects();
    // Uploads overlap, and may end in any order.
    const ofObject = copies.map(({ replay }) => replay).sort((a, b) => (a?.of ?? 0) - (b?.of ?? 0));
    expect(ofObject).toEqual(own.map(({ number }) => ({ id: begun.id, of: number, destination: null })));
    expect((await logStatus(shipped.job)).replayed).toEqual(planned);
    // Nothing is left to do, and no alarm is set.
    expect(await runReplays()).toBe(false);
  });

  it("is of the objects that have events in that time, whole, and of no copies", async () => {
    const shipped = await shippedJob(4);
    const first = await shipped.begin({ since: at(1), until: at(2) });
    expect(first.planned.objects).toBe(1);
    await shipped.settle(first.id);
    const { own, copies } = await shipped.objects();
    expect(copies.map(({ replay }) => replay?.of)).toEqual([own[1]?.number]);
    // Each edge includes one millisecond of an object, which brings all of it. Copies are left out.
    const lastOf = (n: number): string => own[n]?.last_event ?? "";
    const second = await shipped.begin({ since: lastOf(0), until: new Date(Date.parse(at(2)) + 1).toISOString() });
    expect(second.planned.objects).toBe(3);
    const ended = await shipped.settle(second.id);
    expect(ended.done.records).toBe(3 * RECORDS);
    await expectCopied(shipped, second.id, { objects: 3 });
    expect((await shipped.list()).map(({ id }) => id)).toEqual([second.id, first.id]);
  });

  it("reads a container of Azure, and writes to it and to another one", async () => {
    const shipped = await shippedJob(2, undefined, azureConf);
    const { id } = await shipped.begin();
    expect((await shipped.settle(id)).done.objects).toBe(2);
    await expectCopied(shipped, id, { objects: 2 });
    const { name, control } = freshBucket();
    const there = await shipped.begin({ ...ALL, destination_conf: azureConf(name, "copies", "c") });
    expect((await shipped.settle(there.id)).done.objects).toBe(2);
    expect((await control.objects()).filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(2);
    expect(there.destination_conf).toMatch(/&sig=\*\*\*\*$/);
  });

  it("is not of what is delivered after it was asked for", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin();
    shipped.clock.advance(1);
    await shipped.ship(2);
    expect((await shipped.settle(id)).done.objects).toBe(2);
    await expectCopied(shipped, id, { objects: 2 });
  });

  it("is of the objects of every shard of the log, page by page", async () => {
    const shipped = await shippedJob(2);
    const shard = (node: number) => nodeAt(env.READERS, shipped.job, node);
    const counts = async () => [0, 1_000].map(async (node) => (await shard(node).objects(0, 0)).total);
    let objects = [2, 0];
    // Which shard a message goes to is chance.
    while (Math.min(...objects) < 3) {
      await shipped.ship(1, 2);
      objects = await Promise.all(await counts());
    }
    await runInDurableObject(replays(env.REPLAYS), ({ steps }) => {
      steps.planPageSize = 2;
    });
    const all = objects.reduce((sum, each) => sum + each, 0);
    const begun = await shipped.begin();
    expect(begun.planned).toMatchObject({ objects: all, records: all * RECORDS });
    expect(await shipped.settle(begun.id)).toMatchObject({ state: "done", done: begun.planned, problems: [] });
    await expectCopied(shipped, begun.id, { objects: all });
    expect((await shipped.ledger()).replayed).toEqual(begun.planned);
    expect(await counts().then((each) => Promise.all(each))).toEqual(objects.map((own) => 2 * own));
  });

  it("with nothing to ship is done at once, and says so", async () => {
    const shipped = await shippedJob(1);
    const answer = await shipped.ask({ since: at(100), until: at(101) });
    expect(answer.status).toBe(202);
    expect(answer.body.result).toMatchObject({ state: "done", planned: { objects: 0, records: 0, bytes: 0 } });
    expect(answer.body.messages.map(({ message }) => message)).toEqual([
      "nothing to replay: no delivered object has events in that time",
    ]);
    expect(await runReplays()).toBe(false);
  });

  it("of a time before what is remembered says from when objects are known", async () => {
    const shipped = await shippedJob(1);
    const answer = await shipped.ask({ since: "2026-01-01T00:00:00Z", until: at(1) });
    expect(answer.body.result.planned.objects).toBe(1);
    expect(answer.body.messages.map(({ message }) => message)).toEqual([
      "delivered objects are listed for 30 days: those cut before 2100-10-21T12:00:00.000Z are not included",
    ]);
  });

  it("goes to another destination, whose secrets nobody reads again, and the list says where", async () => {
    const shipped = await shippedJob(3);
    const other = freshBucket();
    const conf = destinationConf(other.name, "again/{DATE}");
    const { id, destination_conf } = await shipped.begin({ ...ALL, destination_conf: conf });
    expect(destination_conf).toContain("secret-access-key=****");
    expect(await inReplays((_, { sql }) => JSON.stringify(sql.exec("SELECT * FROM replay").toArray()))).not.toContain(
      "test-secret-key",
    );
    await shipped.settle(id);
    await expectCopied(shipped, id, { into: other.control, objects: 3 });
    const { copies } = await shipped.objects();
    for (const { key, replay } of copies) {
      expect(key).toMatch(/^again\/21001120\//);
      expect(replay?.destination).toMatch(new RegExp(`^${other.name} at http://`));
    }
    expect((await shipped.control.objects()).filter(({ key }) => key.startsWith("again/"))).toEqual([]);
    // After the end, no key is kept.
    expect(await inReplays((_, { sql }) => sql.exec("SELECT source, target FROM replay").toArray())).toEqual([
      { source: null, target: null },
    ]);
    const audit = await api<{ action: string; body: { destination_conf?: string } }[]>("GET", "/logship/audit");
    expect(JSON.stringify(audit.body.result)).not.toContain("test-secret-key");
    expect(audit.body.result.map(({ action }) => action)).toContain("job.replay");
  });

  it("walks every segment of the log, sealed ones included", async () => {
    const shipped = await shippedJob(2);
    await runInDurableObject(nodeAt(env.READERS, shipped.job, 0), (log) => {
      log.segmentMaxBytes = 1;
    });
    await shipped.ship(3);
    const { own } = await shipped.objects();
    expect(own.map(({ number }) => number > 1_000_000_000)).toEqual([false, false, false, true, true]);
    await inReplays((object) => {
      object.steps.planPageSize = 2;
    });
    const { id, planned } = await shipped.begin();
    expect(planned.objects).toBe(5);
    expect((await shipped.settle(id)).done).toEqual(planned);
    await expectCopied(shipped, id, { objects: 5 });
  });

  it("takes many runs where there is much to do, and the cron goes on with it if no alarm does", async () => {
    const shipped = await shippedJob(7);
    await inReplays((object) => {
      object.objectsPerRun = 2;
    });
    const { id } = await shipped.begin();
    await runReplays();
    expect((await shipped.read(id)).done.objects).toBe(2);
    await inReplays((_, storage) => storage.deleteAlarm());
    await runCron();
    expect((await shipped.read(id)).done.objects).toBe(4);
    // An overdue alarm is set again.
    shipped.clock.advance(300_000);
    await runCron();
    expect((await shipped.read(id)).done.objects).toBe(6);
    await shipped.settle(id);
    await expectCopied(shipped, id, { objects: 7 });
  });

  it("passes on a large object as it comes", async () => {
    const shipped = await shippedJob(1);
    await shipped.shipLarge(3_000_000);
    const { own } = await shipped.objects();
    expect(own[1]?.bytes).toBeGreaterThan(2_000_000);
    const { id } = await shipped.begin();
    expect((await shipped.settle(id)).done.objects).toBe(2);
    await expectCopied(shipped, id, { objects: 2 });
  });
});
