/**
 * `kill -9` of the real process, at random moments and at chosen ones. The destination is a hostile
 * store in another process.
 */
import { describe, it } from "vitest";
import { pause, until } from "../../tools/until.ts";
import "../support/fault-meta.ts";
import { sumFaults } from "../support/ledger-audit.ts";
import { isWhole } from "../support/matrix.ts";
import { hasFailed, type Minted, Oracle } from "../support/oracle.ts";
import { Chance } from "./chance.ts";
import {
  assertDelivered,
  assertReceived,
  auditStore,
  drain,
  readCsv,
  receivedBy,
  saveSearches,
  sumsOf,
} from "./fault-support.ts";
import { HostileStore, Storm } from "./hostile-store.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { PersistentClient } from "./persistent-client.ts";
import { IsolatedShipper } from "./shipper.ts";

const KILLS = isWhole ? 10 : 5;

/**
 * In seconds. Long enough for a kill before the log has an event, and short enough for events to
 * get there between two kills.
 */
const QUEUE_WAIT_S = 1;

/** Some fifty starts of a process, several at once: slow on a busy machine. */
const TIMEOUT_MS = 400_000;

const HTTPS = "receiver-https-storm";
const ELASTIC = "receiver-elastic-storm";

const INTERVAL_MS = 30_000;
/** An upload starts at most this long after the interval. */
const SLACK_MS = 15_000;
const DELIVERED_WITHIN_MS = 60_000;

/** Of today, so that no event is of a far-away day: those are uploaded three at a time. */
const NOON = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 43_200_000;
const CSV_FIELDS = ["EventTimestampMs", "Outcome", "ScriptName"];

const bodies = (events: readonly Minted[]): unknown[] => events.map(({ event }) => event);

