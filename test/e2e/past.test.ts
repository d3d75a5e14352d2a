/**
 * A job that starts in the past, a replay of its objects, and one that is run again, by the real
 * process, which is killed on the way. The store in another process keeps every request.
 */
import { expect, it } from "vitest";
import { until } from "../../tools/until.ts";
import { objectListFaults } from "../support/ledger-audit.ts";
import { assertClean, type Minted, Oracle } from "../support/oracle.ts";
import { rule } from "../support/s3-script.ts";
import { assertDelivered, auditStore, drain, receivedBy } from "./fault-support.ts";
import { HostileStore } from "./hostile-store.ts";
import { IsolatedShipper } from "./shipper.ts";

const EVENTS = 20_000;
const PER_REQUEST = 5_000;
const WITHIN_MS = 120_000;
const HELD = 2;
/** Concurrent copies. */
const COPIES = 4;
const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });

it("a job that starts in the past, a replay, and a rerun with another filter, ship each record once, whatever is killed", {
  timeout: 400_000,
}, async () => {
  await using store = await HostileStore.start();
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
  const oracle = new Oracle({ name: "past", at: Date.UTC(2026, 10, 17, 12) });
  const post = async (count: number, outcome: string): Promise<Minted[]> => {
    const events: Minted[] = [];
    while (events.length < count) {
      const some = oracle.mint(PER_REQUEST, { days: 2, outcome });
      await shipper.api.postEvents(
        some.map(({ event }) => event),
        { ndjson: true, gzip: true },
      );
      events.push(...some);
    }
    return events;
  };
  const counted = (processed: number) =>
    until({
      what: `the log to have ${processed}`,
      withinMs: WITHIN_MS,
      look: () => shipper.api.accountLedger(),
      enough: (ledger) => ledger.processed >= processed,
    });

  // Nothing wants these.
  await post(PER_REQUEST, "ok");
  await counted(PER_REQUEST);
  const since = new Date().toISOString();
  const events = [...(await post(EVENTS / 2, "ok")), ...(await post(EVENTS / 2, "exception"))];
  await counted(PER_REQUEST + EVENTS);
  await shipper.restart();

  // Killed while it reads, and while the store has what it does not know of yet.
  store.server.script("past", [rule({ do: "withhold" }, { method: "PUT", keyIncludes: ".log.gz" })]);
  const job = await shipper.api.createJob({ ...store.job("past", { max_upload_records: 1_000 }), since });
  oracle.acknowledged(job.id, events);
  await store.server.whenHeld("past", HELD);
  await shipper.kill();
  store.letGo("past");
  store.server.script("past", []);
  await shipper.restart({ unasked: true });
  await until({
    what: "the alarms to ship all of it",
    withinMs: WITHIN_MS,
    look: async () => auditStore({ store, buckets: ["past"] }, oracle, job).records,
    enough: (records) => records >= EVENTS,
  });
  await receivedBy(shipper.api, job, EVENTS);
  await drain(shipper.api, job);
  const { objects } = await assertDelivered(shipper.api, { store, buckets: ["past"] }, oracle, job);

  // Killed while the store has copies that it will complete, and no answer has come.
  store.server.script("copy", [rule({ do: "hold" }, { method: "PUT", keyIncludes: ".log.gz" })]);
  const times = { since: "2026-11-17T00:00:00Z", until: "2026-11-20T00:00:00Z" };
  const begun = await shipper.api.beginReplay(job.id, { ...times, destination_conf: store.destination("copy") });
  expect(begun.planned).toMatchObject({ objects, records: EVENTS });
  await store.server.whenHeld("copy", COPIES);
  await shipper.kill();
  expect(store.letGo("copy")).toBe(COPIES);
  await shipper.restart({ unasked: true });
  await until({
    what: "the alarm to copy the rest",
    withinMs: WITHIN_MS,
    look: async () => auditStore({ store, buckets: ["copy"] }, oracle, job).records,
    enough: (records) => records >= EVENTS,
  });
  const replay = await until({
    what: "the replay to be done",
    withinMs: WITHIN_MS,
    look: () => shipper.api.replay(job.id, begun.id),
    enough: ({ state }) => state !== "running" && state !== "waiting",
  });
  expect(replay).toMatchObject({ state: "done", done: begun.planned, left: { objects: 0, records: 0, bytes: 0 } });
  assertClean(auditStore({ store, buckets: ["copy"] }, oracle, job));
  expect(store.server.puts("copy").filter(({ key }) => key.endsWith(".log.gz"))).toHaveLength(objects);
  // The retries found the copies that had arrived before the kill.
  expect(store.server.requests("copy").filter(({ status }) => status === 412).length).toBeGreaterThanOrEqual(COPIES);
  const copied = (await shipper.api.objects(job.id)).filter(({ reason }) => reason === "replay");
  expect(objectListFaults(copied, store.contents("copy"))).toEqual([]);
  const ledger = await shipper.api.jobLedger(job.id);
  expect(ledger).toMatchObject({ delivered: EVENTS, replayed: begun.planned });

  // The filter was wrong: it is run again, into a folder of its own.
  await shipper.api.updateJob(job.id, { filter: FILTER });
  store.server.script("again", [rule({ do: "withhold" }, { method: "PUT", keyIncludes: ".log.gz" })]);
  const span = { since, until: new Date().toISOString(), destination_conf: store.destination("again") };
  const { id } = await shipper.api.beginRerun(job.id, span);
  const rerun = { id: Number(id.slice(1)) };
  oracle.acknowledged(
    rerun.id,
    events.filter(({ record }) => record.Outcome === "ok"),
  );
  await store.server.whenHeld("again", 1);
  await shipper.kill();
  store.letGo("again");
  store.server.script("again", []);
  await shipper.restart({ unasked: true });
  const ended = await until({
    what: "the rerun to have nothing left",
    withinMs: WITHIN_MS,
    look: () => shipper.api.replay(job.id, id),
    enough: ({ planned, left }) => planned.records > 0 && left.records === 0,
  });
  expect(ended).toMatchObject({ planned: { records: EVENTS }, done: { records: EVENTS / 2 } });
  assertClean(auditStore({ store, buckets: ["again"] }, oracle, rerun));
  expect(store.overwritten("again")).toEqual([]);
  const keys = store.contents("again").map(({ key }) => key);
  expect(keys.filter((key) => key.endsWith(".log.gz") && !key.endsWith(`_${id}.log.gz`))).toEqual([]);
  assertClean(auditStore({ store, buckets: ["past"] }, oracle, job));
  const replayed = expect.objectContaining({ records: EVENTS + EVENTS / 2 });
  expect(await shipper.api.jobLedger(job.id)).toEqual({ ...ledger, replayed });
});
