/**
 * Traffic between two releases, and meanwhile changes of every kind of setting. Each change is read
 * back, and then judged by what is shipped.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ApiClient } from "../../../tools/client/api-client.ts";
import type { Job } from "../../../tools/client/api-results.ts";
import { pause, until } from "../../../tools/until.ts";
import { jobLedgerFaults } from "../../support/ledger-audit.ts";
import { assertClean, type Expectation, type Minted, Oracle } from "../../support/oracle.ts";
import { asMember } from "../../support/parquet-files.ts";
import { rule } from "../../support/s3-script.ts";
import type { Chance } from "../chance.ts";
import { assertReceived, drain, readCsv, receivedBy } from "../fault-support.ts";
import { HostileStore } from "../hostile-store.ts";
import { type IsolatedShipper, pathOf, RECEIVED_WITHIN_MS } from "../shipper.ts";

const SHIPPED_WITHIN_MS = 60_000;

/** A switch takes effect 250 ms early: no event comes so near to one. */
const CLEAR_OF_SWITCHES_MS = 400;

/** Jobs that live at once, beside the one that never changes. */
const JOBS_MAX = 7;

/** A rerun stays open for a minute after its span; a job has two at most. */
const RERUN_OPEN_MS = 70_000;

const DAY_MS = 86_400_000;
const CSV_FIELDS = ["EventTimestampMs", "Outcome", "ScriptName"];

/** Its events come while settings change: filters leave them out, but for jobs that take all. */
const STEADY = "steady";
const SCRIPTS = ["shop", "mailer", "café 2"] as const;

interface Kind {
  readonly name: string;
  readonly path: (folder: string) => string;
  readonly output?: object;
  readonly expected?: (oracle: Oracle) => Partial<Expectation>;
  readonly receiver?: "elastic" | "https";
  /** In the Worker's own bucket. */
  readonly isBound?: true;
}

const KINDS: readonly Kind[] = [
  { name: "hours", path: (folder) => `${folder}/dt={DATE_ISO}/{HOUR}` },
  { name: "scripts", path: (folder) => `${folder}/{SCRIPT}/{YYYY}/{MM}/{DD}` },
  { name: "elastic", path: pathOf, receiver: "elastic" },
  {
    name: "csv",
    path: pathOf,
    output: { output_type: "csv", field_names: CSV_FIELDS },
    expected: ({ idByTime }) => ({ idOf: idByTime, parse: (raw) => readCsv(raw, CSV_FIELDS) }),
  },
  { name: "bound", path: pathOf, isBound: true },
  { name: "parquet", path: pathOf, output: { output_type: "parquet" } },
  { name: "https", path: pathOf, receiver: "https" },
];

interface Filter {
  readonly where: object | null;
  readonly keeps: (event: Minted) => boolean;
}

const FILTERS: readonly [Filter, ...Filter[]] = [
  { where: null, keeps: () => true },
  {
    where: { key: "Outcome", operator: "eq", value: "exception" },
    keeps: ({ record }) => record.Outcome === "exception",
  },
  { where: { key: "ScriptName", operator: "eq", value: "shop" }, keeps: ({ record }) => record.ScriptName === "shop" },
];

function filterText({ where }: Filter): string {
  const others = { key: "ScriptName", operator: "!eq", value: STEADY };
  return JSON.stringify({ where: where === null ? others : { and: [others, where] } });
}

/** A job, and what is known of it. */
interface Known {
  readonly job: Job;
  readonly kind: Kind;
  readonly folder: string;
  /** Buckets, or a receiver, one after the other. */
  readonly places: [string, ...string[]];
  keeps: Filter["keeps"];
  received: number;
  owed: number;
}

/** What one direction has done. */
export interface Tally {
  rounds: number;
  events: number;
  repeats: number;
  readonly changes: Record<string, number>;
}

