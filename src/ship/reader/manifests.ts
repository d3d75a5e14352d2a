import { createHash } from "node:crypto";
import { utf8Length } from "../../base/bytes.ts";
import { MANIFEST_AGAIN_MS, MANIFEST_MAX_BYTES, MANIFEST_QUIET_MS, OBJECT_HISTORY_MS } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { platform } from "../../base/platform.ts";
import { dayOf } from "../../base/time.ts";
import {
  encodeManifest,
  type ListedObject,
  type ListedSketch,
  MANIFEST_TYPE,
  type Manifest,
} from "../../formats/manifest/manifest.ts";
import { manifestKey, manifestName, placeMark, rootOf } from "../../formats/manifest/place.ts";
import type { Signer } from "../../formats/manifest/signing.ts";
import { dayStamp, readTemplate } from "../../formats/object/keys.ts";
import type { SketchStore } from "../../formats/sketch/sketch-store.ts";
import type { Destination, FixedObject, Parsed, WriteOutcome } from "../destinations/destination.ts";
import { openDestination, termsOf } from "../destinations/kinds.ts";
import type { JobConfig } from "../job/config.ts";
import { placeOf } from "../log/nodes.ts";
import { added } from "../log/sums.ts";
import type { Delivered, NodeDeliveries, Wanted } from "./deliveries.ts";
import { waitAfter } from "./disposition.ts";
import { type ChainRow, type ManifestRow, ManifestRows } from "./manifest-rows.ts";
import type { ReaderState } from "./reader-state.ts";
import type { ManifestDays, ManifestStatus } from "./statuses.ts";
import { storeSketches, thereOf } from "./stored-sketches.ts";

/** A node, and what it says. */
export interface LookedNode extends NodeDeliveries {
  node: number;
}

/** What they need of the reader that they are part of. */
export interface ManifestHost {
  /** Whether manifests are to be signed. */
  isOn(): boolean;
  /** null: they are not. */
  signer(): Promise<Signer | null>;
  /** Of the whole job. */
  identity(jobId: number): string;
  open(job: JobConfig): Parsed<Destination>;
  /** Asks every node of the job, in order. @throws if one does not answer. */
  look(jobId: number, wanted: (node: number) => Wanted): Promise<LookedNode[]>;
  page(jobId: number, node: number, wanted: Wanted, day: number): Promise<Delivered[]>;
  sketches(jobId: number, node: number, day: number): DurableObjectStub<SketchStore>;
  /** A transaction, after which the alarm is set for what comes next. */
  commit(change: () => void): void;
}

/** Manifests that are written in one go; the next alarm, or the cron, goes on. */
const AT_ONCE = 50;

/** Without anything to list, it is looked again after this long, in ms. */
const LOOK_AGAIN_MS = 240_000;

/** After so many failures a manifest names the sketches that are there, and no more are brought. */
const SKETCH_TRIES = 20;

/** After a failure of a part of the service, and where every key is taken. */
const AGAIN_MS = 60_000;

/**
 * Part of the first node of a job: signed manifests of what all nodes have delivered to a store, a
 * day each, chained in the order of writing. A manifest is fixed before it is first sent, and the
 * chain goes on when it is known to be there. Nothing of it changes the state of uploads.
 * docs/reading.md
 */
export class Manifests {
  readonly #rows: ManifestRows;
  readonly #state: ReaderState;
  readonly #host: ManifestHost;
  /** When this instance last found nothing to do, in ms. */
  #idleMs = Number.NEGATIVE_INFINITY;
  /** What is under way in this instance. Public for the tests, which wait for it. */
  running: Promise<void> | null = null;

  constructor(ctx: DurableObjectState, state: ReaderState, host: ManifestHost) {
    this.#rows = new ManifestRows(ctx.storage.sql);
    this.#state = state;
    this.#host = host;
  }

  /** The job has another destination. Belongs into the transaction of its caller. */
  moved({ destinationVersion }: JobConfig): void {
    this.#rows.moved(destinationVersion);
  }

  /** Whether a job's destination takes manifests; true where that is unknown. */
  mayList(job: JobConfig): boolean {
    const opened = this.#host.open(job);
    if (!opened.ok) return true;
    const { repeats, isReadable } = termsOf(opened.value);
    return repeats.once && isReadable;
  }

  /** null: none was ever begun. */
  status(): ManifestStatus | null {
    return this.#rows.status();
  }

  /** How many manifests each of these days has; null: none was ever begun. */
  days(from: number, to: number): ManifestDays | null {
    return this.#rows.days(from, to);
  }

