/**
 * `kill -9` of the real process, at random moments and at chosen ones, and wrong settings. The
 * destination is a hostile store in another process.
 */
import { describe, it } from "vitest";
import { pause, until } from "../../tools/until.ts";
import "../support/fault-meta.ts";
import { isWhole } from "../support/matrix.ts";
import { assertClean, type Minted, Oracle } from "../support/oracle.ts";
import { Chance } from "./chance.ts";
import { logsOnDisk } from "./disk.ts";
import {
  assertDelivered,
  assertReceived,
  auditStore,
  drain,
  readCsv,
  receivedBy,
  recordLists,
} from "./fault-support.ts";
import { HostileStore, Storm } from "./hostile-store.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { PersistentClient } from "./persistent-client.ts";
import { firstPort } from "./ports.ts";
import { startProducer } from "./producer-process.ts";
import { IsolatedShipper, RECEIVED_WITHIN_MS, randomSecretsKey } from "./shipper.ts";

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
    const oracle = new Oracle({ name: "storm", at: NOON });
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

    const ofHttps = await assertReceived(shipper.api, store, HTTPS, oracle, anyHttps, { tellsRepeats: false });
    const ofElastic = await assertReceived(shipper.api, store, ELASTIC, oracle, elastic, { tellsRepeats: true });
    expect([ofHttps.records - ofHttps.doubled, ofElastic.records]).toEqual([events, events]);

    const injected = ["small", "csv", HTTPS, ELASTIC].reduce((sum, bucket) => sum + store.faults(bucket), 0);
    const objects = ofSmall.objects + ofCsv.objects + ofHttps.objects + ofElastic.objects;
    const { doubled } = ofHttps;
    task.meta.fault = { row: "kill -9 at random moments", events, faults: KILLS + injected, objects, doubled };
    console.log(
      `${events} events in ${client.sent} requests, ${client.acknowledged} of them acknowledged; ${KILLS} kills, ` +
        `${injected} faults of the stores; ${objects} objects, ${doubled} records again, as counted, ${watch.polls} looks at the ledgers`,
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

    // In the log, pending. From here on the test sends the shipper no requests and looks only at
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
    await until({
      what: "the log to have all of them",
      withinMs: RECEIVED_WITHIN_MS,
      look: async () => logsOnDisk(shipper.state).get(job.id)?.received,
      enough: (received) => received === owed(),
    });
    await shipper.kill();
    const held = store.letGo("steps");
    expect(held).toBe(4);
    await shipper.restart({ unasked: true });
    // The alarms continue after the restart; now the uploads succeed.
    await shipper.crashAndRestart({ unasked: true });
    await until({
      what: "the alarms to find what the store has, and to deliver the rest",
      withinMs: INTERVAL_MS + SLACK_MS + DELIVERED_WITHIN_MS,
      look: async () => logsOnDisk(shipper.state).get(job.id),
      enough: (counts) => counts?.pending === 0,
    });
    const { objects } = await assertDelivered(shipper.api, shipped, oracle, job);
    // Each of these retries found the object of the earlier attempt.
    expect(store.server.requests("steps").filter(({ status }) => status === 412).length).toBeGreaterThanOrEqual(held);
    task.meta.fault = { row: "kill -9 at each step of an event", events: owed(), faults: 4 + held, objects };
  });

  if (!isWhole) return;

  it("has the job that it acknowledged, and of a change that it did not acknowledge all or nothing", async ({
    expect,
    task,
  }) => {
    const chance = Chance.ofRun().of("changes");
    await using store = await HostileStore.start();
    await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S });
    const oracle = new Oracle({ name: "changes", at: NOON });
    /**
     * Kills the shipper during the probe of a new destination. The store then completes the probe.
     */
    const killInProbe = async (bucket: string, change: Promise<unknown>): Promise<void> => {
      await store.server.whenHeld(bucket, 1);
      await shipper.kill();
      expect(await change).toBeUndefined();
      store.letGo(bucket);
      await shipper.restart();
    };

    const job = await shipper.api.createJob(store.job("first"));
    await shipper.crashAndRestart();
    store.holdPuts("never");
    await killInProbe(
      "never",
      shipper.unlessKilled((api) => api.createJob(store.job("never"))),
    );
    expect((await shipper.api.jobs()).map(({ id }) => id)).toEqual([job.id]);

    // A change of format: events that are pending are in the old one, events after the answer in
    // the new one.
    const formatOf = new Map<string, string>();
    const arrive = async (format: string): Promise<Minted[]> => {
      const events = oracle.mint(20);
      await shipper.api.postEvents(bodies(events));
      oracle.acknowledged(job.id, events);
      for (const { id } of events) formatOf.set(id, format);
      await receivedBy(shipper.api, job, formatOf.size);
      return events;
    };
    const [everything] = bodies(oracle.mint(1)) as [object];
    await arrive(Object.keys(everything).join());
    for (const field_names of [
      ["EventTimestampMs", "Logs"],
      ["ScriptName", "EventTimestampMs"],
      ["EventTimestampMs"],
    ]) {
      const change = { output_options: { field_names } };
      const changing = shipper.unlessKilled((api) => api.updateJob(job.id, change));
      await pause(chance.between(0, 25));
      await shipper.kill();
      await changing;
      await shipper.restart();
      await shipper.api.updateJob(job.id, change);
      await arrive(field_names.join());
    }
    await drain(shipper.api, job);
    for (const { key, records } of recordLists(store, "first")) {
      // Each event has the format of its arrival, and no object has two formats.
      const wanted = new Set(records.map((record) => formatOf.get(oracle.idByTime(record) ?? "")));
      const written = new Set((records as object[]).map((record) => Object.keys(record).join()));
      expect([...written], key).toEqual([...wanted]);
      expect(written.size, key).toBe(1);
    }

    // A change of destination: without an acknowledgement nothing changes; with one, all pending
    // events go to the new destination.
    const waiting = await arrive("EventTimestampMs");
    const moved = store.destination("second", "first");
    store.holdPuts("second");
    await killInProbe(
      "second",
      shipper.unlessKilled((api) => api.updateJob(job.id, { destination_conf: moved })),
    );
    expect((await shipper.api.job(job.id)).destination_conf).toBe(store.destination("first"));
    await shipper.api.updateJob(job.id, { destination_conf: moved });
    await shipper.crashAndRestart();
    await drain(shipper.api, job);
    const followed = recordLists(store, "second").flatMap(({ records }) => records.map(oracle.idByTime));
    expect(followed.sort()).toEqual(waiting.map(({ id }) => id).sort());
    const { objects } = await assertDelivered(shipper.api, { store, buckets: ["first", "second"] }, oracle, job, {
      expectation: { idOf: oracle.idByTime },
    });
    const row = "kill -9 while a job is created or changed";
    task.meta.fault = { row, events: formatOf.size, faults: 7, objects };
  });

  it("drops what waits, counted, though it dies while a job is discarded, and ships none of it later", async ({
    expect,
    task,
  }) => {
    const chance = Chance.ofRun().of("discards");
    await using store = await HostileStore.start();
    await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S });
    const oracle = new Oracle({ name: "discards", at: NOON });
    const kept = await shipper.api.createJob(store.job("kept"));
    const EACH = 30;
    let count = 0;
    const discard = (id: number) => shipper.unlessKilled((api) => api.deleteJob(id, { discard: true }));

    /** @param kill kills the shipper during a discard. */
    const round = async (bucket: string, kill: (id: number) => Promise<void>): Promise<void> => {
      const doomed = await shipper.api.createJob(store.job(bucket));
      const events = oracle.mint(EACH);
      await shipper.api.postEvents(bodies(events));
      count += EACH;
      oracle.acknowledged(kept.id, events);
      oracle.unacknowledged(doomed.id, events);
      await receivedBy(shipper.api, doomed, EACH);
      await receivedBy(shipper.api, kept, count);
      await kill(doomed.id);
      await shipper.restart();
      if ((await shipper.api.jobs()).some(({ id }) => id === doomed.id)) await discard(doomed.id);
      await until({
        what: "nothing to wait any longer",
        withinMs: RECEIVED_WITHIN_MS,
        look: async () => logsOnDisk(shipper.state).get(doomed.id),
        enough: (counts) => counts?.pending === 0,
      });
      // An upload that was under way was delivered or discarded; which of them is unknown. It
      // counts as one of them.
      const counts = logsOnDisk(shipper.state).get(doomed.id);
      // What its reader had not read yet was discarded in the log.
      expect([0, EACH]).toContain(counts?.received);
      expect((counts?.discarded ?? 0) + (counts?.delivered ?? 0)).toBe(counts?.received);
      const before = store.server.puts(bucket).length;
      await shipper.api.triggerScheduled();
      expect(store.server.puts(bucket).length).toBe(before);
      assertClean(auditStore({ store, buckets: [bucket] }, oracle, doomed));
      expect((await shipper.api.jobs()).map(({ id }) => id)).toEqual([kept.id]);
    };

    for (const bucket of ["doomed-1", "doomed-2"]) {
      await round(bucket, async (id) => {
        const discarding = discard(id);
        await pause(chance.between(0, 25));
        await shipper.kill();
        await discarding;
      });
    }
    /** Kills the shipper when the discard is acknowledged and one upload is under way. */
    const killUnderWay = async (bucket: string, id: number): Promise<void> => {
      store.holdPuts(bucket);
      const flushing = shipper.unlessKilled((api) => api.flush(id));
      await store.server.whenHeld(bucket, 1);
      await discard(id);
      await shipper.kill();
      await flushing;
    };
    await round("doomed-3", async (id) => {
      await killUnderWay("doomed-3", id);
      store.letGo("doomed-3");
    });
    await round("doomed-4", async (id) => {
      await killUnderWay("doomed-4", id);
      // The store never completes it.
      store.server.forget("doomed-4");
    });
    expect(store.server.puts("doomed-4")).toEqual([]);
    await drain(shipper.api, kept);
    const { objects } = await assertDelivered(shipper.api, { store, buckets: ["kept"] }, oracle, kept);
    expect(await shipper.api.accountLedger()).toMatchObject({ processed: count, routed: count });
    task.meta.fault = { row: "kill -9 while a job is discarded", events: count, faults: 4, objects };
  });

  it("keeps everything while no key opens its destination, says so, and delivers once the old key is found again", async ({
    expect,
    task,
  }) => {
    const [lost, fresh] = [randomSecretsKey(), randomSecretsKey()];
    await using store = await HostileStore.start();
    await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S, settings: { SECRETS_KEY: lost } });
    const oracle = new Oracle({ name: "keys", at: NOON });
    const job = await shipper.api.createJob(store.job("keys"));
    let count = 0;
    const arrive = async (): Promise<void> => {
      const events = oracle.mint(50, { days: 2 });
      await shipper.api.postEvents(bodies(events));
      oracle.acknowledged(job.id, events);
      count += events.length;
      await receivedBy(shipper.api, job, count);
    };
    await arrive();

    await shipper.crashAndRestart({ settings: { SECRETS_KEY: fresh } });
    expect((await shipper.api.job(job.id)).error_message).toMatch(/^parked: neither SECRETS_KEY nor SECRETS_KEY_PREV/);
    await arrive();
    await shipper.api.flush(job.id);
    const ledger = { received: 100, pending: 100, delivered: 0, set_aside: 0, discarded: 0 };
    expect(await shipper.api.jobLedger(job.id)).toMatchObject(ledger);
    expect(recordLists(store, "keys")).toEqual([]);

    await shipper.crashAndRestart({ settings: { SECRETS_KEY: fresh, SECRETS_KEY_PREVIOUS: lost } });
    expect(await shipper.api.jobLedger(job.id)).toMatchObject(ledger);
    await drain(shipper.api, job);
    // Any change encrypts it with the new key. After that the old key is not needed.
    await shipper.api.updateJob(job.id, { name: "sealed again" });
    await shipper.crashAndRestart({ settings: { SECRETS_KEY: fresh } });
    await arrive();
    await drain(shipper.api, job);
    const { objects } = await assertDelivered(shipper.api, { store, buckets: ["keys"] }, oracle, job);
    task.meta.fault = { row: "SECRETS_KEY lost and found again", events: count, faults: 3, objects };
  });

  it("takes events whatever setting is malformed, names it, and delivers all of them when it is mended", async ({
    expect,
    task,
  }) => {
    await using store = await HostileStore.start();
    await using shipper = await IsolatedShipper.start({ queueWaitS: QUEUE_WAIT_S });
    const oracle = new Oracle({ name: "typos", at: NOON });
    const filter = (key: string, value: string) => JSON.stringify({ where: { key, operator: "contains", value } });
    const job = await shipper.api.createJob(store.job("typos", { filter: filter("ScriptName", "shop") }));
    const ofTail = await shipper.api.createJob(store.job("tail", { filter: filter("Logs", "tail-") }));
    const byHttp = (events: unknown[]): Promise<number> => shipper.api.postEvents(events);
    /**
     * Without an account no HTTP path exists: these go over a binding, and one more event over
     * tail().
     */
    const byBindings = async (events: unknown[]): Promise<number> => {
      const producer = await startProducer(shipper, firstPort("producer"));
      try {
        const answer = await fetch(`${producer.url}/ship`, { method: "POST", body: JSON.stringify(events) });
        const { accepted } = (await answer.json()) as { accepted: number };
        await fetch(`${producer.url}/?event=tail-1`);
        await until({
          what: "the log to have what tail() took",
          withinMs: RECEIVED_WITHIN_MS,
          look: async () => logsOnDisk(shipper.state).get(ofTail.id)?.pending,
          enough: (pending) => pending === 1,
        });
        return accepted;
      } finally {
        await producer.stop();
      }
    };
    let count = 0;
    const malformed = [
      ["ACCOUNT_ID", "", byBindings],
      ["SECRETS_KEY", "not thirty-two bytes", byHttp],
      ["OBJSTORE_ENDPOINT", "http://store.example", byHttp],
    ] as const;
    for (const [name, value, take] of malformed) {
      await shipper.crashAndRestart({ settings: { [name]: value } });
      const named = new RegExp(`HTTP 503: configuration: ${name}: .*\\(1053\\)$`);
      await expect(shipper.api.job(job.id)).rejects.toThrow(named);
      await expect(shipper.api.createJob(store.job("another"))).rejects.toThrow(named);
      await expect(shipper.api.triggerScheduled()).rejects.toThrow();
      const events = oracle.mint(40, { days: 2 });
      expect(await take(bodies(events))).toBe(events.length);
      oracle.acknowledged(job.id, events);
      count += events.length;
      // The API does not answer now, so the counts are read from disk.
      await until({
        what: "the log to have them",
        withinMs: RECEIVED_WITHIN_MS,
        look: async () => logsOnDisk(shipper.state).get(job.id)?.pending,
        enough: (pending) => pending === count,
      });
    }
    expect(recordLists(store, "typos")).toEqual([]);
    await shipper.crashAndRestart();
    for (const each of [job, ofTail]) await drain(shipper.api, each);
    const { objects } = await assertDelivered(shipper.api, { store, buckets: ["typos"] }, oracle, job, {
      // The requests to the producer are events too.
      leftOut: { filtered: { atLeast: 1, atMost: 2 } },
    });
    const tailed = recordLists(store, "tail").flatMap(({ records }) => records.map(oracle.idByMessage));
    expect(tailed).toEqual(["tail-1 0"]);
    const row = "malformed settings across restarts";
    task.meta.fault = { row, events: count + tailed.length, faults: malformed.length, objects };
  });
});
