/**
 * Every kind of invocation of a real function. Each becomes exactly one record, with the expected
 * fields, in the bucket.
 */
import { join } from "node:path";
import { type ExpectStatic, it } from "vitest";
import { EXTRA_FIELDS } from "../../src/formats/record/fields.ts";
import { ROOT } from "../../tools/paths.ts";
import { buildWorker, startDevServer } from "../../tools/servers/dev-server.ts";
import type { LocalServer } from "../../tools/servers/local-server.ts";
import { until } from "../../tools/until.ts";
import { DURING, type Json, log, recordOf, requestEvent, thrown, withoutTimes } from "../support/expected-records.ts";
import { firstPort } from "./ports.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

const DELIVERED_WITHIN_MS = 30_000;

const SECRET = "never-in-a-record";

/** The due time of the daily and of the monthly cron. */
const DUE_MS = 1_700_000_000_000;

it("ships a request, what it throws or rejects, a cron, a batch, an alarm and an RPC call, each once and as it was", async ({
  expect,
}) => {
  const fromMs = Date.now();
  const settings = { EXTRA_FIELDS: EXTRA_FIELDS.join() };
  await using shipper = await IsolatedShipper.start({ queueWaitS: 1, settings });
  const sample = await startSample(shipper);
  try {
    const job = await shipper.api.createJob(jobInto("kinds"));
    const output_options = { field_names: ["EventType", ...EXTRA_FIELDS], rows: "log" };
    const extra = await shipper.api.createJob(jobInto("extra", { output_options }));
    const answers: number[] = [];
    for (const request of requestsTo(sample.url)) {
      const response = await fetch(request);
      await response.arrayBuffer();
      answers.push(response.status);
    }
    expect(answers).toEqual([200, 200, 404, 500, 202, 200, 200, 202, 202, 200, 500]);

    const expected = recordsFor(sample.url);
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

    const shipped = await shipper.recordsBelow("kinds");
    expect(sorted(shipped.map((record) => withoutTimes(record, fromMs, untilMs)))).toEqual(sorted(expected));
    expect(ledger).toMatchObject({ received: expected.length, delivered: expected.length });
    expect(await shipper.api.accountLedger()).toMatchObject({ processed: expected.length, routed: expected.length });
    const rows = await shipper.recordsBelow("extra");
    const withLogs = expected.filter(({ Logs, Exceptions }) => [Logs, Exceptions].flat().length > 0);
    expect(await shipper.api.jobLedger(extra.id)).toMatchObject({
      ...{ received: expected.length, delivered: withLogs.length, filtered: expected.length - withLogs.length },
    });
    expect(rows.length).toBe(withLogs.flatMap(({ Logs, Exceptions }) => [Logs, Exceptions].flat()).length);
    expectExtraFields(rows as Json[], expect);
    // From another process, whose trace items are plain objects here.
    const functions = await fetch(`${shipper.url}/client/v4/accounts/local/functions/scripts`, {
      headers: { authorization: `Bearer ${shipper.token}` },
    });
    const { result } = (await functions.json()) as { result: { sources: { source: string }[] }[] };
    expect(result.flatMap(({ sources }) => sources.map(({ source }) => source))).toEqual(["tail"]);
  } finally {
    await sample.stop();
  }
});

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

function requestsTo(url: string): Request[] {
  const cron = (expression: string): Request =>
    new Request(`${url}/cdn-cgi/handler/scheduled?cron=${expression.replaceAll(" ", "+")}&time=${DUE_MS}`);
  return [
    new Request(`${url}/orders/7?event=one`, {
      headers: { "cf-ray": "57d55f210d7b95f3-SJC", authorization: SECRET, cookie: SECRET, "x-session": SECRET },
    }),
    new Request(`${url}/orders/8?event=two`, { method: "POST", body: "8" }),
    new Request(`${url}/nowhere?event=three`),
    new Request(`${url}/checkout?event=four`),
    new Request(`${url}/newsletter?event=five`),
    new Request(`${url}/report?event=six`),
    new Request(`${url}/prices/coffee?event=seven`),
    new Request(`${url}/parcels/9?event=eight`),
    new Request(`${url}/reservations/coffee?event=nine`),
    cron("0 3 * * *"),
    cron("0 4 1 * *"),
  ];
}

function recordsFor(url: string): Json[] {
  const record = (EventType: string, Event: Json, more: Json = {}): Json => recordOf("unnamed", EventType, Event, more);
  const answered = (path: string, status: number, more: { Method?: string; RayID?: string } = {}): Json =>
    requestEvent(`${url}${path}`, status, more);
  return [
    record("fetch", answered("/orders/7?event=one", 200, { RayID: "57d55f210d7b95f3" }), {
      Logs: [log("log", "order looked up", '{"path":"/orders/7","items":3}')],
    }),
    record("fetch", answered("/orders/8?event=two", 200, { Method: "POST" }), {
      Logs: [log("log", "order looked up", '{"path":"/orders/8","items":3}')],
    }),
    record("fetch", answered("/nowhere?event=three", 404)),
    record("fetch", requestEvent(`${url}/checkout?event=four`, null), {
      Exceptions: [thrown("PaymentError", "the bank did not answer")],
      Logs: [log("log", "charging the card")],
      Outcome: "exception",
    }),
    record("fetch", answered("/newsletter?event=five", 202), {
      Exceptions: [thrown("Error", "the mail server is full")],
      Logs: [log("info", "signed up; the mail goes out after the answer")],
    }),
    record("fetch", answered("/report?event=six", 200), {
      Logs: [
        ...Array.from({ length: 120 }, (_, i) =>
          log("debug", `row ${i + 1} of 120: turnover ${((i + 1) * 37) % 1000} coins`),
        ),
        log("warn", "the report is slow"),
      ],
    }),
    record("fetch", answered("/prices/coffee?event=seven", 200)),
    record(
      "worker_rpc",
      { RPCMethod: "quote" },
      {
        Entrypoint: "Prices",
        Logs: [log("log", "price asked", '{"item":"coffee","event":"seven"}')],
      },
    ),
    record("fetch", answered("/parcels/9?event=eight", 202), { Logs: [log("log", "order handed to the packers")] }),
    record(
      "queue",
      { Queue: "sample-parcels", BatchSize: 1 },
      {
        Logs: [log("log", "parcel packed", '{"order":"9","event":"eight"}')],
      },
    ),
    record("fetch", answered("/reservations/coffee?event=nine", 202)),
    record(
      "worker_rpc",
      { RPCMethod: "hold" },
      {
        Entrypoint: "Reservation",
        Logs: [log("log", "item held", '{"item":"coffee","event":"nine"}')],
      },
    ),
    record(
      "alarm",
      { ScheduledTimeMs: DURING },
      {
        Entrypoint: "Reservation",
        Logs: [log("warn", "nobody came for it", '{"item":"coffee","event":"nine"}')],
      },
    ),
    record(
      "scheduled",
      { Cron: "0 3 * * *", ScheduledTimeMs: DUE_MS },
      {
        Logs: [log("log", "counting the stock", "0 3 * * *")],
      },
    ),
    record(
      "scheduled",
      { Cron: "0 4 1 * *", ScheduledTimeMs: DUE_MS },
      {
        Exceptions: [thrown("Error", "the warehouse is closed")],
        Logs: [log("log", "counting the stock", "0 4 1 * *")],
        Outcome: "exception",
      },
    ),
  ];
}

/**
 * Sorted: the bucket has the order of arrival. Compared as text, so that the order of fields counts
 * too.
 */
function sorted(records: readonly unknown[]): string[] {
  return records.map((record) => JSON.stringify(record)).sort();
}
