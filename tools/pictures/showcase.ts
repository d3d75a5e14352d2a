/**
 * A shipper as a busy shop has it: six functions, four jobs, one of which cannot deliver at the
 * moment, and the month so far. For pictures.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { monthOf, monthStartMs, withUse } from "../../src/ship/log/month-use.ts";
import type { HostileStore } from "../../test/e2e/hostile-store.ts";
import { type IsolatedShipper, jobInto } from "../../test/e2e/shipper.ts";
import { rule } from "../../test/support/s3-script.ts";
import { until } from "../until.ts";

const HOUR_MS = 3_600_000;

/** Functions of the shop, and the share of each in percent of all events. */
const SHARES = { storefront: 46, checkout: 18, search: 16, "cart-api": 12, mailer: 5, "stock-sync": 3 } as const;
type FunctionName = keyof typeof SHARES;

/** Ids of the jobs. */
export interface Showcase {
  all: number;
  errors: number;
  failing: number;
}

/** Creates jobs, writes the past, delivers some new events, and leaves some waiting. */
export async function showcase(shipper: IsolatedShipper, store: HostileStore): Promise<Showcase> {
  const { api } = shipper;
  const all = await api.createJob({ ...jobInto("logs"), name: "All traces" });
  const errors = await api.createJob({
    ...jobInto("errors"),
    name: "Errors, for on call",
    filter: JSON.stringify({
      where: {
        or: [
          { key: "Outcome", operator: "!eq", value: "ok" },
          { key: "Event.Response.Status", operator: "geq", value: 500 },
        ],
      },
    }),
  });
  const sampled = await api.createJob({
    ...jobInto("billing"),
    name: "Checkout, one of ten",
    filter: '{"where":{"key":"ScriptName","operator":"eq","value":"checkout"}}',
    output_options: { sample_rate: 0.1, output_type: "csv", timestamp_format: "rfc3339" },
  });
  const failing = await api.createJob({ ...store.job("archive-eu"), name: "Archive in the EU" });
  store.server.script("archive-eu", [rule({ do: "answer", status: 403, code: "AccessDenied" })]);
  await setLogging(shipper, { checkout: true, "load-test": false });
  const past = await addPast(shipper, [
    { id: all.id, kept: 1, sampledOut: 0 },
    { id: errors.id, kept: 0.04, sampledOut: 0 },
    { id: sampled.id, kept: 0.018, sampledOut: 0.162 },
    { id: failing.id, kept: 1, sampledOut: 0 },
  ]);

  let sent = 0;
  for (let round = 0; round < 6; round++) {
    const events = await send(shipper, 180 + round * 40, Date.now() - 2_000);
    sent += events;
    await received(shipper, errors.id, past + sent);
    await Promise.all([all, errors, failing].map(({ id }) => api.flush(id)));
    await until({
      what: "everything to be delivered",
      withinMs: 30_000,
      look: () => shipper.api.jobLedger(all.id),
      enough: ({ pending }) => pending === 0,
    });
  }
  sent += await send(shipper, 74, Date.now());
  await received(shipper, errors.id, past + sent);
  await until({
    what: "the job without permission to say so",
    withinMs: 30_000,
    look: () => shipper.api.job(failing.id),
    enough: ({ error_message }) => error_message !== null,
  });
  return { all: all.id, errors: errors.id, failing: failing.id };
}

/** Switches logging of functions on or off. */
async function setLogging({ url, token }: IsolatedShipper, wanted: Readonly<Record<string, boolean>>): Promise<void> {
  for (const [name, logship] of Object.entries(wanted)) {
    const response = await fetch(`${url}/client/v4/accounts/local/functions/scripts/${name}/script-settings`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ logship }),
    });
    if (!response.ok) throw new Error(`switching ${name}: HTTP ${response.status}`);
  }
}

/** Posts events of all functions. @returns how many. */
export async function send(shipper: IsolatedShipper, count: number, at: number): Promise<number> {
  return shipper.api.postEvents(Array.from({ length: count }, (_, i) => event(i, at - (count - i) * 3)));
}

/** Waits until a job has received so many records, the past included. */
async function received(shipper: IsolatedShipper, job: number, records: number): Promise<void> {
  await until({
    what: `job ${job} to have received ${records}`,
    withinMs: 60_000,
    look: () => shipper.api.jobLedger(job),
    enough: ({ received }) => received >= records,
  });
}