  /** When one that waits is to be tried again, in ms since the epoch. The cron begins others. */
  nextMs(nowMs: number): number {
    if (this.running !== null || !this.#isHere()) return Number.POSITIVE_INFINITY;
    const chain = this.#rows.chain();
    if (chain === null || (chain.open_day === null && !this.#rows.isWaiting())) return Number.POSITIVE_INFINITY;
    return Math.min(chain.next_ms, nowMs + MANIFEST_AGAIN_MS);
  }

  /**
   * Begins what is due. @returns its end, for `waitUntil`; it never rejects. null: nothing is due,
   * or it is under way.
   */
  begin(nowMs: number): Promise<void> | null {
    if (this.running !== null || !this.#isHere()) return null;
    const chain = this.#rows.chain();
    const isBegun = chain !== null && (chain.open_day !== null || this.#rows.isWaiting());
    if (!isBegun && nowMs - this.#idleMs < LOOK_AGAIN_MS && nowMs >= this.#idleMs) return null;
    // A time far ahead was set by a wrong clock.
    if (chain !== null && chain.next_ms > nowMs && chain.next_ms <= nowMs + 2 * MANIFEST_AGAIN_MS) return null;
    this.running = this.#run();
    return this.running;
  }

  #isHere(): boolean {
    return this.#host.isOn() && this.#state.row()?.node === 0 && this.#state.isReadable();
  }

  async #run(): Promise<void> {
    try {
      const signer = await this.#host.signer();
      let steps = signer === null ? AT_ONCE : 0;
      for (; signer !== null && steps < AT_ONCE && (await this.step(signer)); steps++);
      if (steps < AT_ONCE) this.#idleMs = platform.now();
    } catch (error) {
      this.#broke(error);
    }
    this.running = null;
    try {
      // The alarm is set for what waits.
      this.#host.commit(() => {});
    } catch (error) {
      this.#broke(error);
    }
  }

  #broke(error: unknown): void {
    const job = this.#state.job()?.id;
    log.error("manifests broke", { durable_object: "JobReader", job, error: errorText(error) });
    const now = platform.now();
    try {
      this.#host.commit(() =>
        this.#rows.failed("internal error: a part of the service does not answer", now + AGAIN_MS, now),
      );
    } catch {
      // Nothing has changed: it is still due.
    }
  }

  /**
   * One step: begins to list, fixes a manifest, or writes the one that waits. Public for the tests.
   * @returns whether another may follow at once.
   */
  async step(signer: Signer): Promise<boolean> {
    const job = this.#state.readableJob();
    const opened = this.#host.open(job);
    const waiting = this.#rows.waiting();
    if (!opened.ok) {
      const now = platform.now();
      if (this.#rows.chain() !== null)
        this.#host.commit(() => this.#rows.failed(opened.why, now + MANIFEST_AGAIN_MS, now));
      return false;
    }
    if (!this.mayList(job)) {
      // The job has moved to a receiver: what was being listed waits until it comes back.
      this.#host.commit(() => this.#rows.rest(platform.now() + MANIFEST_AGAIN_MS));
      return false;
    }
    const root = rootOf(readTemplate(job.path));
    const place = placeMark(opened.value, root);
    if (waiting === null) return this.#list(signer, job, root, place, opened.value);
    if (waiting.place === place) return this.#write(waiting, opened.value, job);
    // The endpoint is another one: what waits is for the one before.
    this.#host.commit(() => this.#rows.moved(job.destinationVersion));
    return true;
  }

  /** Fixes the next manifest, if there is anything to list. */
  async #list(signer: Signer, job: JobConfig, root: string, place: string, to: Destination): Promise<boolean> {
    const now = platform.now();
    const begunDay = dayOf(now - OBJECT_HISTORY_MS) + 2;
    const chain = this.#rows.chain();
    if (chain === null) {
      this.#host.commit(() => this.#rows.begin(job.destinationVersion, place, begunDay));
      return true;
    }
    if (chain.open_day === null) return this.#beginListing(chain, job, now);
    const looked = await this.#host.look(job.id, (node) => this.#rows.wanted(node, chain));
    const lastDay = job.deletedMs === null ? Number.POSITIVE_INFINITY : dayOf(job.deletedMs);
    const days = looked.flatMap(({ firstDay }) => firstDay ?? []);
    const day = Math.min(...days, this.#rows.emptyDay(chain, lastDay) ?? Number.POSITIVE_INFINITY);
    if (!Number.isFinite(day)) {
      this.#host.commit(() => this.#rows.endListing());
      return false;
    }
    const found = await this.#objectsOf(day, looked, chain, job);
    const sketches = await this.#sketchesOf(found, { day, job, root, place, chain }, to);
    if (sketches === null) return false;
    const manifest = this.#manifest(found, sketches, { day, job, root, place, chain, looked, nowMs: now });
    const body = await encodeManifest(manifest, signer);
    const hash = (name: string): string => createHash(name).update(body).digest("hex");
    const row = {
      day,
      number: manifest.number,
      place,
      key: manifestKey(root, job.id, manifestName(day, manifest.number)),
      sha256: hash("sha256"),
      md5: hash("md5"),
      records: manifest.sums.records,
      at_node: found.at.node,
      at_delivery: found.at.delivery,
      counts: JSON.stringify(found.counts),
    };
    // The job may have moved meanwhile.
    const isStill = this.#rows.chain()?.since_version === chain.since_version && !this.#rows.isWaiting();
    if (isStill) this.#host.commit(() => this.#rows.keep(row, body));
    return true;
  }

  async #beginListing(chain: ChainRow, { id }: JobConfig, now: number): Promise<boolean> {
    const openDay = Math.max(dayOf(now - MANIFEST_QUIET_MS), chain.listed_open_day ?? 0);
    const isOver = chain.listed_open_day === null || openDay > chain.listed_open_day;
    if (!isOver && now < chain.begun_ms + MANIFEST_AGAIN_MS && now >= chain.begun_ms) return false;
    const looked = await this.#host.look(id, (node) => this.#rows.wanted(node, chain, openDay));
    if (!isOver && looked.every(({ firstDay }) => firstDay === null)) return false;
    this.#host.commit(() => this.#rows.beginListing(openDay, looked, now));
    return true;
  }

  /** As many of a day's objects as a manifest takes, node by node. */
  async #objectsOf(day: number, looked: readonly LookedNode[], chain: ChainRow, job: JobConfig): Promise<Found> {
    const found: Found = { objects: [], counts: {}, at: { node: 0, delivery: 0 } };
    let bytes = 0;
    for (const { node } of looked.filter(({ firstDay }) => firstDay === day)) {
      const wanted = this.#rows.wanted(node, chain);
      for (;;) {
        const page = await this.#host.page(job.id, node, wanted, day);
        for (const delivered of page) {
          const object = listed(delivered, node, chain.since_version);
          bytes += utf8Length(JSON.stringify(object)) + 1;
          if (bytes > MANIFEST_MAX_BYTES && found.objects.length > 0) return found;
          found.objects.push(object);
          found.counts[node] = (found.counts[node] ?? 0) + 1;
          found.at = { node, delivery: delivered.delivery };
        }
        const last = page.at(-1);
        if (last === undefined) break;
        wanted.after = { day, delivery: last.delivery };
      }
    }
    return found;
  }

  /**
   * The sketches of these objects, in the bucket as well. @returns null: one is not, and is tried
   * again.
   */
  async #sketchesOf(
    { counts }: Found,
    { day, job, root, place, chain }: Omit<About, "looked" | "nowMs">,
    to: Destination,
  ): Promise<ListedSketch[] | null> {
    const isLast = chain.tries >= SKETCH_TRIES;
    const store = openDestination(to, platform);
    const options = { doubtful: chain.tries > 0, leaveOut: this.#state.leftOut() };
    const listed: ListedSketch[] = [];
    for (const node of Object.keys(counts).map(Number)) {
      const where = { root, place, job: job.id, node, day };
      const sketches = this.#host.sketches(job.id, node, day);
      const stored = await (isLast ? thereOf(sketches, where) : storeSketches(sketches, store, where, options));
      if (!Array.isArray(stored)) {
        const now = platform.now();
        const { delayMs } = waitAfter(stored, chain.tries + 1, platform.random());
        this.#host.commit(() => this.#rows.failed(stored.words, now + delayMs, now));
        return null;
      }
      listed.push(...stored);
    }
    return listed;
  }

  #manifest(
    { objects, counts }: Found,
    sketches: ListedSketch[],
    { day, job, root, place, chain, looked, nowMs }: About,
  ): Manifest {
    const isFirst = chain.place !== place || chain.last_name === null || chain.last_sha256 === null;
    const previous = isFirst ? null : { name: chain.last_name ?? "", sha256: chain.last_sha256 ?? "" };
    const id = createHash("sha256")
      .update(`${this.#host.identity(job.id)} ${chain.since_version} ${place}`)
      .digest("hex");
    const sum = (of: "records" | "bytes"): number => objects.reduce((all, object) => all + object[of], 0);
    return {
      type: MANIFEST_TYPE,
      version: 1,
      job: job.id,
      day: dayStamp(day),
      number: this.#rows.nextNumber(day),
      chain: { id: id.slice(0, 16), position: isFirst ? 1 : chain.position + 1, previous },
      written: new Date(nowMs).toISOString(),
      root,
      path: job.path,
      covers_from: dayStamp(chain.begun_day),
      open_from: dayStamp(chain.open_day ?? 0),
      ...(job.deletedMs !== null && { deleted: dayStamp(dayOf(job.deletedMs)) }),
      objects,
      ...(sketches.length > 0 && { sketches }),
      sums: { objects: objects.length, records: sum("records"), bytes: sum("bytes") },
      deliveries: looked.map(({ node }) => {
        const { delivered, count } = this.#rows.countOf(node);
        return { ...placeOf(node), delivered, listed: count + (counts[node] ?? 0) };
      }),
      ledger: looked.map((node) => node.counts).reduce(added) as unknown as Record<string, number>,
    };
  }

