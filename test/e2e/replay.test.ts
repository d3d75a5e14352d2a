/**
 * A replay of many objects by the real process, which is killed on the way. The store in another
 * process keeps every request.
 */
import { it } from "vitest";
import { until } from "../../tools/until.ts";
import { objectListFaults } from "../support/ledger-audit.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { rule } from "../support/s3-script.ts";
import { assertDelivered, auditStore, drain, receivedBy } from "./fault-support.ts";
import { HostileStore } from "./hostile-store.ts";
import { IsolatedShipper } from "./shipper.ts";

const EVENTS = 100_000;
const PER_REQUEST = 10_000;
const NOON = Date.UTC(2026, 10, 17, 12);

/** Concurrent copies. */
const COPIES = 4;

const DONE_WITHIN_MS = 120_000;
const TIMEOUT_MS = 400_000;

it(`a replay of ${EVENTS} records that is killed twice on the way ships each again exactly once`, {
  timeout: TIMEOUT_MS,
}, async ({ expect }) => {
  await using store = await HostileStore.start();
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1 });
  const oracle = new Oracle({ name: "replay", at: NOON });
  const job = await shipper.api.createJob(store.job("first", { max_upload_records: 1_000 }));
  for (let sent = 0; sent < EVENTS; sent += PER_REQUEST) {
    const events = oracle.mint(PER_REQUEST, { days: 2 });
    await shipper.api.postEvents(
      events.map(({ event }) => event),
      { ndjson: true, gzip: true },
    );
    oracle.acknowledged(job.id, events);
  }
  await receivedBy(shipper.api, job, EVENTS);
  await drain(shipper.api, job);
  const shipped = { store, buckets: ["first"] } as const;
  const { objects } = await assertDelivered(shipper.api, shipped, oracle, job);
  expect(objects).toBeGreaterThanOrEqual(100);
  const before = await shipper.api.jobLedger(job.id);

  // The first copies arrive. The store completes those after them, too, and the shipper is killed
  // before it gets the answers. Held from the beginning on: a fast machine copies all of them
  // before the test has looked once.
  const copies = { method: "PUT", keyIncludes: ".log.gz" };
  store.server.script("again", [rule({ do: "ignore-conditional" }, copies, 10), rule({ do: "withhold" }, copies)]);
  const times = { since: "2026-11-17T00:00:00Z", until: "2026-11-20T00:00:00Z" };
  const begun = await shipper.api.beginReplay(job.id, { ...times, destination_conf: store.destination("again") });
  const planned = { objects, records: EVENTS, bytes: begun.planned.bytes };
  expect(begun.planned).toEqual(planned);
  await store.server.whenHeld("again", COPIES);
  await shipper.kill();
  store.letGo("again");
  // The store completes these after the second kill.
  store.holdPuts("again");
  await shipper.restart();
  await store.server.whenHeld("again", COPIES);
  await shipper.kill();
  expect(store.letGo("again")).toBe(COPIES);
  // From here on the test sends the shipper no requests: the alarm runs by itself.
  await shipper.restart({ unasked: true });
  await until({
    what: "the alarm to copy the rest",
    withinMs: DONE_WITHIN_MS,
    look: async () => auditStore({ store, buckets: ["again"] }, oracle, job).records,
    enough: (records) => records >= EVENTS,
  });
  const ended = await until({
    what: "the replay to be done",
    withinMs: DONE_WITHIN_MS,
    look: () => shipper.api.replay(job.id, begun.id),
    enough: ({ state }) => state !== "running" && state !== "waiting",
  });
  expect(ended).toMatchObject({ state: "done", planned, done: planned, left: { objects: 0, records: 0, bytes: 0 } });

  // Every record is there once, in complete objects, and no object was written twice or with other
  // bytes.
  assertClean(auditStore({ store, buckets: ["again"] }, oracle, job));
  expect(store.overwritten("again")).toEqual([]);
  const puts = store.server.puts("again").filter(({ key }) => key.endsWith(".log.gz"));
  expect(puts).toHaveLength(objects);
  // The retries found the objects that had arrived before each kill.
  const refused = store.server.requests("again").filter(({ status }) => status === 412);
  expect(refused.length).toBeGreaterThanOrEqual(COPIES);

  // The list names each copy once, and the ledger counts exactly these.
  const listed = await shipper.api.objects(job.id);
  const copied = listed.filter(({ reason }) => reason === "replay");
  expect(objectListFaults(copied, store.contents("again"))).toEqual([]);
  expect(copied).toHaveLength(objects);
  expect(await shipper.api.jobLedger(job.id)).toEqual({ ...before, replayed: planned });
  assertClean(auditStore(shipped, oracle, job));
});
