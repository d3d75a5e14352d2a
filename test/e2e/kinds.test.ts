/**
 * Every kind of invocation of a real function. Each becomes exactly one record, with the expected
 * fields, in the bucket.
 */
import { join } from "node:path";
import { type ExpectStatic, it } from "vitest";
import { EXTRA_FIELDS } from "../../src/formats/record/fields.ts";
import type { TraceRecord } from "../../tools/client/show.ts";
import { faultsOf, nameOf, SAMPLE_NAME, sampleSchedules, sampleVisits } from "../../tools/demo/events.ts";
import { ROOT } from "../../tools/paths.ts";
import { buildWorker, startDevServer } from "../../tools/servers/dev-server.ts";
import type { LocalServer } from "../../tools/servers/local-server.ts";
import { until } from "../../tools/until.ts";
import { DURING, type Json, log, recordOf, requestEvent, withoutTimes } from "../support/expected-records.ts";
import { firstPort } from "./ports.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

const DELIVERED_WITHIN_MS = 30_000;

type Shipped = TraceRecord & { Exceptions: { name: string; message: string }[] };

const SECRET = "never-in-a-record";

/** What functions log along with the id of the request that an invocation follows from. */
const passed = (id: string, what: object): string => JSON.stringify({ ...what, event: id });

/** Of each kind of invocation: outcome, log lines and what was thrown. */
const CONTENTS: Readonly<Record<string, readonly [outcome: string, logs: string[][], exceptions: string[]]>> = {
  "fetch sample-1": ["ok", [["log", "order looked up", '{"path":"/orders/1","items":3}']], []],
  "fetch sample-2": ["exception", [["log", "charging the card"]], ["PaymentError: the bank did not answer"]],
  "fetch sample-3": [
    "ok",
    [["info", "signed up; the mail goes out after the answer"]],
    ["Error: the mail server is full"],
  ],
  "worker_rpc sample-5": ["ok", [["log", "price asked", passed("sample-5", { item: "tea" })]], []],
  "queue sample-6": ["ok", [["log", "parcel packed", passed("sample-6", { order: "1" })]], []],
  "alarm sample-7": ["ok", [["warn", "nobody came for it", passed("sample-7", { item: "tea" })]], []],
  "scheduled 0 4 1 * *": [
    "exception",
    [["log", "counting the stock", "0 4 1 * *"]],
    ["Error: the warehouse is closed"],
  ],
};

