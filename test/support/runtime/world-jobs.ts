/**
 * The jobs of a world: what each wants, which events it was offered, and whether its buckets and
 * its ledger agree with that.
 */
import { env } from "cloudflare:workers";
import { jobHealth } from "../../../src/ship/reader/all-readers.ts";
import { jobStatus } from "../../../src/ship/reader/job-status.ts";
import { jobObjects } from "../../../src/ship/reader/object-pages.ts";
import type { JobStatus } from "../../../src/ship/reader/statuses.ts";
import { emptyHour, sumOf } from "../../../src/ship/reader/upload-health.ts";
import { assertClean, type Expectation } from "../audit.ts";
import { readSingleMember } from "../gzip-member.ts";
import { type AccountCounts, type Count, jobLedgerFaults, type LeftOut, objectListFaults } from "../ledger-audit.ts";
import type { Minted, Oracle } from "../oracle.ts";
import { asMember } from "../parquet-files.ts";
import type { DialectName } from "../receiver.ts";
import type { BucketControl } from "../s3-control.ts";
import { api, boundConf, createJob, destinationConf } from "./api.ts";
import {
  type Bucket,
  freshDestination,
  received,
  sentOtherwise,
  TELLS_RECORDS,
  TELLS_REQUESTS,
  WHERE,
} from "./destinations.ts";
import { folderOfBucket } from "./r2-over-fetch.ts";

export interface JobOptions {
  /** Fields of the API, without the destination. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** What the filter in `fields` keeps, implemented by the test; by default everything. */
  readonly keeps?: (event: Minted) => boolean;
  /** Only a random share is shipped. */
  readonly samples?: boolean;
  readonly path?: string;
  /** The `destination_conf` of a bucket of the scripted endpoint; by default one of S3. */
  readonly conf?: typeof destinationConf;
  /** Its destination is a receiver that speaks this, instead of a bucket. */
  readonly receiver?: DialectName;
  /** How to read its records, if they are not ndjson with the fields that the oracle reads. */
  readonly audit?: Partial<Expectation>;
}

export interface WorldJob {
  readonly id: number;
  /** The current one is last; the others are earlier destinations. */
  readonly buckets: Bucket[];
  /** Other destinations of objects that were set aside. */
  readonly elsewhere: { readonly bucket: Bucket; readonly receiver: DialectName | null }[];
  readonly path: string;
  readonly conf: typeof destinationConf;
  /** null: its destinations are buckets. */
  readonly receiver: DialectName | null;
  enabled: boolean;
  deleted: boolean;
  /** It was deleted with its undelivered records. */
  discarded: boolean;
  keeps: (event: Minted) => boolean;
  readonly samples: boolean;
  readonly audit: Partial<Expectation>;
  /** What became of its records that are not shipped, without those that the filter drops. */
  leftOut: LeftOut;
  /**
   * Its destination changed while an upload to the old one was uncertain: that object may be in
   * both.
   */
  mayBeInBoth: boolean;
  /**
   * Its receiver tells a repeated request, and no longer can: the records came in other requests
   * than before, or too late.
   */
  cannotTell: boolean;
}

/** In the key of an object that a rerun made. */
const OF_RERUN = /_r\d+\./;

/** What an audit found of a job. */
export interface Audited {
  /** Objects that were read. */
  readonly objects: number;
  /** Records that its receiver has once more than once, each of them accounted for. */
  readonly doubled: number;
}

/** What a job should make of an event. */
interface Offered {
  readonly event: Minted;
  /** Intake acknowledged it while the job was enabled; if not, the job may or may not have it. */
  certain: boolean;
  /** `either`: the filter changed while the event was in flight. */
  verdict: "kept" | "dropped" | "either";
  /** It was taken in before the job was: the account did not count it for that job. */
  isPast?: true;
}

/** A rerun of a job, into the bucket that the job has now. */
export interface WorldRerun {
  /** Of the job that carries it out. */
  readonly id: number;
  readonly job: WorldJob;
}