function tallyOfNone(): Tally {
  return { rounds: 0, events: 0, repeats: 0, changes: {} };
}

export class Traffic implements AsyncDisposable {
  #tally: Tally = tallyOfNone();
  readonly #shipper: IsolatedShipper;
  readonly #store: HostileStore;
  readonly #chance: Chance;
  readonly #alerts: Server;
  readonly #oracle: Oracle;
  readonly #known: Known[] = [];
  /** Deleted jobs. */
  readonly #gone: Known[] = [];
  readonly #off = new Set<string>();
  /** Events of this round, for reruns. */
  #round: Minted[] = [];
  readonly #begun: { of: number; ms: number }[] = [];
  /** Those that are not over. */
  readonly #reruns: { of: number; id: string; rerun: Known; records: number }[] = [];
  #requests = 0;
  #made = 0;
  #taken = 0;
  #dropped = 0;

  private constructor(shipper: IsolatedShipper, store: HostileStore, alerts: Server, chance: Chance) {
    this.#shipper = shipper;
    this.#store = store;
    this.#alerts = alerts;
    this.#chance = chance;
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    this.#oracle = new Oracle({ name: "mix", at: today + DAY_MS / 2 });
  }

  static async start(shipper: IsolatedShipper, chance: Chance): Promise<Traffic> {
    const store = await HostileStore.start();
    const alerts = createServer((request, response) => {
      request.resume().on("end", () => response.end("ok"));
    }).listen(0, "127.0.0.1");
    await once(alerts, "listening");
    const traffic = new Traffic(shipper, store, alerts, chance);
    // It takes all that comes, in batches that stay open while the releases change.
    await traffic.#create({ name: STEADY, path: pathOf }, null);
    return traffic;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#alerts.close();
    await this.#store[Symbol.asyncDispose]();
  }