it("ships a request, what it throws or rejects, a cron, a batch, an alarm and an RPC call, each once and as it was", async ({
  expect,
}) => {
  const fromMs = Date.now();
  const settings = { EXTRA_FIELDS: EXTRA_FIELDS.join(), DEFAULT_SCRIPT_NAME: SAMPLE_NAME };
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1, settings });
  const sample = await startSample(shipper);
  try {
    const job = await shipper.api.createJob(jobInto("kinds"));
    const output_options = { field_names: ["EventType", ...EXTRA_FIELDS], rows: "log" };
    const extra = await shipper.api.createJob(jobInto("extra", { output_options }));
    const triggers = [...sampleVisits(sample.url), ...sampleSchedules(sample.url)];
    for (const { url, status } of triggers) {
      const answer = await fetch(url);
      await answer.arrayBuffer();
      expect([url, answer.status]).toEqual([url, status]);
    }
    const posted = `${sample.url}/orders/7?event=posted`;
    const headers = { "cf-ray": "57d55f210d7b95f3-SJC", authorization: SECRET, cookie: SECRET, "x-session": SECRET };
    await (await fetch(posted, { method: "POST", body: "8", headers })).arrayBuffer();
    const looked = ["order looked up", '{"path":"/orders/7","items":3}'] as const;
    const expected = [...triggers.flatMap(({ ships }) => ships), "fetch posted"];
    await until({
      what: `the ledger to show ${expected.length} received`,
      withinMs: RECEIVED_WITHIN_MS,
      look: () => shipper.api.jobLedger(job.id),
      enough: ({ received }) => received >= expected.length,
    });
    for (const { id } of [job, extra]) await shipper.api.flush(id);
    const ledger = await until({
      what: "the ledger to show nothing pending",
      withinMs: DELIVERED_WITHIN_MS,
      look: () => shipper.api.jobLedger(job.id),
      enough: ({ pending }) => pending === 0,
    });

    const untilMs = Date.now();
    const shipped = (await shipper.recordsBelow("kinds")) as Shipped[];
    expect(faultsOf(expected, shipped)).toEqual([]);
    const byName = new Map(shipped.map((record) => [nameOf(record), record]));
    const contents = Object.keys(CONTENTS).map((name) => [name, contentsOf(byName.get(name))]);
    expect(Object.fromEntries(contents)).toEqual(CONTENTS);
    expect(byName.get("fetch sample-4")?.Logs).toHaveLength(121);
    const timeless = shipped.map((record) => withoutTimes(record, fromMs, untilMs) as Json);
    expect(new Set(timeless.map(({ EventTimestampMs }) => EventTimestampMs))).toEqual(new Set([DURING]));
    // Compared as text, so that the order of fields counts too.
    const event = requestEvent(posted, 200, { Method: "POST", RayID: "57d55f210d7b95f3" });
    expect(JSON.stringify(timeless[shipped.findIndex((record) => nameOf(record) === "fetch posted")])).toBe(
      JSON.stringify(recordOf(SAMPLE_NAME, "fetch", event, { Logs: [log("log", ...looked)] })),
    );
    expect(ledger).toMatchObject({ received: expected.length, delivered: expected.length });
    expect(await shipper.api.accountLedger()).toMatchObject({ processed: expected.length, routed: expected.length });
    const rows = await shipper.recordsBelow("extra");
    const lines = shipped.map(({ Logs, Exceptions }) => Logs.length + Exceptions.length);
    const withLogs = lines.filter((count) => count > 0).length;
    expect(await shipper.api.jobLedger(extra.id)).toMatchObject({
      ...{ received: expected.length, delivered: withLogs, filtered: expected.length - withLogs },
    });
    expect(rows.length).toBe(lines.reduce((sum, count) => sum + count, 0));
    expectExtraFields(rows as Json[], expect);
    // From another process, whose trace items are plain objects here.
    const functions = await shipper.call<{ sources: { source: string }[] }[]>("GET", "/functions/scripts");
    expect(functions.flatMap(({ sources }) => sources.map(({ source }) => source))).toEqual(["tail"]);
  } finally {
    await sample.stop();
  }
});

function contentsOf(record: Shipped | undefined): unknown {
  return (
    record && [
      record.Outcome,
      record.Logs.map(({ Level, Message }) => [Level, ...Message]),
      record.Exceptions.map(({ name, message }) => `${name}: ${message}`),
    ]
  );
}

/** What the runtime says beside the records, and nothing that must not be taken. */
function expectExtraFields(rows: readonly Json[], expect: ExpectStatic): void {
  const fetched = rows.filter(({ EventType }) => EventType === "fetch");
  for (const { RequestHeaders, RequestCF } of fetched) {
    expect(RequestHeaders).toMatchObject({ host: expect.any(String), "user-agent": expect.any(String) });
    expect(RequestCF).toMatchObject({ colo: expect.any(String), country: expect.any(String) });
  }
  for (const { Source, Truncated } of rows) expect([Source, Truncated]).toEqual(["tail", false]);
  const ofAlarm = rows.filter(({ EventType }) => EventType === "alarm");
  expect(ofAlarm).toMatchObject([{ ExecutionModel: "durableObject", DurableObjectID: expect.stringMatching(/./) }]);
  const stacks = rows.flatMap(({ ExceptionStacks }) => ExceptionStacks);
  expect(stacks.length).toBeGreaterThan(0);
  for (const stack of stacks) expect(stack).toContain("    at ");
  expect(JSON.stringify(rows)).not.toContain(SECRET);
}

/**
 * The demo's shop with the shipper as its tail consumer. It is built first: run from source,
 * `wrangler dev` swallows what it throws.
 */
async function startSample(shipper: IsolatedShipper): Promise<LocalServer> {
  const built = await buildWorker(join(ROOT, "tools/demo/sample/wrangler.jsonc"), join(shipper.folder, "sample"));
  const sample = await startDevServer({
    ...built,
    port: firstPort("sample"),
    persistTo: join(shipper.folder, "sample-state"),
    registry: shipper.registry,
    logFile: join(shipper.folder, "sample.log"),
  });
  await until({
    what: "the sample to find the shipper",
    withinMs: RECEIVED_WITHIN_MS,
    look: async () => sample.output.slice(-2_000),
    enough: (output) => output.includes("logship [connected]"),
  });
  return sample;
}