/** The event of that number: the same number gives the same event. */
function event(i: number, at: number): Record<string, unknown> {
  const names = Object.entries(SHARES).flatMap(([name, share]) => Array.from({ length: share }, () => name));
  const scriptName = (names[(i * 37) % names.length] ?? "storefront") as FunctionName;
  const item = ["green-tea", "black-tea", "teapot", "cups", "kettle"][i % 5] ?? "tea";
  const shared = {
    scriptName,
    eventTimestamp: at,
    outcome: "ok",
    cpuTime: 1 + (i % 9),
    wallTime: 6 + ((i * 13) % 180),
    scriptVersion: { id: "0b5c1c7e-6a0e-4a51-9f0d-7a4cb2b9c0de", tag: "2026-11-20", message: "" },
  };
  const log = (level: string, ...message: unknown[]): object => ({ level, message, timestamp: at });
  const fetched = (method: string, url: string, status: number): object => ({
    request: {
      url: `https://shop.example${url}`,
      method,
      headers: { "cf-ray": `8e6b${(0x10000 + i).toString(16)}-FRA` },
    },
    response: { status },
  });
  switch (scriptName) {
    case "checkout":
      if (i % 5 === 0)
        return {
          ...shared,
          outcome: "exception",
          event: fetched("POST", "/checkout", 500),
          logs: [log("log", "charging the card", { order: 48_000 + i })],
          exceptions: [{ name: "PaymentError", message: "the bank did not answer within 8 s", timestamp: at }],
        };
      return {
        ...shared,
        event: fetched("POST", "/checkout", 201),
        logs: [log("log", "order placed", { order: 48_000 + i, item })],
      };
    case "search":
      return {
        ...shared,
        event: fetched("GET", `/search?q=${item}`, 200),
        logs: i % 3 === 0 ? [log("warn", `slow query: ${120 + (i % 80)} ms`)] : [],
      };
    case "cart-api":
      return {
        ...shared,
        event: { rpcMethod: i % 2 === 0 ? "addItem" : "totals" },
        logs: [log("debug", "cart", { item, count: 1 + (i % 3) })],
      };
    case "mailer":
      return { ...shared, event: { queue: "order-mails", batchSize: 4 }, logs: [log("info", "4 mails handed over")] };
    case "stock-sync":
      return i % 2 === 0
        ? { ...shared, outcome: "exceededCpu", event: { cron: "*/5 * * * *", scheduledTime: at } }
        : { ...shared, event: { cron: "*/5 * * * *", scheduledTime: at }, logs: [log("log", "812 articles compared")] };
    default:
      return { ...shared, event: fetched("GET", i % 4 === 0 ? "/" : `/articles/${item}`, i % 29 === 0 ? 404 : 200) };
  }
}

/**
 * Events of each hour of a day (UTC): a shop's nights are quiet. 9.3 million a day, 108 a second.
 */
const EVENTS_BY_HOUR = [
  126_000, 85_000, 59_000, 46_000, 38_000, 53_000, 104_000, 234_000, 372_000, 474_000, 528_000, 564_000, 594_000,
  546_000, 522_000, 534_000, 576_000, 648_000, 726_000, 774_000, 702_000, 558_000, 366_000, 226_000,
] as const;

/**
 * What the shipper does in an hour at these rates: a batch every 10 s, and three isolates that send
 * every 2 s.
 */
const BATCHES_PER_HOUR = 360;
const MESSAGES_PER_HOUR = 5_400;
/** An object every 30 s. */
const UPLOADS_PER_HOUR = 120;

/** A job's share of all events, from 0 to 1. The rest is filtered. */
interface PastJob {
  id: number;
  kept: number;
  sampledOut: number;
}

interface PastHour {
  /** Since the epoch. */
  hour: number;
  /** How much of it is over, from 0 to 1. */
  part: number;
  events: number;
}

/**
 * Writes the month so far, or the last day if that is longer, into the counts of the log and of its
 * readers, so that everything still adds up. No test could wait for it. Only pictures may do this.
 * @returns how many events that were.
 */
async function addPast(shipper: IsolatedShipper, jobs: readonly PastJob[]): Promise<number> {
  await shipper.kill();
  const nowMs = Date.now();
  const nowHour = Math.floor(nowMs / HOUR_MS);
  const first = Math.min(monthStartMs(monthOf(nowMs)) / HOUR_MS, nowHour - 24);
  const hours = Array.from({ length: nowHour - first + 1 }, (_, i): PastHour => {
    const hour = first + i;
    const part = Math.min(1, nowMs / HOUR_MS - hour);
    const ofDay = 1 + (((Math.floor(hour / 24) * 7) % 5) - 2) * 0.03;
    return { hour, part, events: Math.round((EVENTS_BY_HOUR[hour % 24] ?? 0) * ofDay * part) };
  });
  const sum = hours.reduce((events, each) => events + each.events, 0);
  for (const db of databases(shipper, "JobReader")) {
    const [row] = db.prepare("SELECT CAST(json_extract(job, '$.id') AS INTEGER) AS id FROM reader").all();
    const job = jobs.find(({ id }) => id === row?.id);
    if (job !== undefined) addHours(db, hours, job);
    db.close();
  }
  for (const db of databases(shipper, "TraceLog")) {
    addToAccount(db, hours, { sum, jobs: jobs.length, nowMs });
    db.close();
  }
  await shipper.restart();
  return sum;
}