export class WorldJobs {
  readonly all: WorldJob[] = [];
  readonly reruns: WorldRerun[] = [];
  /** Functions whose logging is off. */
  readonly off = new Set<string>();
  /** The most attempts at a change that is not confirmed. */
  tries = 1;
  /**
   * How long a client waits for an answer that may never come; null: it gives up. By default it
   * waits.
   */
  /** Of jobs whose options name none. */
  conf: typeof destinationConf = destinationConf;
  patience: <T>(answer: Promise<T>) => Promise<T | null> = (answer) => answer;
  readonly #oracle: Oracle;
  /** By job and event id. */
  readonly #offered = new Map<number, Map<string, Offered>>();
  readonly #notEnabled = new Set<string>();

  constructor(oracle: Oracle) {
    this.#oracle = oracle;
  }

  async create(options: JobOptions): Promise<WorldJob> {
    const { fields = {}, keeps = () => true, samples = false, path = WHERE, audit = {}, receiver = null } = options;
    const { conf: ofBucket = this.conf } = options;
    // One bound bucket is many of the endpoint's, by the first folder.
    const whereIn = (bucket: string): string => (ofBucket === boundConf ? `${folderOfBucket(bucket)}/${path}` : path);
    const { bucket, conf } = freshDestination(receiver, whereIn, ofBucket);
    const where = whereIn(bucket.name);
    const id = await this.#create(bucket.name, { destination_conf: conf, ...fields });
    const job: WorldJob = {
      id,
      buckets: [bucket],
      elsewhere: [],
      path: where,
      conf: ofBucket,
      receiver,
      enabled: fields.enabled !== false,
      deleted: false,
      discarded: false,
      keeps,
      samples,
      audit,
      leftOut: {},
      mayBeInBoth: false,
      cannotTell: false,
    };
    this.all.push(job);
    return job;
  }

  /** The kind of the first receiver, or else of the first store. */
  kind(): string {
    const receiver = this.all.find((job) => job.receiver !== null)?.receiver;
    if (receiver !== undefined && receiver !== null) return receiver;
    const [scheme = ""] = (this.all[0]?.conf ?? this.conf)("bucket").split(":");
    return scheme;
  }

  /** Changes a job over the API. @throws if it is refused. */
  async change(job: WorldJob, fields: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#insist("PUT", `/logship/jobs/${job.id}`, fields);
    if (typeof fields.enabled === "boolean") job.enabled = fields.enabled;
  }

  /** Moves a job to a new bucket, or a new receiver. */
  async move(job: WorldJob): Promise<Bucket> {
    const { bucket, conf } = freshDestination(job.receiver, () => job.path, job.conf);
    await this.change(job, { destination_conf: conf });
    job.buckets.push(bucket);
    return bucket;
  }

  /** A new destination for what a job set aside. */
  elsewhere(job: WorldJob, receiver: DialectName | null): Bucket & { conf: string } {
    const { bucket, conf } = freshDestination(receiver, () => job.path);
    job.elsewhere.push({ bucket, receiver });
    return { ...bucket, conf };
  }

  async remove(job: WorldJob, { discard = false } = {}): Promise<void> {
    await this.#insist("DELETE", `/logship/jobs/${job.id}${discard ? "?discard=true" : ""}`);
    job.enabled = false;
    job.deleted = true;
    if (discard) {
      job.discarded = true;
      this.#oracle.forgiven(
        job.id,
        [...this.#offeredTo(job).values()].map(({ event }) => event),
      );
    }
  }

  /**
   * The destination refuses the objects of these events: they stay in the log as set aside, or are
   * discarded.
   */
  setAside(job: WorldJob, events: readonly Minted[], as: "set_aside" | "discarded" = "set_aside"): void {
    this.#oracle.forgiven(job.id, events);
    const before = typeof job.leftOut[as] === "number" ? job.leftOut[as] : 0;
    job.leftOut = { ...job.leftOut, [as]: before + events.length };
  }

