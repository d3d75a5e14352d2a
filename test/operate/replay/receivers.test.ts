/** A replay to a receiver: src/operate/replay/parts.ts. */
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { asked, POISON, RECEIVERS, type ReceiverService } from "../../ship/destinations/receivers.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { ALL, type Detail, RECORDS, runReplays, type Shipped, shippedJob } from "./shipped.ts";

const { https, elastic } = RECEIVERS as { https: (typeof RECEIVERS)[string]; elastic: (typeof RECEIVERS)[string] };

/** Requests to the receiver's host go to it, all others to where they go. */
function connect(conf: string, fetch: ReceiverService["fetch"]): void {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const host = new URL(conf.replace(/^[a-z]+:/, "https:")).host;
  const original = platform.fetch;
  vi.spyOn(platform, "fetch").mockImplementation((url, init) =>
    (new URL(url).host === host ? fetch : original)(url, init),
  );
}

/** A replay to a receiver with these answers, and what it was sent. */
async function replayed(
  shipped: Shipped,
  answers: (records: string[], headers: Headers) => number | Response = () => 204,
): Promise<{ ended: Detail; bodies: { id: string; count: number }[] }> {
  const bodies: { id: string; count: number }[] = [];
  connect(https.conf, async (url, init) => {
    const { headers, text } = await asked(url, init);
    const id = headers.get("idempotency-key") ?? "";
    if (id.startsWith("test-")) return new Response(null, { status: 204 });
    const records = text.trimEnd().split("\n");
    bodies.push({ id, count: records.length });
    const answer = answers(records, headers);
    return typeof answer === "number" ? new Response(null, { status: answer }) : answer;
  });
  const begun = await shipped.begin({ ...ALL, destination_conf: https.conf });
  return { ended: await shipped.settle(begun.id), bodies };
}