function addToAccount(
  db: DatabaseSync,
  hours: readonly PastHour[],
  { sum, jobs, nowMs }: { sum: number; jobs: number; nowMs: number },
): void {
  const monthHour = monthStartMs(monthOf(nowMs)) / HOUR_MS;
  const ofMonth = hours.filter(({ hour }) => hour >= monthHour);
  const events = ofMonth.reduce((all, each) => all + each.events, 0);
  const used = withUse(
    null,
    {
      batches: ofMonth.length * BATCHES_PER_HOUR,
      groups: ofMonth.length * BATCHES_PER_HOUR,
      messages: ofMonth.length * MESSAGES_PER_HOUR,
      messageUnits: ofMonth.length * MESSAGES_PER_HOUR,
      furtherParts: 0,
      events,
      entries: ofMonth.length * BATCHES_PER_HOUR * jobs,
      offered: events * jobs,
    },
    nowMs,
  );
  const use = JSON.stringify({ ...used, sinceMs: monthHour * HOUR_MS });
  db.prepare("UPDATE account SET processed = processed + ?, routed = routed + ?, month_use = ?").run(sum, sum, use);
  const insert = db.prepare("INSERT OR REPLACE INTO function_hour (hour, counts) VALUES (?, ?)");
  for (const { hour, events } of hours) {
    const endMs = Math.min((hour + 1) * HOUR_MS, nowMs) - 1;
    const names = Object.entries(SHARES);
    let left = events;
    const counts = names.map(([name, share], i) => {
      const own = i === names.length - 1 ? left : Math.round((events * share) / 100);
      left -= own;
      return [name, own, 0, 0, endMs];
    });
    insert.run(hour, JSON.stringify(counts));
  }
}

/** The databases of a class that are in use. */
function databases(shipper: IsolatedShipper, name: string): DatabaseSync[] {
  const folder = join(shipper.state, `v3/do/logship-${name}`);
  const files = readdirSync(folder).filter((file) => /^[0-9a-f]+\.sqlite$/.test(file));
  return files.map((file) => new DatabaseSync(join(folder, file))).filter(hasRows);
}

/** An object that was only asked whether it exists has no tables. */
function hasRows(db: DatabaseSync): boolean {
  const isThere = db.prepare("SELECT 1 FROM sqlite_master WHERE name IN ('reader', 'state')").get() !== undefined;
  if (!isThere) db.close();
  return isThere;
}

/** Bytes of a record, compressed and not. */
const RECORD_BYTES = 96;
const RECORD_RAW_BYTES = 612;

function addHours(db: DatabaseSync, hours: readonly PastHour[], { kept, sampledOut }: PastJob): void {
  const insert = db.prepare(
    `INSERT INTO health_hour (hour, ok, retried, failed, causes, records, bytes, raw_bytes, total_ms, longest_ms)
       VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
  );
  let received = 0;
  let delivered = 0;
  let sampled = 0;
  for (const [i, { hour, part, events }] of hours.entries()) {
    const records = Math.round(events * kept);
    received += events;
    delivered += records;
    sampled += Math.round(events * sampledOut);
    // Now and then the store is busy.
    const retried = kept === 1 && i % 9 === 4 ? 3 + (i % 4) : 0;
    const causes = retried > 0 ? JSON.stringify({ 503: retried }) : "{}";
    const [bytes, raw] = [records * RECORD_BYTES, records * RECORD_RAW_BYTES];
    const uploads = Math.round(UPLOADS_PER_HOUR * part);
    const [totalMs, longestMs] = [uploads * 140, 900 + (i % 7) * 60];
    insert.run(hour, uploads, retried, causes, records, bytes, raw, totalMs, longestMs);
  }
  db.prepare(
    `UPDATE reader SET received = received + ?, filtered = filtered + ?, sampled_out = sampled_out + ?,
       delivered = delivered + ?, delivered_raw = delivered_raw + ?, delivered_bytes = delivered_bytes + ?`,
  ).run(
    received,
    received - delivered - sampled,
    sampled,
    delivered,
    delivered * RECORD_RAW_BYTES,
    delivered * RECORD_BYTES,
  );
}