// Concurrent: they mostly wait for processes and clocks.
describe.concurrent("the real process", { timeout: TIMEOUT_MS }, () => {
  it(`loses nothing and doubles nothing, killed ${KILLS} times at random while its destination fails in every way`, async ({
    expect,
    task,
  }) => {
    const chance = Chance.ofRun();
    console.log(`E2E_SEED=${chance.seed} makes the same choices`);
    await using store = await HostileStore.start();
    await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S });
    const oracle = new Oracle({ name: "storm", at: NOON, failsEvery: 7 });
    const searches = await saveSearches(shipper);
    const small = await shipper.api.createJob(store.job("small", { max_upload_records: 1_000 }));
    const csv = await shipper.api.createJob(
      store.job("csv", {
        filter: JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } }),
        output_options: { output_type: "csv", field_names: CSV_FIELDS },
      }),
    );
    // One takes a repeat as new, one tells it.
    const anyHttps = await shipper.api.createJob(store.job(HTTPS));
    const elastic = await shipper.api.createJob(store.job(ELASTIC));
    const jobs = [small, csv, anyHttps, elastic] as const;
    const client = new PersistentClient(shipper, `storm-${chance.seed}`);
    const watch = new LedgerWatch(
      shipper,
      jobs.map(({ id }) => id),
      (ledgers) => client.learn(ledgers),
    );
    const storms = ["small", "csv", HTTPS, ELASTIC].map((bucket) => new Storm(store, bucket, chance.of(bucket)));

    let filtered = 0;
    let failed = 0;
    const eventChance = chance.of("events");
    /**
     * Some requests of some events each. The jobs owe them: the client repeats them until they are
     * taken.
     */
    const someRequests = (): Minted[][] =>
      Array.from({ length: eventChance.between(10, 40) }, () => {
        const outcome = eventChance.pick(["ok", "ok", "exception"]);
        const events = oracle.mint(eventChance.between(1, 90), { days: 2, outcome });
        for (const { id } of [small, anyHttps, elastic]) oracle.acknowledged(id, events);
        if (outcome === "ok") oracle.acknowledged(csv.id, events);
        else filtered += events.length;
        failed += events.filter(hasFailed).length;
        return events;
      });
    /** Ends when the shipper is killed. */
    const postAtTimes = async (postChance: Chance): Promise<void> => {
      await client.repeat();
      for (const events of someRequests()) {
        await client.post([events]);
        await pause(postChance.between(0, 100));
      }
    };
    const flushAtTimes = async (flushChance: Chance): Promise<void> => {
      const flushes: Promise<unknown>[] = [];
      for (; shipper.isUp; await pause(flushChance.between(50, 400))) {
        // Not awaited: an answer may take as long as the store holds an upload.
        const { id } = flushChance.pick(jobs);
        flushes.push(shipper.unlessKilled((api) => api.flush(id)));
      }
      await Promise.all(flushes);
    };

    const killChance = chance.of("kills");
    for (let kills = 0; kills < KILLS; kills++) {
      const doing = [postAtTimes(chance.of(`posts ${kills}`)), flushAtTimes(chance.of(`flushes ${kills}`))];
      await pause(killChance.between(100, 5_000));
      await shipper.kill();
      await Promise.all(doing);
      await shipper.restart();
    }
    await client.insist();
    for (const storm of storms) await storm.stop();
    // After the faults events arrive as usual.
    await client.post(someRequests());
    await client.insist();
    for (const job of jobs) await drain(shipper.api, job);
    await watch.stop();

    expect([...watch.faults, ...client.faults]).toEqual([]);
    const { events } = client;
    const ofSmall = await assertDelivered(shipper.api, { store, buckets: ["small"] }, oracle, small);
    const ofCsv = await assertDelivered(shipper.api, { store, buckets: ["csv"] }, oracle, csv, {
      expectation: { idOf: oracle.idByTime, parse: (raw) => readCsv(raw, CSV_FIELDS) },
      leftOut: { filtered },
    });
    expect(ofSmall.records).toBe(events);
    expect(ofCsv.records).toBe(events - filtered);
    expect(await shipper.api.accountLedger()).toMatchObject({ processed: events, routed: events });
    // `small` has no filter: what is counted beside the ledgers is what its objects hold.
    const sums = await sumsOf(shipper, "shop", searches);
    expect(sumFaults({ routed: ofSmall.records, not_routed: 0 }, sums, failed)).toEqual([]);

    const ofHttps = await assertReceived(shipper.api, store, HTTPS, oracle, anyHttps, { tellsRepeats: false });
    const ofElastic = await assertReceived(shipper.api, store, ELASTIC, oracle, elastic, { tellsRepeats: true });
    expect([ofHttps.records - ofHttps.doubled, ofElastic.records]).toEqual([events, events]);

    const injected = ["small", "csv", HTTPS, ELASTIC].reduce((sum, bucket) => sum + store.faults(bucket), 0);
    const objects = ofSmall.objects + ofCsv.objects + ofHttps.objects + ofElastic.objects;
    const { doubled } = ofHttps;
    task.meta.fault = { row: "kill -9 at random moments", events, faults: KILLS + injected, objects, doubled };
    console.log(
      `${events} events in ${client.sent} requests, ${client.acknowledged} of them acknowledged; ${KILLS} kills, ` +
        `${injected} faults of the stores; counted: ${JSON.stringify(sums)}; ${objects} objects, ${doubled} records again, as counted, ${watch.polls} looks at the ledgers`,
    );
    // Below these counts the test would prove little.
    expect(client.sent).toBeGreaterThan(client.requests);
    expect(injected).toBeGreaterThan(0);
    expect(watch.polls).toBeGreaterThan(KILLS);
  });

  it("keeps every event from its acknowledgement to its delivery, killed at each step, and goes on by alarms alone", async ({
    expect,
    task,
  }) => {
    await using store = await HostileStore.start();
    await using shipper = await IsolatedShipper.start({ queueWaitS: 3 * QUEUE_WAIT_S });
    const oracle = new Oracle({ name: "steps", at: NOON });
    const shipped = { store, buckets: ["steps"] } as const;
    const job = await shipper.api.createJob(store.job("steps", { max_upload_records: 1_000 }));
    const post = async (count: number): Promise<() => Promise<number>> => {
      const events = oracle.mint(count, { days: 2 });
      const form = { ndjson: true, gzip: true, idempotencyKey: `steps ${oracle.expectation(job.id).owed.size}` };
      const send = (): Promise<number> => shipper.api.postEvents(bodies(events), form);
      await send();
      oracle.acknowledged(job.id, events);
      return send;
    };
    const owed = (): number => oracle.expectation(job.id).owed.size;

    // Acknowledged, but still in the queue. The local queue loses these on a kill, and the client
    // sends them again.
    const sendAgain = await post(300);
    await shipper.crashAndRestart();
    expect(await shipper.api.jobLedger(job.id)).toMatchObject({ received: 0 });
    await sendAgain();
    await receivedBy(shipper.api, job, owed());
    await sendAgain();

    // In the log, pending. After the kill the test sends the shipper no requests and looks only at
    // the store.
    await post(600);
    await receivedBy(shipper.api, job, owed());
    expect(await shipper.api.jobLedger(job.id)).toMatchObject({ received: 900, pending: 900, delivered: 0 });
    await shipper.crashAndRestart({ unasked: true });
    await until({
      what: "the alarms to deliver what waited",
      withinMs: INTERVAL_MS + SLACK_MS,
      look: async () => auditStore(shipped, oracle, job).records,
      enough: (records) => records >= owed(),
    });

    // More than an object takes: these are cut and uploaded at once. The store has received them
    // when the shipper is killed, and completes the PUTs afterwards.
    store.holdPuts("steps");
    await post(8_000);
    await store.server.whenHeld("steps", 4);
    await receivedBy(shipper.api, job, owed());
    await shipper.kill();
    const held = store.letGo("steps");
    expect(held).toBe(4);
    await shipper.restart({ unasked: true });
    // The alarms continue after the restart; now the uploads succeed.
    await shipper.crashAndRestart({ unasked: true });
    await until({
      what: "the alarms to find what the store has, and to deliver the rest",
      withinMs: INTERVAL_MS + SLACK_MS + DELIVERED_WITHIN_MS,
      // Each of these retries finds the object of the earlier attempt.
      look: async () => ({
        found: store.server.requests("steps").filter(({ status }) => status === 412).length,
        records: auditStore(shipped, oracle, job).records,
      }),
      enough: ({ found, records }) => found >= held && records >= owed(),
    });
    await drain(shipper.api, job);
    const { objects } = await assertDelivered(shipper.api, shipped, oracle, job);
    task.meta.fault = { row: "kill -9 at each step of an event", events: owed(), faults: 4 + held, objects };
  });
});