  /** The account has set the messages of these aside: no job gets them. */
  withdraw(events: readonly Minted[]): void {
    for (const job of this.all) {
      for (const { id } of events) this.#offeredTo(job).delete(id);
      this.#oracle.forgiven(job.id, events);
    }
  }

  /** Switches a function's logging. */
  async setLogging(scriptName: string, on: boolean): Promise<void> {
    await this.#insist("PATCH", `/functions/scripts/${scriptName}/script-settings`, { logship: on });
    if (on) this.off.delete(scriptName);
    else this.off.add(scriptName);
  }

  /** Runs a job again. @param events that were taken in then, in any order. */
  async rerun(job: WorldJob, sinceMs: number, untilMs: number, events: readonly Minted[]): Promise<WorldRerun> {
    const span = { since: new Date(sinceMs).toISOString(), until: new Date(untilMs).toISOString() };
    for (let left = this.tries; ; left--) {
      const answer = await this.patience(api<{ id: string } | null>("POST", `/logship/jobs/${job.id}/rerun`, span));
      const listed = await api<{ id: string }[]>("GET", `/logship/jobs/${job.id}/replay`);
      // One that was stored and not confirmed is there.
      const id = answer?.body.result?.id ?? listed.body.result?.[0]?.id;
      if (id === undefined && left > 1) continue;
      if (id === undefined) throw new Error(`a rerun: ${answer?.status} ${JSON.stringify(answer?.body.errors)}`);
      const rerun = { id: Number(id.slice(1)), job };
      this.reruns.push(rerun);
      this.#oracle.acknowledged(rerun.id, events.filter(job.keeps));
      return rerun;
    }
  }

  /** It starts in the past, and these were taken in then. */
  owes(job: WorldJob, events: readonly Minted[]): void {
    for (const event of events.filter(({ record }) => !this.off.has(String(record.ScriptName))))
      this.#note(job, { event, certain: true, verdict: job.keeps(event) ? "kept" : "dropped", isPast: true });
  }

  /** Intake has acknowledged these, or may have taken them. */
  taken(events: readonly Minted[], acknowledged: boolean): void {
    const shipping = events.filter((event) => {
      const isOff = this.off.has(String(event.record.ScriptName));
      if (isOff && acknowledged) this.#notEnabled.add(event.id);
      return !isOff;
    });
    for (const job of this.all) {
      if (!job.enabled) continue;
      const offered = this.#offeredTo(job);
      for (const event of shipping) {
        const before = offered.get(event.id);
        const now = job.keeps(event) ? "kept" : "dropped";
        const verdict = before === undefined || before.verdict === now ? now : "either";
        const certain = acknowledged || (before?.certain ?? false);
        this.#note(job, { event, certain, verdict, ...(before?.isPast && { isPast: true }) });
      }
    }
  }

  /** Whether the log may have anything that a job has not read, and so not filtered, yet. */
  async mayHaveUnread(): Promise<boolean> {
    for (const { id, deleted } of this.all) {
      if (deleted) continue;
      const answer = await this.patience(
        api<{ unread: { records: number } | null }>("GET", `/logship/jobs/${id}/ledger`),
      );
      if (answer?.status !== 200 || answer.body.result?.unread?.records !== 0) return true;
    }
    return false;
  }

  /**
   * Changes a job's filter.
   * @param inFlight events that the job may not have filtered yet, by id.
   */
  async refilter(
    job: WorldJob,
    filter: string | null,
    keeps: (event: Minted) => boolean,
    inFlight: ReadonlyMap<string, Minted>,
  ): Promise<void> {
    await this.change(job, { filter: filter ?? "" });
    job.keeps = keeps;
    for (const offered of this.#offeredTo(job).values()) {
      const verdict = keeps(offered.event) ? "kept" : "dropped";
      if (inFlight.has(offered.event.id) && offered.verdict !== verdict) {
        this.#note(job, { ...offered, verdict: "either" });
      }
    }
  }