describe("a replay to a receiver", () => {
  it("sends every record once, in parts that it takes, with an id for each", async () => {
    const shipped = await shippedJob(3);
    const { ended, bodies } = await replayed(shipped);
    expect(ended).toMatchObject({ state: "done", done: { objects: 3, records: 3 * RECORDS }, problems: [] });
    expect(bodies.map(({ count }) => count)).toEqual([RECORDS, RECORDS, RECORDS]);
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(3);
    expect(JSON.stringify(await shipped.list())).not.toContain("SECRET");
  });

  it("sends the lines that objects of Parquet are decoded to", async () => {
    const shipped = await shippedJob(0);
    await call("PUT", `/logship/jobs/${shipped.job}`, { output_options: { output_type: "parquet" } });
    await shipped.ship(2);
    const types = new Set<string | null>();
    const { ended, bodies } = await replayed(shipped, (_records, headers) => {
      types.add(headers.get("content-type"));
      return 204;
    });
    expect(ended).toMatchObject({ state: "done", done: { objects: 2, records: 2 * RECORDS }, problems: [] });
    expect(bodies.map(({ count }) => count)).toEqual([RECORDS, RECORDS]);
    expect([...types]).toEqual(["application/x-ndjson"]);
  });

  it("finds the one record that it fails on, however it says so, and sends all others", async () => {
    const poisoned = { done: { records: 0 }, failed: { objects: 1 } };
    const taken: string[] = [];
    const shipped = await shippedJob(1);
    let poison: string | undefined;
    const { ended } = await replayed(shipped, (records) => {
      poison ??= records[2];
      if (poison !== undefined && records.includes(poison)) return 500;
      taken.push(...records);
      return 204;
    });
    expect(ended).toMatchObject({ state: "done", ...poisoned });
    expect(ended.problems).toMatchObject([{ why: expect.stringContaining(`HTTP 500 (1 of ${RECORDS} records`) }]);
    expect([taken.length, new Set(taken).size]).toEqual([RECORDS - 1, RECORDS - 1]);
  });

  it.each([0, 2, RECORDS - 2])("finds two records that it fails on, beside each other, from %i", async (from) => {
    const taken: string[] = [];
    const shipped = await shippedJob(1);
    let poison: string[] | undefined;
    const { ended } = await replayed(shipped, (records) => {
      poison ??= records.slice(from, from + 2);
      if (poison.some((each) => records.includes(each))) return 500;
      taken.push(...records);
      return 204;
    });
    expect(ended).toMatchObject({ state: "done", failed: { objects: 1 } });
    expect(ended.problems).toMatchObject([{ why: expect.stringContaining(`HTTP 500 (2 of ${RECORDS} records`) }]);
    expect([taken.length, new Set(taken).size]).toEqual([RECORDS - 2, RECORDS - 2]);
  });

  it("blames no record where it takes a test record alone", async () => {
    const shipped = await shippedJob(1);
    let isDown = true;
    connect(https.conf, async (url, init) => {
      const isTest = ((await asked(url, init)).headers.get("idempotency-key") ?? "").startsWith("test-");
      return new Response(null, { status: isTest || !isDown ? 204 : 429 });
    });
    const { id } = await shipped.begin({ ...ALL, destination_conf: https.conf });
    for (let n = 0; n < 12; n++) await runReplays();
    isDown = false;
    expect(await shipped.settle(id)).toMatchObject({ state: "done", done: { records: RECORDS }, problems: [] });
  });

  it("goes on after what it has, where one part fails, and sends that again under its id", async () => {
    const taken: string[] = [];
    let requests = 0;
    const { ended, bodies } = await replayed(await shippedJob(1), (records) => {
      if (records.length > 4) return 413;
      requests += 1;
      // Its answer is lost: it has the records.
      taken.push(...records);
      return requests === 2 ? 503 : 204;
    });
    expect(ended).toMatchObject({ state: "done", done: { objects: 1, records: RECORDS }, problems: [] });
    expect(new Set(taken).size).toBe(RECORDS);
    const ids = bodies.filter(({ count }) => count <= 4).map(({ id, count }) => `${id} ${count}`);
    // Parts of one object are known by its id and the number of their first record.
    expect(new Set(ids).size).toBe(4);
    expect(ids.length).toBe(6);
  });

  it("names what is refused, and sends all else", async () => {
    const taken = new Set<string>();
    let first: string | undefined;
    const { ended } = await replayed(await shippedJob(1), (records) => {
      first ??= records[0] as string;
      if (records.includes(first)) return new Response(POISON, { status: 400 });
      for (const record of records) taken.add(record);
      return 204;
    });
    expect(ended).toMatchObject({ state: "done", failed: { objects: 1 } });
    expect(ended.problems[0]?.why).toContain(`HTTP 400 (1 of ${RECORDS} records; the others were sent)`);
    expect(taken.size).toBe(RECORDS - 1);
  });

  it("names what one part refused, though a later part had to be tried again", async () => {
    const shipped = await shippedJob(0);
    // One more than a part holds.
    const events = new Oracle({ at: NOON }).mint(10_001);
    await deliver(pack(events, NOON, { perMessage: 1_000 }));
    await call("POST", `/logship/jobs/${shipped.job}/flush`);
    const [poison, last] = [events[7]?.id ?? "", events.at(-1)?.id ?? ""];
    const taken = new Set<string>();
    let failures = 0;
    const { ended } = await replayed(shipped, (records) => {
      const has = (id: string) => records.some((record) => record.includes(id));
      if (has(poison)) return new Response(POISON, { status: 400 });
      if (has(last) && ++failures === 1) return 503;
      for (const record of records) taken.add(record);
      return 204;
    });
    expect([failures, taken.size]).toEqual([2, 10_000]);
    expect(ended).toMatchObject({ state: "done", failed: { objects: 1 } });
    expect(ended.problems[0]?.why).toContain("(1 of 10001 records; the others were sent)");
  });

  it("does not say of an object that it was not reached, if it is cancelled after a part of it", async () => {
    const shipped = await shippedJob(0);
    await deliver(pack(new Oracle({ at: NOON }).mint(10_001), NOON, { perMessage: 1_000 }));
    await call("POST", `/logship/jobs/${shipped.job}/flush`);
    let requests = 0;
    // The second part is not taken for certain.
    connect(https.conf, async (url, init) => {
      const isTest = ((await asked(url, init)).headers.get("idempotency-key") ?? "").startsWith("test-");
      return new Response(null, { status: isTest || ++requests === 1 ? 204 : 429 });
    });
    const { id } = await shipped.begin({ ...ALL, destination_conf: https.conf });
    await runReplays();
    expect(requests).toBe(2);
    await shipped.cancel(id);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "cancelled", failed: { objects: 1 }, left: { objects: 0 } });
    expect(ended.problems[0]?.why).toContain("on its way when the replay ended");
  });

  it("is refused where its records cannot be read by the target, or its own destination cannot be read back", async () => {
    const shipped = await shippedJob(1);
    connect(elastic.conf, elastic.service().fetch);
    const path = `/logship/jobs/${shipped.job}`;
    await call("PUT", path, { output_options: { output_type: "csv" } });
    const csv = await call("POST", `${path}/replay`, { ...ALL, destination_conf: elastic.conf });
    expect([csv.status, csv.body.errors]).toMatchObject([
      400,
      [{ message: expect.stringContaining("NDJSON"), source: { pointer: "/destination_conf" } }],
    ]);
    const { name } = freshBucket();
    const other = await createJob(name);
    await call("PUT", `/logship/jobs/${other}`, { destination_conf: elastic.conf });
    const back = await call("POST", `/logship/jobs/${other}/replay`, ALL);
    expect([back.status, back.body.errors[0]?.message]).toEqual([400, expect.stringContaining("cannot be read back")]);
  });
});
