/** A shipper with something for every page to show, most of it hostile text. */
import { localDestination } from "../../tools/client/bucket.ts";
import { until } from "../../tools/until.ts";
import type { HostileStore } from "../e2e/hostile-store.ts";
import { type IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "../e2e/shipper.ts";
import { rule } from "../support/s3-script.ts";
import { FUNCTION, hostileEvents, hostileRecord, LONG, MARK, NAME } from "./hostile-text.ts";

/** Numbers and names that places.ts makes addresses of. */
export interface Seeded {
  jobs: Readonly<Record<"delivering" | "failing" | "refused" | "paused" | "odd", number>>;
  /** Of the job that delivers. */
  object: number;
  /** The id of something that was set aside. */
  aside: string;
  /** Of the job that delivers. */
  replay: string;
  /** A plain name, one that is markup, and one that has sent nothing. */
  functions: Readonly<Record<"plain" | "odd" | "silent", string>>;
  /** Of the hostile function. */
  problem: string;
  tokens: Readonly<Record<RoleName, Credential>>;
  member: string;
}

export interface Credential {
  id: string;
  /** The secret itself. */
  value: string;
}

/** Roles with some permissions each. */
export const ROLES = {
  reader: ["logs:read"],
  functions: ["functions:read", "functions:edit"],
  access: ["access:edit"],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type RoleName = keyof typeof ROLES;

/**
 * Fills a shipper over its API.
 * @param store of the jobs that fail to deliver; keep it as long as the shipper.
 */
export async function seed(shipper: IsolatedShipper, store: HostileStore): Promise<Seeded> {
  const { api } = shipper;
  const create = async (body: object): Promise<number> => (await api.createJob({ ...body })).id;
  const delivering = await create({ ...jobInto("shop"), name: "all traces" });
  const failing = await create({ ...store.job("gone"), name: `fails ${NAME}`.slice(0, 512) });
  const refused = await create({ ...store.job("picky"), name: "refused by its store" });
  const paused = await create({ ...jobInto("paused"), name: "paused", enabled: false, ...SHIPPING });
  const odd = await create({ ...jobInto("odd"), name: NAME.padEnd(512, "W"), filter: ODD_FILTER });
  // From here on one bucket does not exist any more, and the other takes no records.
  store.server.script("gone", [rule({ do: "answer", status: 404, code: "NoSuchBucket" })]);
  store.server.script("picky", [
    rule({ do: "answer", status: 400, code: "InvalidArgument" }, { method: "PUT", keyIncludes: ".log.gz" }),
  ]);

  const now = Date.now();
  const events = [
    ...hostileEvents(now - 5_000),
    ...hostileEvents(now - 4_000, LONG),
    ...Array.from({ length: 60 }, (_, i) => plainEvent(now - 3_000 + i, i)),
  ];
  await api.postEvents(events);
  await api.postEvents([hostileRecord(now - 2_000), hostileRecord(now - 1_000, LONG)]);

  const [tokens, member] = await Promise.all([
    makeTokens(shipper),
    makeMember(shipper),
    setFunctions(shipper),
    setWebhook(shipper),
  ]);
  await saveSearches(shipper, tokens.reader.value);
  await received(shipper, delivering, events.length + 2);
  await Promise.all([delivering, failing, refused, odd].map((id) => api.flush(id)));
  const [object] = await until({
    what: "an object to be delivered",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => api.objects(delivering),
    enough: (objects) => objects.some(({ state }) => state === "delivered"),
  });
  const [aside] = await until({
    what: "an object to be set aside",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => shipper.call<{ id: string }[]>("GET", "/logship/set-aside"),
    enough: (list) => list.length > 0,
  });
  await until({
    what: "the job without a bucket to fail",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => api.job(failing),
    enough: ({ error_message }) => error_message !== null,
  });
  const [problem] = await until({
    what: "a problem of the hostile function",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => shipper.call<{ id: string; worker: string }[]>("GET", "/logship/problems"),
    enough: (list) => list.some(({ worker }) => worker === FUNCTION),
  }).then((list) => list.filter(({ worker }) => worker === FUNCTION));
  const replay = await api.beginReplay(delivering, {
    since: new Date(now - 60_000).toISOString(),
    until: new Date(now + 60_000).toISOString(),
    destination_conf: localDestination("again/{DATE}"),
  });
  // These stay pending, for pages that show how many do.
  await api.postEvents(Array.from({ length: 5 }, (_, i) => plainEvent(Date.now(), i)));
  await received(shipper, delivering, events.length + 7);
  if (object === undefined || aside === undefined) throw new Error("nothing was delivered, or set aside");
  if (problem === undefined) throw new Error("no problem");
  return {
    jobs: { delivering, failing, refused, paused, odd },
    object: object.number,
    aside: aside.id,
    replay: replay.id,
    problem: problem.id,
    functions: { plain: "shop", odd: FUNCTION, silent: "never-called" },
    tokens,
    member,
  };
}

/** A filter that keeps every record. */
const ODD_FILTER = JSON.stringify({
  where: {
    or: [
      { key: "Outcome", operator: "!eq", value: NAME },
      {
        and: [
          { key: "Event.Request.URL", operator: "contains", value: NAME },
          { key: "Logs", operator: "!contains", value: LONG.slice(0, 500) },
        ],
      },
    ],
  },
});

/** Every setting of a job's output. */
const SHIPPING = {
  filter: '{"where":{"key":"Outcome","operator":"in","value":["exception","exceededCpu"]}}',
  output_options: {
    field_names: ["EventTimestampMs", "ScriptName", "Outcome", "Logs"],
    output_type: "csv",
    batch_prefix: NAME,
    sample_rate: 0.25,
    timestamp_format: "rfc3339",
  },
  max_upload_records: 5_000,
};

async function received(shipper: IsolatedShipper, job: number, records: number): Promise<void> {
  await until({
    what: `job ${job} to have received ${records}`,
    withinMs: RECEIVED_WITHIN_MS,
    look: () => shipper.api.jobLedger(job),
    enough: (ledger) => ledger.received >= records,
  });
}

async function makeTokens(shipper: IsolatedShipper): Promise<Seeded["tokens"]> {
  const make = (role: RoleName): Promise<Credential> =>
    shipper.call("POST", "/tokens", { name: role, permissions: ROLES[role] });
  await shipper.call("POST", "/tokens", { name: NAME.slice(0, 120), permissions: ["events:write"] });
  const [reader, functions, access] = await Promise.all([make("reader"), make("functions"), make("access")]);
  return { reader, functions, access };
}

async function makeMember(shipper: IsolatedShipper): Promise<string> {
  const email = `${MARK}+o'neil@example.com`;
  const { id } = await shipper.call<{ id: string }>("POST", "/members", { email, role: "Log Share Reader" });
  return id;
}

async function setFunctions(shipper: IsolatedShipper): Promise<void> {
  const set = (name: string, settings: object): Promise<unknown> =>
    shipper.call("PATCH", `/functions/scripts/${encodeURIComponent(name)}/script-settings`, settings);
  await set("never-called", { logship: true });
  await set("switched-off", {
    logship: false,
    tail_consumers: [{ service: "logship", environment: NAME.slice(0, 60) }],
  });
}

/** Of the reader: a plain one, and one whose texts are hostile, with an alert. */
async function saveSearches(shipper: IsolatedShipper, token: string): Promise<void> {
  const save = async (body: object): Promise<void> => {
    const answer = await fetch(`${shipper.url}/client/v4/accounts/local/logship/searches`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`a search was not saved: HTTP ${answer.status} ${await answer.text()}`);
  };
  await save({ name: "Failures", query: "status:5xx" });
  await save({
    ...{ name: NAME.slice(0, 120), query: `"${MARK}"` },
    alert: { measure: { op: "p95", of: "took" }, threshold: 1, over: "5m", for: "10m" },
  });
}

async function setWebhook(shipper: IsolatedShipper): Promise<void> {
  // Nothing listens there, and nothing leaves this machine.
  await shipper.call("PUT", "/logship/webhook", { url: "http://127.0.0.1:9/hook" });
  await shipper.call("POST", "/logship/alerts", {
    name: NAME.slice(0, 120),
    format: "slack",
    address: "http://127.0.0.1:9/chat",
  });
}

function plainEvent(at: number, i: number): Record<string, unknown> {
  return {
    scriptName: i % 3 === 0 ? "cart" : "shop",
    outcome: i % 7 === 0 ? "exception" : "ok",
    eventTimestamp: at,
    event: {
      request: { url: `https://shop.example/orders/${i}?by=name`, method: i % 2 === 0 ? "GET" : "POST" },
      response: { status: i % 7 === 0 ? 500 : 200 },
    },
    cpuTime: 3,
    wallTime: 20 + i,
    logs: [{ level: i % 5 === 0 ? "warn" : "log", message: [`order ${i} looked up`], timestamp: at }],
    exceptions: i % 7 === 0 ? [{ name: "PaymentError", message: "the bank did not answer", timestamp: at }] : [],
  };
}