  /**
   * Creates a job under a unique name, by which a job that was stored and not confirmed is found.
   */
  async #create(name: string, fields: object): Promise<number> {
    for (let left = this.tries; ; left--) {
      try {
        const id = await this.patience(createJob(name, { name, ...fields }));
        if (id !== null) return id;
        if (left <= 1) throw new Error("creating a job: no answer");
      } catch (error) {
        if (left <= 1) throw error;
      }
      const { result } = (await api<{ id: number; name: string }[]>("GET", "/logship/jobs?per_page=100")).body;
      const stored = result?.find((job) => job.name === name);
      if (stored === undefined) continue;
      await this.#insist("PUT", `/logship/jobs/${stored.id}`, { name });
      return stored.id;
    }
  }

  /** Repeats a change until it is confirmed. @throws after too many tries. */
  async #insist(method: string, path: string, body?: object): Promise<void> {
    for (let tries = 1; ; tries++) {
      const answer = await this.patience(api(method, path, body));
      if (answer === null) {
        if (tries < this.tries) continue;
        throw new Error(`${method} ${path}: no answer`);
      }
      // An unconfirmed delete may have succeeded.
      const gone = method === "DELETE" && tries > 1 && answer.status === 404;
      if (answer.status === 200 || gone) return;
      if (answer.status === 503 && tries < this.tries) continue;
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body.errors)}`);
    }
  }

  #note(job: WorldJob, offered: Offered): void {
    const { event, certain, verdict } = offered;
    this.#offeredTo(job).set(event.id, offered);
    if (verdict === "kept" && certain && !job.samples) this.#oracle.acknowledged(job.id, [event]);
    else if (verdict !== "dropped") this.#oracle.forgiven(job.id, [event]);
  }

  #offeredTo(job: WorldJob): Map<string, Offered> {
    const map = this.#offered.get(job.id) ?? new Map<string, Offered>();
    this.#offered.set(job.id, map);
    return map;
  }

  /** @throws Error naming every fault. */
  async audit(job: WorldJob): Promise<Audited> {
    if (job.receiver !== null || job.elsewhere.length > 0) return this.#auditReceived(job);
    const contents = await Promise.all(job.buckets.map(({ control }) => control.contents()));
    const options = { path: job.path, ...job.audit };
    const { entries: listed } = await jobObjects(env, job.id, 0, 100_000);
    // Copies of a replay are in a bucket of their own.
    const entries = listed.filter(({ replay }) => replay === null);
    // Neither canaries nor manifests hold records.
    const there = contents.flat().filter(({ key }) => !/\.canary(?:\.gz)?$|_logship\//.test(key));
    const stored = there.filter(({ key }) => !OF_RERUN.test(key));
    for (const { id, job: of } of this.reruns.filter((each) => each.job === job)) {
      const own = there.filter(({ key }) => key.includes(`_r${id}.`));
      assertClean(this.#oracle.audit(id, await Promise.all(own.map(asMember)), { path: of.path, ...of.audit }));
    }
    const found = job.mayBeInBoth ? distinct(stored) : stored;
    const delivered = new Set(entries.filter(({ state }) => state === "delivered").map(({ key }) => key));
    // A truncated object stays in the store if its job is discarded before the upload is repeated.
    const all = found.filter(({ key, bytes }) => !job.discarded || delivered.has(key) || readSingleMember(bytes).ok);
    const report = this.#oracle.audit(job.id, await Promise.all(all.map(asMember)), options);
    const status = await alive(() => jobStatus(env, job.id));
    const faults: string[] = [];
    if (status !== null) {
      const { counts } = status;
      // An upload that is aborted when its job is discarded counts as discarded, whether the store
      // has the object or not.
      const records = job.discarded
        ? Math.min(Math.max(report.records - counts.discarded, counts.delivered), report.records)
        : report.records;
      faults.push(...jobLedgerFaults(counts, { records }, this.#leftOut(job)));
      const exact = !job.mayBeInBoth && !job.discarded;
      if (exact) faults.push(...objectListFaults(entries, all));
      faults.push(...(await this.#healthFaults(job, status)));
    } else if (!job.deleted) faults.push("it has no log");
    try {
      assertClean(report);
    } catch (error) {
      faults.push((error as Error).message);
    }
    for (const { control } of job.buckets) faults.push(...(await sentOtherwise(control)));
    if (faults.length > 0) throw new Error(`job ${job.id}: ${faults.join("\n")}`);
    return { objects: report.objects, doubled: 0 };
  }

  /**
   * The same of a job with a destination that is a receiver, or of an object of its own. A record
   * may be there twice where the ledger counts it as sent again in doubt, and never where its only
   * receiver tells repeats.
   */
  async #auditReceived(job: WorldJob): Promise<Audited> {
    const places = [...job.buckets.map((bucket) => ({ bucket, receiver: job.receiver })), ...job.elsewhere];
    const stored = (
      await Promise.all(places.map(({ bucket, receiver }) => (receiver === null ? unpacked : received)(bucket.control)))
    ).flat();
    const report = this.#oracle.audit(job.id, stored, { ...job.audit, areBodies: true });
    const twice = report.duplicated.reduce((sum, { keys }) => sum + keys.length - 1, 0);
    const once = report.records - twice;
    const faults: string[] = [];
    const status = await alive(() => jobStatus(env, job.id));
    if (status !== null) {
      const { counts, resentInDoubt = 0 } = status;
      const records = job.discarded ? Math.min(Math.max(once - counts.discarded, counts.delivered), once) : once;
      faults.push(...jobLedgerFaults(counts, { records }, this.#leftOut(job)));
      const tells = places.every(
        ({ receiver }) =>
          receiver !== null && (TELLS_RECORDS.has(receiver) || (TELLS_REQUESTS.has(receiver) && !job.cannotTell)),
      );
      const most = job.mayBeInBoth ? Number.POSITIVE_INFINITY : tells ? 0 : resentInDoubt;
      if (twice > most) faults.push(`${twice} records are there again, and ${most} are accounted for`);
      const { entries } = await jobObjects(env, job.id, 0, 100_000);
      const listed = entries
        .filter(({ state }) => state === "delivered")
        .reduce((sum, entry) => sum + entry.records, 0);
      if (listed !== counts.delivered) faults.push(`its list has ${listed} delivered, its ledger ${counts.delivered}`);
      faults.push(...(await this.#healthFaults(job, status)));
    } else if (!job.deleted) faults.push("it has no log");
    try {
      assertClean({ ...report, duplicated: [] });
    } catch (error) {
      faults.push((error as Error).message);
    }
    // Loki is asked for halves of a body that it took a part of: it tells entries, and no requests.
    for (const { bucket } of places.filter(({ receiver }) => receiver !== "loki"))
      faults.push(...(await sentOtherwise(bucket.control)));
    if (faults.length > 0) throw new Error(`job ${job.id}: ${faults.join("\n")}`);
    return { objects: report.objects, doubled: twice };
  }

  /**
   * The hourly delivery counts must agree with the ledger: no world lasts longer than the hours are
   * kept.
   */
  async #healthFaults(job: WorldJob, { counts, deliveredBytes, deliveredRawBytes }: JobStatus): Promise<string[]> {
    const hours = await alive(() => jobHealth(env, job.id, 0, Number.MAX_SAFE_INTEGER));
    const sum = hours.reduce(sumOf, emptyHour(0));
    const faults: string[] = [];
    const said = [sum.records, sum.bytes, sum.rawBytes];
    const known = [counts.delivered, deliveredBytes, deliveredRawBytes];
    if (said.join() !== known.join()) faults.push(`its hours add up to ${said}, and its ledger says ${known}`);
    const causes = Object.values(sum.causes).reduce((total, count) => total + count, 0);
    if (causes !== sum.retried + sum.failed) faults.push("its hours have other causes than failures");
    return faults;
  }

  /** What is wrong with the balance of the job's ledger now, in words. */
  async imbalance(job: WorldJob): Promise<string[]> {
    const status = await alive(() => jobStatus(env, job.id));
    if (status === null) return [];
    const { received, ...parts } = status.counts;
    const sum = Object.values(parts).reduce((total, count) => total + count, 0);
    return received === sum ? [] : [`job ${job.id} has received ${received}, but they add up to ${sum}`];
  }

  /**
   * What the account's ledger must show.
   * @param accepted events that were acknowledged.
   * @param unsure events with a failed attempt: the ledger keeps what it counted of their first
   * copy.
   */
  accountExpectation(
    accepted: ReadonlyMap<string, Minted>,
    unsure: ReadonlyMap<string, Minted>,
  ): { [name in keyof AccountCounts]?: Count } {
    const doubtful = [...unsure.keys()].filter((id) => !accepted.has(id)).length;
    const certain = new Set<string>();
    const possible = new Set<string>();
    for (const job of this.all) {
      for (const [id, offered] of this.#offeredTo(job)) {
        if (offered.isPast) continue;
        possible.add(id);
        // Events of a discarded job may never have been offered to it.
        if (offered.certain && !unsure.has(id) && !job.discarded) certain.add(id);
      }
    }
    const off = [...this.#notEnabled];
    const surelyOff = off.filter((id) => !unsure.has(id)).length;
    return {
      processed: between(accepted.size, doubtful),
      routed: between(certain.size, possible.size - certain.size),
      not_enabled: between(surelyOff, off.length - surelyOff + unsure.size),
      set_aside: 0,
    };
  }

  /** Of these, how many were certainly taken in while the logging of their function was on. */
  enabledOf(events: readonly Minted[]): { certain: number; possible: number } {
    const on = events.filter(({ id }) => !this.#notEnabled.has(id));
    return { certain: on.length, possible: this.#notEnabled.size === 0 ? on.length : events.length };
  }

  #leftOut(job: WorldJob): LeftOut {
    const offered = [...this.#offeredTo(job).values()];
    const dropped = offered.filter(({ certain, verdict }) => certain && verdict === "dropped").length;
    const doubtful = offered.filter(
      ({ certain, verdict }) => verdict === "either" || (!certain && verdict === "dropped"),
    );
    const filtered = job.discarded ? between(0, offered.length) : between(dropped, doubtful.length);
    const sampled = job.samples ? between(0, offered.length) : 0;
    const discarded = job.discarded ? between(0, offered.length) : 0;
    return { filtered, sampled_out: sampled, discarded, ...job.leftOut };
  }
}

/** The objects of a store, as what a receiver kept. */
async function unpacked(control: BucketControl): Promise<{ key: string; bytes: Uint8Array }[]> {
  return (await control.contents()).flatMap(({ key, bytes }) => {
    if (!key.endsWith(".log.gz")) return [];
    const member = readSingleMember(bytes);
    if (!member.ok) throw new Error(`${key}: ${member.reason}`);
    return { key, bytes: member.raw };
  });
}

function distinct<T extends { readonly key: string }>(objects: readonly T[]): T[] {
  return [...new Map(objects.map((object) => [object.key, object])).values()];
}

function between(certain: number, doubtful: number): Count {
  return doubtful === 0 ? certain : { atLeast: certain, atMost: certain + doubtful };
}

/**
 * Repeats a call to an object that may be dying of an earlier one. A call after its death gets a
 * new object.
 */
export async function alive<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries === 20) throw error;
      // Readers that ask at the same time may be what it dies of.
      await scheduler.wait(tries);
    }
  }
}
