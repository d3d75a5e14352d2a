/** A replay to a receiver: src/operate/replay/parts.ts. */
import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { asked, POISON, RECEIVERS, type ReceiverService } from "../../ship/destinations/receivers.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack } from "../../support/runtime/pipeline.ts";
import { call } from "../../web/api/harness.ts";
import { ALL, RECORDS, shippedJob } from "./shipped.ts";

const { https, elastic } = RECEIVERS as { https: (typeof RECEIVERS)[string]; elastic: (typeof RECEIVERS)[string] };

/** Requests to the receiver's host go to it, all others to where they go. */
function receiver(conf: string, fetch: ReceiverService["fetch"]) {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const host = new URL(conf.replace(/^[a-z]+:/, "https:")).host;
  const original = platform.fetch;
  const bodies: { id: string; count: number }[] = [];
  vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
    if (new URL(url).host !== host) return original(url, init);
    const { headers, text } = await asked(url, init);
    const id = headers.get("idempotency-key") ?? "";
    if (!id.startsWith("test-")) bodies.push({ id, count: text.trimEnd().split("\n").length });
    return fetch(url, init);
  });
  return bodies;
}

describe("a replay to a receiver", () => {
  it("sends every record once, in parts that it takes, with an id for each", async () => {
    const shipped = await shippedJob(3);
    const bodies = receiver(https.conf, https.service().fetch);
    const begun = await shipped.begin({ ...ALL, destination_conf: https.conf });
    const ended = await shipped.settle(begun.id);
    expect(ended).toMatchObject({ state: "done", done: { objects: 3, records: 3 * RECORDS }, problems: [] });
    expect(bodies.map(({ count }) => count)).toEqual([RECORDS, RECORDS, RECORDS]);
    expect(new Set(bodies.map(({ id }) => id)).size).toBe(3);
    expect(JSON.stringify(await shipped.list())).not.toContain("SECRET");
  });

  it("sends the lines that objects of Parquet are decoded to", async () => {
    const shipped = await shippedJob(0);
    await call("PUT", `/logship/jobs/${shipped.job}`, { output_options: { output_type: "parquet" } });
    await shipped.ship(2);
    const types: (string | null)[] = [];
    const bodies = receiver(https.conf, async (url, init) => {
      const { headers } = await asked(url, init);
      types.push(headers.get("content-type"));
      return https.service().fetch(url, init);
    });
    const begun = await shipped.begin({ ...ALL, destination_conf: https.conf });
    const ended = await shipped.settle(begun.id);
    expect(ended).toMatchObject({ state: "done", done: { objects: 2, records: 2 * RECORDS }, problems: [] });
    expect(bodies.map(({ count }) => count)).toEqual([RECORDS, RECORDS]);
    expect(new Set(types)).toEqual(new Set(["application/x-ndjson"]));
  });

  it("goes on after what it has, where one part fails, and sends that again under its id", async () => {
    const shipped = await shippedJob(1);
    const taken: string[] = [];
    let requests = 0;
    const bodies = receiver(https.conf, async (url, init) => {
      const { text, headers } = await asked(url, init);
      if ((headers.get("idempotency-key") ?? "").startsWith("test-")) return new Response(null, { status: 204 });
      const records = text.trimEnd().split("\n");
      if (records.length > 4) return new Response(null, { status: 413 });
      requests += 1;
      // Its answer is lost: it has the records.
      taken.push(...records);
      return new Response(null, { status: requests === 2 ? 503 : 204 });
    });
    const begun = await shipped.begin({ ...ALL, destination_conf: https.conf });
    const ended = await shipped.settle(begun.id);
    expect(ended).toMatchObject({ state: "done", done: { objects: 1, records: RECORDS }, problems: [] });
    expect(new Set(taken).size).toBe(RECORDS);
    const ids = bodies.filter(({ count }) => count <= 4).map(({ id, count }) => `${id} ${count}`);
    // Parts of one object are known by its id and the number of their first record.
    expect(new Set(ids).size).toBe(4);
    expect(ids.length).toBe(6);
  });

  it("names what is refused, and sends all else", async () => {
    const shipped = await shippedJob(1);
    let first: string | null = null;
    const service = https.service();
    const bodies = receiver(https.conf, async (url, init) => {
      const { text, headers } = await asked(url, init);
      if ((headers.get("idempotency-key") ?? "").startsWith("test-")) return new Response(null, { status: 204 });
      first ??= text.split("\n")[0] as string;
      return text.includes(first) ? new Response(POISON, { status: 400 }) : service.fetch(url, init);
    });
    const begun = await shipped.begin({ ...ALL, destination_conf: https.conf });
    const ended = await shipped.settle(begun.id);
    expect(ended).toMatchObject({ state: "done", failed: { objects: 1 } });
    expect(ended.problems[0]?.why).toContain(`HTTP 400 (1 of ${RECORDS} records; the others were sent)`);
    const accepted = bodies.filter(({ count }) => count < RECORDS);
    expect(accepted.length).toBeGreaterThan(1);
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
    receiver(https.conf, async (url, init) => {
      const { text, headers } = await asked(url, init);
      if ((headers.get("idempotency-key") ?? "").startsWith("test-")) return new Response(null, { status: 204 });
      if (text.includes(poison)) return new Response(POISON, { status: 400 });
      if (text.includes(last) && ++failures === 1) return new Response(null, { status: 503 });
      for (const line of text.trimEnd().split("\n")) taken.add(line);
      return new Response(null, { status: 204 });
    });
    const begun = await shipped.begin({ ...ALL, destination_conf: https.conf });
    const ended = await shipped.settle(begun.id);
    expect([failures, taken.size]).toEqual([2, 10_000]);
    expect(ended).toMatchObject({ state: "done", failed: { objects: 1 } });
    expect(ended.problems[0]?.why).toContain("(1 of 10001 records; the others were sent)");
  });

  it("is refused where its records cannot be read by the target, or its own destination cannot be read back", async () => {
    const shipped = await shippedJob(1);
    receiver(elastic.conf, elastic.service().fetch);
    const path = `/logship/jobs/${shipped.job}`;
    const { body: job } = await call<{ [field: string]: unknown }>("GET", path);
    await call("PUT", path, { output_options: { output_type: "csv" } });
    const csv = await call("POST", `${path}/replay`, { ...ALL, destination_conf: elastic.conf });
    expect([csv.status, csv.body.errors]).toMatchObject([
      400,
      [{ message: expect.stringContaining("NDJSON"), source: { pointer: "/destination_conf" } }],
    ]);
    expect(job).toBeDefined();
    const { name } = freshBucket();
    const other = await createJob(name);
    await call("PUT", `/logship/jobs/${other}`, { destination_conf: elastic.conf });
    const back = await call("POST", `/logship/jobs/${other}/replay`, ALL);
    expect([back.status, back.body.errors[0]?.message]).toEqual([400, expect.stringContaining("cannot be read back")]);
  });
});
