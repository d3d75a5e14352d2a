import { ACCESS_KEY, SECRET_KEY } from "../support/constants.ts";
import type { Book, Change, Copy, Filter, Job, Sent } from "./book.ts";
import { checkComplete } from "./oracle.ts";
import type { World } from "./world.ts";

export const FUNCTIONS = ["shop", "cart", "mail"] as const;

/** How long a change is repeated until it is confirmed. */
const TRIES = 8;

/** How long an isolate may gather what `tail()` has brought, in ms. */
const GATHER_MS = 30_000;

const FORMATS = [
  { field_names: ["EventTimestampMs", "Logs", "ScriptName"] },
  { field_names: ["EventTimestampMs", "Logs", "Outcome"] },
  { output_type: "ndjson" },
];

function confOf(bucket: string): string {
  const endpoint = encodeURIComponent("http://127.0.0.1:9000");
  return `s3://${bucket}/logs/{DATE}?region=auto&endpoint=${endpoint}&access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`;
}

function filterText(filter: Filter): string {
  return filter === null ? "" : JSON.stringify({ where: { key: "ScriptName", operator: "eq", value: filter } });
}

/** A client that sends events and changes jobs. Notes in the book what may be relied on. */
export class Client {
  readonly #world: World;
  readonly #book: Book;
  #next = 1;

