/** A shipper as it might be in the middle of a week: a shop's functions, a few jobs, one of which cannot deliver, and a day that lies behind. For pictures. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { HostileStore } from "../../test/e2e/hostile-store.ts";
import { type IsolatedShipper, jobInto } from "../../test/e2e/shipper.ts";
import { rule } from "../../test/support/s3-script.ts";
import { until } from "../until.ts";

const HOUR_MS = 3_600_000;

/** Functions of the shop, and of a hundred events how many are theirs. */
const SHARES = { storefront: 46, checkout: 18, search: 16, "cart-api": 12, mailer: 5, "stock-sync": 3 } as const;
type FunctionName = keyof typeof SHARES;

/** Numbers of the jobs. */
export interface Showcase {
  all: number;
  errors: number;
  failing: number;
}

/** Sets everything up, lets some of it be delivered, and leaves some of it waiting. */
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
  await api.createJob({
    ...jobInto("billing"),
    name: "Checkout, one of ten",
    filter: '{"where":{"key":"ScriptName","operator":"eq","value":"checkout"}}',
    output_options: { sample_rate: 0.1, output_type: "csv", timestamp_format: "rfc3339" },
  });
  const failing = await api.createJob({ ...store.job("archive-eu"), name: "Archive in the EU" });
  store.server.script("archive-eu", [rule({ do: "answer", status: 403, code: "AccessDenied" })]);
  await setLogging(shipper, { checkout: true, "load-test": false });
  await addPast(shipper, [all.id, errors.id]);

  let sent = 0;
  for (let round = 0; round < 6; round++) {
    const events = await send(shipper, 180 + round * 40, Date.now() - 2_000);
    sent += events;
    await received(shipper, errors.id, sent);
    await Promise.all([all, errors, failing].map(({ id }) => api.flush(id)));
    await until({
      what: "everything to be delivered",
      withinMs: 30_000,
      look: () => shipper.api.jobLedger(all.id),
      enough: ({ pending }) => pending === 0,
    });
  }
  sent += await send(shipper, 74, Date.now());
  await received(shipper, errors.id, sent);
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

/** What was received beside the past, which counts as well. */
async function received(shipper: IsolatedShipper, job: number, records: number): Promise<void> {
  await until({
    what: `job ${job} to have received ${records}`,
    withinMs: 60_000,
    look: () => shipper.api.jobLedger(job),
    enough: ({ received }) => received >= PAST_RECEIVED + records,
  });
}

/** One that looks like any other, by its number. */
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

/** Records of each hour of the day that lies behind, the oldest first: a shop's nights are quiet. */
const PAST = [
  2_100, 1_420, 980, 760, 640, 890, 1_730, 3_900, 6_200, 7_900, 8_800, 9_400, 9_900, 9_100, 8_700, 8_900, 9_600, 10_800,
  12_100, 12_900, 11_700, 9_300, 6_100,
] as const;
const PAST_RECEIVED = PAST.reduce((sum: number, each) => sum + each, 0);

/** Of these, in a hundred, what the job for errors keeps. */
const KEPT_PERCENT = 4;

/**
 * Writes a day into the books of the account and of the first two jobs, so that everything still adds up: what a picture needs, and no test could wait for.
 * Nothing but pictures may ever do so.
 */
async function addPast(shipper: IsolatedShipper, [all, errors]: readonly [number, number]): Promise<void> {
  await shipper.kill();
  const nowHour = Math.floor(Date.now() / HOUR_MS);
  const hours = PAST.map((records, i) => ({ hour: nowHour - PAST.length + i, records }));
  for (const db of databases(shipper, "DeliveryLog")) {
    const [row] = db.prepare("SELECT CAST(json_extract(job, '$.id') AS INTEGER) AS id FROM log").all();
    const share = row?.id === all ? 1 : row?.id === errors ? KEPT_PERCENT / 100 : null;
    if (share !== null) addHours(db, hours, share);
    else
      db.prepare("UPDATE log SET received = received + ?, filtered = filtered + ?").run(PAST_RECEIVED, PAST_RECEIVED);
    db.close();
  }
  for (const db of databases(shipper, "AccountLedger")) {
    db.prepare("UPDATE account SET processed = processed + ?, routed = routed + ?").run(PAST_RECEIVED, PAST_RECEIVED);
    for (const { hour, records } of hours) {
      const counts = Object.entries(SHARES).map(([name, share]) => [
        name,
        Math.round((records * share) / 100),
        0,
        0,
        (hour + 1) * HOUR_MS - 1,
      ]);
      db.prepare("INSERT OR REPLACE INTO function_hour (hour, counts) VALUES (?, ?)").run(hour, JSON.stringify(counts));
    }
    db.close();
  }
  await shipper.restart();
}

/** The databases of a class that are in use. */
function databases(shipper: IsolatedShipper, name: string): DatabaseSync[] {
  const folder = join(shipper.state, `v3/do/logship-${name}`);
  const files = readdirSync(folder).filter((file) => /^[0-9a-f]+\.sqlite$/.test(file));
  return files.map((file) => new DatabaseSync(join(folder, file))).filter(hasRows);
}

/** An object that was only asked whether it is there has none. */
function hasRows(db: DatabaseSync): boolean {
  const isThere = db.prepare("SELECT 1 FROM sqlite_master WHERE name IN ('log', 'account')").get() !== undefined;
  if (!isThere) db.close();
  return isThere;
}

function addHours(db: DatabaseSync, hours: readonly { hour: number; records: number }[], share: number): void {
  const insert = db.prepare(
    `INSERT INTO health_hour (hour, ok, retried, failed, causes, records, bytes, raw_bytes, total_ms, longest_ms)
       VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?, ?)`,
  );
  let delivered = 0;
  for (const [i, { hour, records }] of hours.entries()) {
    const kept = Math.round(records * share);
    delivered += kept;
    const isBusy = share === 1 && (i === 9 || i === 10 || i === 18);
    const retried = isBusy ? 3 + (i % 4) : 0;
    insert.run(
      hour,
      118,
      retried,
      isBusy ? JSON.stringify({ 503: retried }) : "{}",
      kept,
      kept * 96,
      kept * 612,
      118 * 140,
      900 + (i % 7) * 60,
    );
  }
  db.prepare(
    `UPDATE log SET received = received + ?, filtered = filtered + ?, delivered = delivered + ?,
       delivered_raw = delivered_raw + ?, delivered_bytes = delivered_bytes + ?`,
  ).run(PAST_RECEIVED, PAST_RECEIVED - delivered, delivered, delivered * 612, delivered * 96);
}
