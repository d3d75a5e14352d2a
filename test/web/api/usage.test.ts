import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { JobReader } from "../../../src/index.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { USAGE_PATIENCE } from "../../../src/web/api/usage.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, NOON, pack, redeliver, setClock, settle } from "../../support/runtime/pipeline.ts";
import { call, freshBucket } from "./harness.ts";

interface Usage {
  month: string;
  since: string | null;
  until: string;
  counted: { [name: string]: unknown };
  silent_jobs: number[];
  operations: { [name: string]: { amount: number; basis: string; list_price_usd: number } };
  list_price_usd: number;
  beyond_plan_usd: number;
  vendor_price_usd: number;
  vendor_beyond_plan_usd: number;
  assumptions: string[];
}

async function usage(): Promise<Usage> {
  const answer = await call<Usage>("GET", "/logship/usage");
  expect(answer.status).toBe(200);
  return answer.body.result;
}

const NOTHING = {
  ...{ events: 0, messages: 0, batches: 0, records_offered: 0, entries: 0 },
  ...{ uploads: { ok: 0, retried: 0, failed: 0 }, records_delivered: 0, bytes_delivered: 0 },
};

it("is nothing while nothing was counted", async () => {
  setClock(NOON);
  const said = await usage();
  expect(said).toMatchObject({ month: "2100-11", since: null, until: "2100-11-20T12:00:00.000Z", counted: NOTHING });
  expect([said.list_price_usd, said.vendor_price_usd, said.silent_jobs]).toEqual([0, 0, []]);
});

it("is what came, and what became of it, and begins anew with the month", async () => {
  const clock = setClock(NOON);
  const jobs = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
  const messages = pack(new Oracle({ at: NOON }).mint(30), clock.nowMs(), { perMessage: 10 });
  await deliver(messages);
  // A redelivery is not counted again.
  await redeliver(messages);
  for (const job of jobs) await settle(job, clock);
  const said = await usage();
  expect(said).toMatchObject({ month: "2100-11", since: "2100-11-20T12:00:00.000Z" });
  expect(said.counted).toMatchObject({ events: 30, messages: 3, batches: 1, records_offered: 60, entries: 2 });
  expect(said.counted).toMatchObject({ records_delivered: 60, uploads: { ok: 2, retried: 0, failed: 0 } });
  expect(said.operations).toMatchObject({
    queue_operations: { amount: 9, basis: "counted", list_price_usd: expect.closeTo(9 * 0.4e-6, 12) },
    puts: { amount: 2, basis: "counted" },
    log_lines: { amount: 3, basis: "counted" },
    rows_written: { basis: "derived" },
    cpu_ms: { basis: "estimated" },
  });
  const sum = Object.values(said.operations).reduce((all, { list_price_usd }) => all + list_price_usd, 0);
  expect(said.list_price_usd).toBeCloseTo(sum, 12);
  expect(said.vendor_price_usd).toBeCloseTo(60 * 0.05e-6, 12);
  expect([said.beyond_plan_usd, said.vendor_beyond_plan_usd]).toEqual([0, 0]);
  clock.advance(Date.parse("2100-12-01T00:00:00Z") - clock.nowMs());
  expect(await usage()).toMatchObject({ month: "2100-12", since: "2100-12-01T00:00:00.000Z", counted: NOTHING });
});

it("says of which jobs it does not know, and does not wait for them", async () => {
  setClock(NOON);
  const [silent, other] = [await createJob(freshBucket().name), await createJob(freshBucket().name)];
  const { health } = JobReader.prototype;
  vi.spyOn(JobReader.prototype, "health").mockImplementation(function (this: JobReader, ...args) {
    if (this.ctx.id.name === `job ${silent} log 0`) return new Promise(() => {}) as never;
    return health.apply(this, args);
  });
  const before = USAGE_PATIENCE.ms;
  USAGE_PATIENCE.ms = 50;
  try {
    expect([(await usage()).silent_jobs, other]).toEqual([[silent], other]);
  } finally {
    USAGE_PATIENCE.ms = before;
  }
});

it("writes no row that was not written anyway", async () => {
  const clock = setClock(NOON);
  await createJob(freshBucket().name);
  const ship = () => deliver(pack(new Oracle({ at: NOON }).mint(5), clock.nowMs()));
  await ship();
  const rows = await runInDurableObject(traceLog(env.TRACE_LOG, 0), (_object, { storage }) => {
    const cursors: { query: string; cursor: SqlStorageCursor<Record<string, SqlStorageValue>> }[] = [];
    const exec = storage.sql.exec.bind(storage.sql);
    vi.spyOn(storage.sql, "exec").mockImplementation((query, ...values) => {
      const cursor = exec(query, ...values);
      cursors.push({ query, cursor });
      return cursor as never;
    });
    return () => cursors.filter(({ query }) => /\bstate\b/.test(query)).map(({ cursor }) => cursor.rowsWritten);
  });
  await ship();
  expect(rows().filter((written) => written > 0)).toEqual([1]);
});
