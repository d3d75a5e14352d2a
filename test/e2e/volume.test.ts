/** Many events over several days, in every form of request, to two jobs. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import type { EventsForm } from "../../tools/client/api-client.ts";
import type { StoredObject } from "../../tools/client/bucket.ts";
import { until } from "../../tools/until.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { assertClean, type MintOptions, ndjson, Oracle } from "../support/oracle.ts";
import { LedgerWatch } from "./ledger-watch.ts";
import { IsolatedShipper, jobInto, pathOf } from "./shipper.ts";

const EVENTS = 100_000;
const DAYS = 3;
const REQUESTS: readonly (EventsForm & Pick<MintOptions, "form">)[] = [
  { ndjson: true, gzip: true, form: "record" },
  { form: "trace" },
  { ndjson: true, gzip: true, form: "trace" },
  { gzip: true, form: "record" },
  { ndjson: true, form: "record" },
];
const ROUNDS = 2;
const FIELDS = ["EventTimestampMs", "ScriptName"];

it(`ships ${EVENTS} events over ${DAYS} days to two jobs, each exactly once, and the ledgers balance all the way`, async ({
  expect,
}) => {
  await using shipper = await IsolatedShipper.start();
  const { api, bucket } = shipper;
  const oracle = new Oracle({ name: "volume", at: Date.UTC(2026, 10, 17, 9) });
  const whole = await api.createJob(jobInto("whole"));
  const two = await api.createJob(
    jobInto("two", { output_options: { field_names: FIELDS }, max_upload_records: 10_000 }),
  );
  const jobs = [whole.id, two.id];
  const watch = new LedgerWatch(shipper, jobs);

  const perRequest = EVENTS / REQUESTS.length / ROUNDS;
  for (let round = 1; round <= ROUNDS; round++) {
    for (const { form = "record", ...how } of REQUESTS) {
      // 25 s apart: they alternate between the days and fill each of them.
      const events = oracle.mint(perRequest, { form, days: DAYS, stepMs: 25_000 });
      const accepted = await api.postEvents(
        events.map(({ event }) => event),
        how,
      );
      expect(accepted).toBe(perRequest);
      for (const id of jobs) oracle.acknowledged(id, events);
    }
    // One cut in the middle of the events, and one at the end.
    if (round === ROUNDS) await receivedBy(jobs);
    await api.triggerScheduled();
  }
  for (const id of jobs) {
    await until({
      what: `job ${id} to have delivered everything`,
      withinMs: 90_000,
      look: () => api.jobLedger(id),
      enough: ({ pending, delivered }) => pending === 0 && delivered >= EVENTS,
    });
  }
  await watch.stop();
  expect(watch.faults).toEqual([]);
  // How often depends on the machine; without any look the test would prove little.
  expect(watch.polls).toBeGreaterThan(2);

  const objectsOfWhole = await bucket.read("whole/");
  assertClean(oracle.audit(whole.id, objectsOfWhole, { path: pathOf("whole") }));
  const objectsOfTwo = await bucket.read("two/");
  assertClean(oracle.audit(two.id, objectsOfTwo, { path: pathOf("two"), idOf: oracle.idByTime }));
  for (const object of shippedIn(objectsOfTwo)) {
    const records = recordsOf(object);
    expect(records.length).toBeLessThanOrEqual(10_000);
    expect(new Set(records.map((record) => Object.keys(record as object).join()))).toEqual(new Set([FIELDS.join()]));
  }
  expect(daysOf(objectsOfWhole)).toHaveLength(DAYS);
  expectGzipToOpen([...objectsOfWhole, ...objectsOfTwo]);

  for (const [id, objects] of [
    [whole.id, objectsOfWhole],
    [two.id, objectsOfTwo],
  ] as const) {
    expect(await api.jobLedger(id)).toMatchObject({
      received: EVENTS,
      delivered: EVENTS,
      pending: 0,
      set_aside: 0,
      discarded: 0,
    });
    const listed = await api.objects(id);
    expect(listed.map(({ key }) => key).sort()).toEqual(shippedIn(objects).map(({ key }) => key));
  }
  expect(await api.accountLedger()).toMatchObject({ processed: EVENTS, routed: EVENTS, set_aside: 0 });

  async function receivedBy(ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      await until({
        what: `job ${id} to have received everything`,
        withinMs: 90_000,
        look: () => api.jobLedger(id),
        enough: ({ received }) => received >= EVENTS,
      });
    }
  }

  /** Runs the gzip tool, as a reader of the bucket may. */
  function expectGzipToOpen(objects: readonly StoredObject[]): void {
    const folder = join(shipper.folder, "objects");
    mkdirSync(folder);
    const files = shippedIn(objects).map(({ bytes }, i) => {
      const file = join(folder, `${i}.log.gz`);
      writeFileSync(file, bytes);
      return file;
    });
    const { status, stderr } = spawnSync("gzip", ["-t", ...files], { encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  }
});

/** Without the probe of the job's creation. */
function shippedIn(objects: readonly StoredObject[]): StoredObject[] {
  return objects.filter(({ key }) => key.endsWith(".log.gz"));
}

function recordsOf({ key, bytes }: StoredObject): unknown[] {
  const member = readSingleMember(bytes);
  if (!member.ok) throw new Error(`${key}: ${member.reason}`);
  return ndjson(member.raw);
}

function daysOf(objects: readonly StoredObject[]): string[] {
  return [...new Set(shippedIn(objects).map(({ key }) => key.split("/").at(-2) ?? ""))];
}