  async #write(waiting: ManifestRow, destination: Destination, job: JobConfig): Promise<boolean> {
    const chain = this.#rows.chain();
    if (chain === null) return false;
    const { key, sha256, md5, records } = waiting;
    const body = new Uint8Array(waiting.body);
    const bytes = body.length;
    const object: FixedObject = { key, bytes, sha256, md5, records, rawBytes: bytes, contentType: "application/json" };
    const startedMs = platform.now();
    const outcome = await openDestination(destination, platform).write(object, () => body.slice(), {
      doubtful: chain.tries > 0,
      leaveOut: this.#state.leftOut(),
    });
    return this.settle(waiting, outcome, job, startedMs);
  }

  /** What follows from an attempt. Public for the tests, which break it. */
  settle(waiting: ManifestRow, outcome: WriteOutcome, job: JobConfig, startedMs: number): boolean {
    const now = platform.now();
    const chain = this.#rows.chain();
    if (chain === null) return false;
    const why = this.#conclude(waiting, outcome, chain, job, now);
    log[why === null ? "info" : "warn"]("manifest", {
      job: job.id,
      key: waiting.key,
      outcome: why === null ? "written" : outcome.kind === "key_taken" ? "key_taken" : "retry",
      attempt: chain.tries + 1,
      ms: now - startedMs,
      ...(why !== null && { why }),
    });
    return why === null || (outcome.kind === "key_taken" && chain.tries === 0);
  }

  /** @returns what is wrong; null: it is written. */
  #conclude(waiting: ManifestRow, outcome: WriteOutcome, chain: ChainRow, job: JobConfig, now: number): string | null {
    const learned = "leaveOut" in outcome ? outcome.leaveOut : undefined;
    const isCurrent = this.#state.job()?.destinationVersion === job.destinationVersion;
    const rows = this.#rows;
    let why: string | null = null;
    this.#host.commit(() => {
      if (learned !== undefined && isCurrent && learned !== this.#state.leftOut()) this.#state.setLeftOut(learned);
      if (outcome.kind === "delivered") {
        const position = chain.place === waiting.place ? chain.position + 1 : 1;
        rows.written(waiting, position, manifestName(waiting.day, waiting.number), now);
      } else if (outcome.kind === "key_taken") {
        why = "another object stands under the key of a manifest";
        rows.taken(waiting, why, chain.tries === 0 ? now : now + AGAIN_MS, now);
      } else if (outcome.kind === "failed") {
        why = outcome.error.words;
        rows.failed(why, now + waitAfter(outcome.error, chain.tries + 1, platform.random()).delayMs, now);
      } else {
        why = "the destination takes no manifest";
        rows.failed(why, now + MANIFEST_AGAIN_MS, now);
      }
    });
    return why;
  }
}

interface Found {
  objects: ListedObject[];
  /** By node. */
  counts: Record<number, number>;
  /** The last one. */
  at: { node: number; delivery: number };
}

interface About {
  day: number;
  job: JobConfig;
  root: string;
  place: string;
  chain: ChainRow;
  looked: readonly LookedNode[];
  nowMs: number;
}

/** @param sinceVersion what went to earlier versions of the destination may be elsewhere. */
function listed(of: Delivered, node: number, sinceVersion: number): ListedObject {
  const time = (ms: number): string => new Date(ms).toISOString();
  return {
    ...placeOf(node),
    number: of.number,
    batch: of.batch,
    raw_bytes: of.rawBytes,
    content_type: of.contentType,
    delivery: of.delivery,
    key: of.key,
    bytes: of.bytes,
    sha256: of.sha256,
    records: of.records,
    first_event: time(of.firstMs),
    last_event: time(of.lastMs),
    delivered: time(of.deliveredMs),
    ...(of.copyOf !== null && { copy_of: of.copyOf }),
    ...(of.elsewhere === 1 ? { at: "elsewhere" as const } : of.place < sinceVersion && { at: "unknown" as const }),
  };
}