  constructor(world: World, book: Book) {
    this.#world = world;
    this.#book = book;
  }
  get #random() {
    return this.#world.scheduler.random;
  }
  #now(): number {
    return this.#world.scheduler.nowMs;
  }
  #sleep(ms: number): Promise<void> {
    return this.#world.scheduler.sleep(ms);
  }

  mint(count: number, isTraced: boolean, atMs = this.#now()): Sent[] {
    return Array.from({ length: count }, () => {
      const [id, fn] = [`e${this.#next++}`, this.#random.pick(FUNCTIONS)];
      const at = atMs - this.#random.below(1_000);
      const event = isTraced ? traceItem(id, fn, at) : record(id, fn, at);
      const sent: Sent = { id, fn, event, copies: [], isTraced };
      this.#book.sent.set(id, sent);
      return sent;
    });
  }

  /** Posts events; with a key again, until they are taken, and maybe once more. */
  async post(events: readonly Sent[], key: string | null): Promise<void> {
    const { scheduler } = this.#world;
    for (let tries = 0; tries < 4; tries++) {
      const { hasFaults } = scheduler;
      const copy: Copy = { fromMs: this.#now(), toMs: Number.POSITIVE_INFINITY, isAcked: false };
      for (const { copies } of events) copies.push(copy);
      const answer = await this.#world.request(
        "POST",
        "/logship/datasets/functions_trace_events/events",
        events.map(({ event }) => event),
        key === null ? {} : { "idempotency-key": key },
      );
      copy.isAcked = answer?.status === 202;
      // Without an answer, it may still be under way.
      copy.toMs = this.#now() + (copy.isAcked ? 0 : 120_000);
      if (key === null || (copy.isAcked && this.#random.chance(0.7))) return;
      if (!copy.isAcked && !hasFaults && tries > 0) throw new Error(`a POST: ${JSON.stringify(answer)}`);
      await this.#sleep(this.#random.below(20_000));
    }
  }

  /** Trace items of some invocations of one isolate. */
  async tail(events: readonly Sent[]): Promise<void> {
    const isolate = this.#world.isolate();
    const copy: Copy = { fromMs: this.#now(), toMs: this.#now() + GATHER_MS, isAcked: false };
    for (const { copies } of events) copies.push(copy);
    const isWell = await this.#world.tail(
      isolate,
      events.map(({ event }) => event),
    );
    await this.#sleep(GATHER_MS);
    // What it had gathered dies with the isolate.
    copy.isAcked = isWell && isolate.isAlive;
  }

  /** @param mayBePast it may start in the past. */
  async createJob(mayBePast = false): Promise<void> {
    const name = `job${this.#book.jobs.length + 1}`;
    const bucket = `${name}-a`;
    const filter: Filter = this.#random.chance(0.3) ? this.#random.pick(FUNCTIONS) : null;
    const askedMs = this.#now();
    const isPast = mayBePast && this.#random.chance(0.7);
    const fromMs = isPast ? askedMs - this.#random.below(300_000) : askedMs;
    const made = { fromMs, untilMs: Number.POSITIVE_INFINITY };
    const job: Job = {
      ...{ name, id: null, buckets: [bucket], isDeleted: false, isDiscarded: false, isBusy: true },
      ...{ isRestored: false, lost: new Set(), completeMs: 0, reruns: [] },
      since: isPast ? { fromMs, askedMs } : null,
      enabled: [
        { to: false, fromMs: 0, untilMs: 0 },
        { ...made, to: true },
      ],
      filters: [{ fromMs: askedMs, untilMs: Number.POSITIVE_INFINITY, to: filter }],
    };
    this.#book.jobs.push(job);
    const seconds = this.#random.pick([30, 30, 60, 300]);
    const body = {
      name,
      enabled: true,
      destination_conf: confOf(bucket),
      filter: filterText(filter),
      max_upload_interval_seconds: seconds,
      ...(isPast && { since: new Date(fromMs).toISOString() }),
      ...(this.#random.chance(0.3) && { output_options: this.#random.pick(FORMATS) }),
    };
    const answer = await this.#world.request("POST", "/logship/jobs", body);
    if (answer?.status === 201) job.id = (answer.body.result as { id: number }).id;
    for (let tries = 0; tries < TRIES && job.id === null; tries++) {
      await this.#sleep(1_000 * 2 ** tries);
      const listed = await this.#world.request("GET", "/logship/jobs?per_page=100");
      const found = (listed?.body.result as { id: number; name: string }[] | undefined)?.find(
        (each) => each.name === name,
      );
      if (found === undefined) continue;
      const confirmed = await this.#world.request("PUT", `/logship/jobs/${found.id}`, { name });
      if (confirmed?.status === 200) job.id = found.id;
    }
    if (job.id !== null)
      for (const list of [job.enabled, job.filters]) this.#book.answered(list.at(-1) as Change<unknown>, this.#now());
    // What was taken in since then is promised with the answer.
    const enabled = job.enabled.at(-1) as Change<boolean>;
    if (isPast && enabled.untilMs < Number.POSITIVE_INFINITY) enabled.untilMs = fromMs;
    job.isBusy = false;
  }

  /** Ships the last minutes of a job again. */
  async rerun(): Promise<void> {
    const job = this.#idle();
    if (job === null) return;
    job.isBusy = true;
    const fromMs = this.#now();
    const [sinceMs, untilMs] = [fromMs - 1_000 - this.#random.below(300_000), fromMs - this.#random.below(1_000)];
    const span = { since: new Date(sinceMs).toISOString(), until: new Date(untilMs).toISOString() };
    const answer = await this.#world.request("POST", `/logship/jobs/${job.id}/rerun`, span);
    const { id: name } = (answer?.status === 202 ? answer.body.result : {}) as { id?: string };
    if (name !== undefined) job.reruns.push({ name, sinceMs, untilMs, asked: { fromMs, untilMs: this.#now() } });
    job.isBusy = false;
  }

  /** A job that is known, and that no other change is made to at this time. */
  #idle(): Job | null {
    const idle = this.#book.jobs.filter(({ id, isBusy, isDeleted }) => id !== null && !isBusy && !isDeleted);
    return idle.length === 0 ? null : this.#random.pick(idle);
  }

  async changeJob(): Promise<void> {
    const job = this.#idle();
    if (job === null) return;
    const dice = this.#random.next();
    if (dice < 0.35) {
      const to = !(job.enabled.at(-1) as Change<boolean>).to;
      await this.#change(job, { enabled: to }, job.enabled, to);
    } else if (dice < 0.55) {
      const to: Filter = this.#random.chance(0.5) ? this.#random.pick(FUNCTIONS) : null;
      await this.#change(job, { filter: filterText(to) }, job.filters, to);
    } else if (dice < 0.8) await this.#change(job, { output_options: this.#random.pick(FORMATS) });
    else if (dice < 0.9) {
      job.buckets.push(`${job.name}-${String.fromCharCode(97 + job.buckets.length)}`);
      await this.#change(job, { destination_conf: confOf(job.buckets.at(-1) as string) });
    } else await this.#change(job, { max_upload_interval_seconds: this.#random.pick([30, 60, 300]) });
  }

  async #change<T>(job: Job, fields: object, list: Change<T>[] = [], to?: T): Promise<void> {
    const change = { to: to as T, fromMs: this.#now(), untilMs: Number.POSITIVE_INFINITY };
    list.push(change);
    job.isBusy = true;
    const isDone = await this.#insist("PUT", `/logship/jobs/${job.id}`, fields);
    if (isDone) this.#book.answered(change, this.#now());
    job.isBusy = false;
  }

  async deleteJob(discard: boolean): Promise<void> {
    const job = this.#idle();
    if (job === null) return;
    job.isBusy = true;
    job.isDeleted = true;
    job.isDiscarded = discard;
    const change = { to: false, fromMs: this.#now(), untilMs: Number.POSITIVE_INFINITY };
    job.enabled.push(change);
    const path = `/logship/jobs/${job.id}${discard ? "?discard=true" : ""}`;
    if (await this.#insist("DELETE", path, undefined, [200, 404])) this.#book.answered(change, this.#now());
    job.isBusy = false;
  }

  async switchLogging(): Promise<void> {
    const fn = this.#random.pick(FUNCTIONS);
    const changes = this.#book.logging.get(fn) ?? [{ to: true, fromMs: 0, untilMs: 0 }];
    this.#book.logging.set(fn, changes);
    const last = changes.at(-1) as Change<boolean>;
    // One at a time.
    if (last.untilMs > this.#now()) return;
    const change = { to: !last.to, fromMs: this.#now(), untilMs: Number.POSITIVE_INFINITY };
    changes.push(change);
    const path = `/functions/scripts/${fn}/script-settings`;
    if (await this.#insist("PATCH", path, { logship: change.to })) this.#book.answered(change, this.#now());
  }

  /** Repeats a change until it is confirmed. */
  async #insist(method: string, path: string, body?: object, good: readonly number[] = [200]): Promise<boolean> {
    for (let tries = 0; tries < TRIES; tries++) {
      const answer = await this.#world.request(method, path, body);
      if (answer !== null && good.includes(answer.status) && (answer.status !== 404 || tries > 0)) return true;
      if (
        answer !== null &&
        answer.status < 500 &&
        answer.status !== 409 &&
        answer.status !== 404 &&
        answer.status !== 400
      )
        throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body.errors)}`);
      await this.#sleep(1_000 * 2 ** tries);
    }
    return false;
  }

  /** Asks up to when a job is complete, and compares that with its buckets. */
  async askComplete(): Promise<void> {
    const job = this.#idle();
    if (job === null) return;
    const answer = await this.#world.request("GET", `/logship/jobs/${job.id}`);
    if (answer?.status !== 200) return;
    const { last_complete } = answer.body.result as { last_complete: string | null };
    // Without an answer of all that it depends on, none is given.
    if (last_complete !== null) checkComplete(this.#world, this.#book, job, Date.parse(last_complete));
  }

  /** Sends again what is set aside. @returns how much there is; null: unknown. */
  async resend(): Promise<number | null> {
    const listed = await this.#world.request("GET", "/logship/set-aside?per_page=50");
    const all = listed?.status === 200 ? (listed.body.result as { id: string }[]) : null;
    for (const { id } of all ?? []) await this.#world.request("POST", `/logship/set-aside/${id}/resend`);
    return all?.length ?? null;
  }
}

function record(id: string, fn: string, at: number): Record<string, unknown> {
  return {
    Event: { Request: { URL: `https://shop.example/${id}`, Method: "GET" }, Response: { Status: 200 } },
    EventTimestampMs: at,
    EventType: "fetch",
    Exceptions: [],
    Logs: [{ Level: "log", Message: [id], TimestampMs: at }],
    Outcome: "ok",
    ScriptName: fn,
  };
}

function traceItem(id: string, fn: string, at: number): Record<string, unknown> {
  return {
    ...{ cpuTime: 3, wallTime: 7, truncated: false, outcome: "ok", scriptName: fn, eventTimestamp: at },
    ...{ diagnosticsChannelEvents: [], exceptions: [] },
    logs: [{ level: "log", message: [id], timestamp: at }],
    event: { request: { url: `https://shop.example/${id}`, method: "GET", headers: {} }, response: { status: 200 } },
  };
}