  #count(change: string): void {
    this.#tally.changes[change] = (this.#tally.changes[change] ?? 0) + 1;
  }

  get #api(): ApiClient {
    return this.#shipper.api;
  }

  /** What was done since the last call. */
  take(): Tally {
    const tally = this.#tally;
    this.#tally = tallyOfNone();
    return tally;
  }

  /** One change of each kind that is due, by its place, between events of every job. */
  async round(due: (place: number) => boolean): Promise<void> {
    this.#tally.rounds += 1;
    this.#round = [];
    const since = await this.#now();
    await this.#create(KINDS[this.#made % KINDS.length] as Kind, this.#chance.pick(FILTERS));
    await this.#post(60);
    // So large that objects take them over, once intake has asked for the jobs.
    for (let large = 0; large < 2; large++) await this.#post(60, null, { padding: 3_000 });
    await this.#settled();
    const changes: readonly [string, () => Promise<unknown>][] = [
      ["rerun", () => this.#rerun(since)],
      ["upload set aside", () => this.#setAside()],
      ["receiver of alerts", () => this.#during(() => this.#alert())],
      ["filter", () => this.#during(() => this.#refilter())],
      ["replay", () => this.#replay()],
      ["function switch", () => this.#switch()],
      ["token and member", () => this.#during(() => this.#access())],
      ["output options", () => this.#during(() => this.#reformat())],
      ["destination", () => this.#during(() => this.#move())],
      ["limits and a pause", () => this.#limits()],
    ];
    for (const [place, [name, change]] of changes.entries()) {
      if (!due(place)) continue;
      if ((await change()) !== false) this.#count(name);
    }
    await this.#post(60);
    await this.#settled();
    if (this.#known.length > JOBS_MAX) await this.#remove();
  }

  /** Delivers all, and audits every job there is, and was. */
  async finish(): Promise<{ jobs: number; records: number }> {
    let records = await this.#endReruns();
    for (const known of this.#known) {
      await drain(this.#api, known.job);
      records += await this.#audit(known);
    }
    for (const known of this.#gone) records += await this.#auditPlaces(known);
    return { jobs: this.#known.length + this.#gone.length, records };
  }

  /** Time of the service, with events on one side of it alone. */
  async #now(): Promise<string> {
    await pause(CLEAR_OF_SWITCHES_MS);
    const now = new Date().toISOString();
    await pause(CLEAR_OF_SWITCHES_MS);
    return now;
  }

  async #create(kind: Kind, filter: Filter | null): Promise<void> {
    const of = `${kind.receiver === undefined ? "" : `receiver-${kind.receiver}-`}${kind.name}${++this.#made}`;
    const isAny = filter === null || kind.receiver !== undefined;
    await pause(CLEAR_OF_SWITCHES_MS);
    const body = {
      ...{ name: of, enabled: true, destination_conf: this.#destination(kind, of, of) },
      ...{ filter: isAny ? "" : filterText(filter), output_options: kind.output ?? null },
      max_upload_interval_seconds: filter === null ? 300 : 30,
    };
    const job = await this.#api.createJob(body);
    const keeps = isAny ? () => true : keepsOf(filter);
    this.#known.push({ job, kind, folder: of, places: [of], keeps, received: 0, owed: 0 });
    this.#count(`job: ${kind.name}`);
  }

  #destination({ path, isBound, receiver }: Kind, place: string, folder: string): string {
    if (isBound === true) return `binding://TRACES/${path(place)}`;
    const conf = this.#store.destination(place, folder);
    return receiver === undefined ? conf.replace(pathOf(folder), path(folder)) : conf;
  }

  /** Events of all functions, some of them twice. */
  /** @param large without a key, in one message; absent: in parts of a request with a key. */
  async #post(count: number, only: string | null = null, large?: { padding: number }): Promise<void> {
    const scriptName = only ?? this.#chance.pick(SCRIPTS);
    const outcome = this.#chance.pick(["ok", "exception"]);
    const when = large ?? { days: 2, stepMs: 1_200_000 };
    const events = this.#oracle.mint(count, { ...when, scriptName, outcome });
    const isOff = this.#off.has(scriptName);
    for (const known of isOff ? [] : this.#known) {
      const kept = events.filter(known.keeps);
      known.received += count;
      known.owed += kept.length;
      this.#oracle.acknowledged(known.job.id, kept);
    }
    const key = large ? {} : { idempotencyKey: `mix-${this.#requests++}` };
    const bodies = events.map(({ event }) => event);
    const times = large ? 1 : this.#chance.between(1, 2);
    for (let sent = 0; sent < times; sent++) await this.#api.postEvents(bodies, key);
    this.#taken += count;
    if (isOff) this.#dropped += count;
    else if (only === null) this.#round.push(...events);
    this.#tally.events += count;
    this.#tally.repeats += times - 1;
  }

  /** Events come while a change that concerns none of them is made. */
  async #during(change: () => Promise<void>): Promise<void> {
    let isOver = false;
    const posting = async () => {
      while (!isOver) await this.#post(5, STEADY);
    };
    const changing = change().finally(() => {
      isOver = true;
    });
    await Promise.all([changing, posting()]);
  }

  /** Waits until the log and every reader have what came. */
  async #settled(): Promise<void> {
    const { processed, routed, not_enabled, set_aside } = await until({
      what: "the log to have counted all",
      withinMs: RECEIVED_WITHIN_MS,
      look: () => this.#api.accountLedger(),
      enough: (ledger) => ledger.processed >= this.#taken,
    });
    const counts = { processed, routed, not_enabled, set_aside };
    const routedAll = this.#taken - this.#dropped;
    assert.deepEqual(counts, { processed: this.#taken, routed: routedAll, not_enabled: this.#dropped, set_aside: 0 });
    for (const { job, received } of this.#known) await receivedBy(this.#api, job, received);
  }

  /** Waits until a job has nothing to read, and nothing to deliver. */
  async #read({ job }: Known): Promise<void> {
    await this.#settled();
    await drain(this.#api, job);
  }

  /** A job that is no receiver's. @param fits narrows them. */
  #any(fits: (known: Known) => boolean = () => true): Known {
    const [first, ...others] = this.#known.filter((each) => each.kind.receiver === undefined && fits(each));
    assert(first !== undefined, "no job fits");
    return this.#chance.pick([first, ...others]);
  }

  async #refilter(): Promise<void> {
    const known = this.#any(({ kind }) => kind.name !== STEADY);
    const filter = this.#chance.pick(FILTERS);
    // A changed filter applies to all that the job has not read.
    await drain(this.#api, known.job);
    await this.#update(known, { filter: filterText(filter) });
    known.keeps = keepsOf(filter);
  }

  async #reformat(): Promise<void> {
    const known = this.#any(({ kind }) => kind.output === undefined);
    const field_names = this.#chance.pick([["Logs"], ["Logs", "EventTimestampMs"], ["Outcome", "Logs", "ScriptName"]]);
    await this.#update(known, { output_options: { field_names } });
  }

  async #move(): Promise<void> {
    const known = this.#any(({ kind }) => kind.isBound !== true && kind.name !== STEADY);
    const { kind, folder, places } = known;
    const place = `${places[0]}-${places.length}`;
    await this.#update(known, { destination_conf: this.#destination(kind, place, folder) });
    places.push(place);
  }

  async #limits(): Promise<void> {
    const known = this.#any();
    await this.#update(known, { max_upload_records: 1_000 * this.#chance.between(1, 9) });
    await pause(CLEAR_OF_SWITCHES_MS);
    await this.#update(known, { enabled: false });
    await this.#update(known, { enabled: true });
    await pause(CLEAR_OF_SWITCHES_MS);
  }

  async #update({ job }: Known, body: Readonly<Record<string, unknown>>): Promise<void> {
    const updated: Record<string, unknown> = await this.#shipper.call("PUT", `/logship/jobs/${job.id}`, body);
    for (const [key, value] of Object.entries(body))
      if (key !== "destination_conf") assert.deepEqual(updated[key], value, key);
  }

  async #switch(): Promise<void> {
    const name = this.#chance.pick(SCRIPTS);
    const path = `/functions/scripts/${encodeURIComponent(name)}/script-settings`;
    for (const logship of [false, true]) {
      await pause(CLEAR_OF_SWITCHES_MS);
      assert.equal((await this.#shipper.call<{ logship: boolean }>("PATCH", path, { logship })).logship, logship);
      this.#off[logship ? "delete" : "add"](name);
      await pause(CLEAR_OF_SWITCHES_MS);
      await this.#post(20, name);
      await this.#settled();
    }
  }

  async #alert(): Promise<void> {
    const address = `http://127.0.0.1:${(this.#alerts.address() as AddressInfo).port}/`;
    const call = <T>(method: string, path: string, body?: object) =>
      this.#shipper.call<T>(method, `/logship${path}`, body);
    const { id } = await call<{ id: number }>("POST", "/alerts", { name: "chat", format: "slack", address });
    const muted_until = new Date(Date.now() + DAY_MS).toISOString();
    const change = { name: "on call", min_severity: "error", muted_until };
    const { name, min_severity, muted_until: muted } = await call<typeof change>("PUT", `/alerts/${id}`, change);
    assert.deepEqual({ name, min_severity, muted_until: new Date(muted).toISOString() }, change);
    const { delivered } = await call<{ delivered: boolean }>("POST", `/alerts/${id}/test`);
    assert(delivered, "the receiver of alerts was not called");
    await call("DELETE", `/alerts/${id}`);
    assert.deepEqual(await call("GET", "/alerts"), []);
    await call("PUT", "/webhook", { url: address, enabled: false });
  }

  async #access(): Promise<void> {
    const granted = { name: "mix", permissions: ["logs:read"], expires_on: "2099-12-31T00:00:00Z" };
    const token = await this.#shipper.call<{ id: string; value: string }>("POST", "/tokens", granted);
    const client = new ApiClient(this.#shipper.url, { token: token.value });
    await client.accountLedger();
    await assert.rejects(client.createJob({}), { status: 403 });
    await this.#shipper.call("DELETE", `/tokens/${token.id}`);
    await assert.rejects(client.accountLedger(), { status: 401 });
    const email = `grace-${this.#requests}@example.com`;
    const asked = { email, role: "Log Share Reader" };
    const member = await this.#shipper.call<{ id: string; api_key: string }>("POST", "/members", asked);
    const credentials = { "x-auth-email": email, "x-auth-key": member.api_key };
    const headers = { ...credentials, "content-type": "application/json" };
    const create = async () => (await fetch(`${this.#api.url}/jobs`, { method: "POST", headers, body: "{}" })).status;
    assert.equal(await create(), 403);
    await this.#shipper.call("PUT", `/members/${member.id}`, { role: "Log Share" });
    assert.equal(await create(), 400);
    await this.#shipper.call("DELETE", `/members/${member.id}`);
    assert.equal(await create(), 401);
  }

  /** An upload that its store refuses for now, set aside by hand and sent again. */
  async #setAside(): Promise<void> {
    const known = this.#any(({ kind }) => kind.isBound !== true && kind.name !== STEADY);
    const { job, places } = known;
    await this.#read(known);
    known.keeps = () => true;
    await this.#update(known, { filter: "" });
    const bucket = places.at(-1) ?? places[0];
    this.#store.server.script(bucket, [rule({ do: "answer", status: 503, code: "SlowDown" }, { method: "PUT" })]);
    await this.#post(20);
    await this.#settled();
    await this.#api.flush(job.id);
    const waiting = (await this.#api.objects(job.id)).filter(({ state }) => state === "waiting");
    assert(waiting.length > 0, "no upload waits");
    const ids = waiting.map(({ number }) => `/logship/set-aside/object-${job.id}-${number}`);
    await this.#during(async () => {
      for (const id of ids) await this.#shipper.call("PUT", id);
    });
    const ledger = await this.#api.jobLedger(job.id);
    assert.equal(ledger.set_aside, 20);
    this.#store.server.script(bucket, []);
    for (const id of ids) await this.#shipper.call("POST", `${id}/resend`);
    await this.#read(known);
    const filter = this.#chance.pick(FILTERS);
    await this.#update(known, { filter: filterText(filter) });
    known.keeps = keepsOf(filter);
  }

  /** All that a job has delivered to where it ships now, copied beside it. */
  async #replay(): Promise<void> {
    const known = this.#any(({ kind, places, owed }) => kind.isBound !== true && places.length === 1 && owed > 0);
    const { job, kind, folder } = known;
    await this.#read(known);
    const copy = `copy${this.#requests}`;
    const begun = await this.#api.beginReplay(job.id, {
      since: new Date(Date.now() - 2 * DAY_MS).toISOString(),
      until: new Date(Date.now() + 9 * DAY_MS).toISOString(),
      destination_conf: this.#destination(kind, copy, folder),
    });
    const { state, done } = await until({
      what: `replay ${begun.id} to end`,
      withinMs: SHIPPED_WITHIN_MS,
      look: () => this.#api.replay(job.id, begun.id),
      enough: (replay) => replay.state !== "running" && replay.state !== "waiting",
    });
    assert.deepEqual([state, done.records], ["done", known.owed]);
    await this.#auditPlaces({ ...known, places: [copy] });
  }

  /**
   * What came in this round, once more, with the filter of now. It ends some rounds later.
   * @returns false: no job may have another one.
   */
  async #rerun(since: string): Promise<boolean> {
    const to = await this.#now();
    const begun = (id: number) =>
      this.#begun.filter(({ of, ms }) => of === id && Date.now() - ms < RERUN_OPEN_MS).length;
    const fits = ({ job: { id }, kind }: Known) => kind.isBound !== true && kind.name !== STEADY && begun(id) < 2;
    if (!this.#known.some((each) => each.kind.receiver === undefined && fits(each))) return false;
    const known = this.#any(fits);
    const { job, kind, folder } = known;
    this.#begun.push({ of: job.id, ms: Date.now() });
    const again = `again${this.#requests}`;
    const destination_conf = this.#destination(kind, again, folder);
    let id = "";
    await this.#during(async () => {
      id = (await this.#api.beginRerun(job.id, { since, until: to, destination_conf })).id;
    });
    const kept = this.#round.filter(known.keeps);
    const rerun = { ...known, job: { ...job, id: Number(id.slice(1)) }, places: [again] as [string] };
    this.#oracle.acknowledged(rerun.job.id, kept);
    this.#reruns.push({ of: job.id, id, rerun, records: kept.length });
    return true;
  }

  /** Waits for the reruns of a job, or of all, and audits them. */
  async #endReruns(of?: number): Promise<number> {
    let shipped = 0;
    for (const begun of this.#reruns.filter((each) => of === undefined || each.of === of)) {
      const { done } = await until({
        what: `rerun ${begun.id} to have nothing left`,
        withinMs: SHIPPED_WITHIN_MS,
        look: () => this.#api.replay(begun.of, begun.id),
        enough: ({ planned, left, state }) => state === "done" || (planned.records > 0 && left.records === 0),
      });
      assert.equal(done.records, begun.records, begun.id);
      shipped += await this.#auditPlaces(begun.rerun);
      this.#reruns.splice(this.#reruns.indexOf(begun), 1);
    }
    return shipped;
  }

  /** The oldest job, but for the one that stays. */
  async #remove(): Promise<void> {
    const [known] = this.#known.splice(1, 1);
    assert(known !== undefined);
    await this.#endReruns(known.job.id);
    await drain(this.#api, known.job);
    await this.#audit(known);
    await this.#api.deleteJob(known.job.id);
    this.#gone.push(known);
    this.#count("job deleted");
  }

  /** @returns how many records it has shipped. */
  async #audit(known: Known): Promise<number> {
    const { job, kind, places, received, owed } = known;
    if (kind.receiver !== undefined) {
      const tellsRepeats = kind.receiver === "elastic";
      return (await assertReceived(this.#api, this.#store, places[0], this.#oracle, job, { tellsRepeats })).records;
    }
    const records = await this.#auditPlaces(known);
    const faults = jobLedgerFaults(await this.#api.jobLedger(job.id), { records }, { filtered: received - owed });
    assert.deepEqual(faults, [], `job ${job.id}`);
    return records;
  }

  /** Lost, doubled and misfiled records fail it. */
  async #auditPlaces({ job, kind, folder, places }: Known): Promise<number> {
    if (kind.receiver !== undefined) return 0;
    const stored =
      kind.isBound === true
        ? await this.#shipper.bucket.read(`${places[0]}/`)
        : places.flatMap((place) => this.#store.contents(place));
    // A Buffer's slice() is no copy, and its memory is shared.
    const copied = stored.map(({ key, bytes }) => ({ key, bytes: new Uint8Array(bytes) }));
    const objects = await Promise.all(copied.map(asMember));
    const report = this.#oracle.audit(job.id, objects, { path: kind.path(folder), ...kind.expected?.(this.#oracle) });
    assertClean(report);
    for (const place of places) assert.deepEqual(this.#store.overwritten(place), [], place);
    return report.records;
  }
}

/** What a filter keeps, without the events that come while it changes. */
function keepsOf({ keeps }: Filter): Filter["keeps"] {
  return (event) => event.record.ScriptName !== STEADY && keeps(event);
}
