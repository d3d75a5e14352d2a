/**
 * An archive in a folder, as the first node of a job makes it: the project's own tables, deliveries
 * and manifests, over the SQLite of Node, and a bucket that is the folder.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { vi } from "vitest";
import { fromHex } from "../../../src/base/bytes.ts";
import { platform } from "../../../src/base/platform.ts";
import { signerOf } from "../../../src/formats/manifest/signing.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { SketchStore } from "../../../src/formats/sketch/sketch-store.ts";
import type { Destination } from "../../../src/ship/destinations/destination.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { Deliveries } from "../../../src/ship/reader/deliveries.ts";
import { Manifests } from "../../../src/ship/reader/manifests.ts";
import { Objects } from "../../../src/ship/reader/objects.ts";
import { READER_STEPS } from "../../../src/ship/reader/reader-migrations.ts";
import { ReaderState } from "../../../src/ship/reader/reader-state.ts";

export const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Noon of the first day. */
export const START = Date.parse("2026-11-20T12:00:00Z");
const FIRST_DAY = Math.floor(START / DAY_MS);

export const signerWith = (byte: number) => signerOf(new Uint8Array(32).fill(byte));

/** The part of `SqlStorage` that a reader uses. */
function sqlOver(database: DatabaseSync): SqlStorage {
  const exec = (query: string, ...values: unknown[]) => {
    if (values.length === 0 && /;\s*\S/.test(query)) {
      database.exec(query);
      return { toArray: () => [], rowsWritten: 0 };
    }
    const bound = values.map((value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value)) as never[];
    const changesBefore = changesOf(database);
    const rows = database
      .prepare(query)
      .all(...bound)
      .map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            value instanceof Uint8Array ? value.slice().buffer : value,
          ]),
        ),
      );
    return {
      toArray: () => rows,
      one: () => rows[0],
      rowsWritten: changesOf(database) - changesBefore,
      [Symbol.iterator]: () => rows.values(),
    };
  };
  return { exec, databaseSize: 0 } as unknown as SqlStorage;
}

function changesOf(database: DatabaseSync): number {
  return Number(database.prepare("SELECT total_changes() AS n").get()?.n);
}

/** A bucket that is a folder. */
function folderBucket(folder: string): R2Bucket {
  const objectOf = (bytes: Uint8Array) => ({
    etag: createHash("md5").update(bytes).digest("hex"),
    size: bytes.length,
    checksums: { sha256: fromHex(createHash("sha256").update(bytes).digest("hex")).buffer },
  });
  return {
    put: async (key: string, body: Uint8Array, { onlyIf }: R2PutOptions = {}) => {
      const file = join(folder, key);
      if (onlyIf !== undefined && existsSync(file)) return null;
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, body);
      return objectOf(body);
    },
    head: async (key: string) => (existsSync(join(folder, key)) ? objectOf(readFileSync(join(folder, key))) : null),
  } as unknown as R2Bucket;
}

export class ArchivedJob {
  readonly folder: string;
  readonly #id: number;
  readonly #sql: SqlStorage;
  readonly #state: ReaderState;
  readonly #objects: Objects;
  readonly #manifests: Manifests;
  #nowMs = START;

  /** @param folder that other jobs share. @param key the byte that its signing key consists of. */
  constructor({ id = 3, folder = mkdtempSync(join(tmpdir(), "archive-")), path = "logs/{DATE}", key = 1 } = {}) {
    this.folder = folder;
    this.#id = id;
    const database = new DatabaseSync(":memory:");
    this.#sql = sqlOver(database);
    for (const step of READER_STEPS) database.exec(step.sql);
    this.#state = new ReaderState(this.#sql, `job ${id}`);
    this.#objects = new Objects(this.#sql, this.#state);
    this.#state.begin(jobWith(id, path), 0, 0);
    const deliveries = new Deliveries(this.#sql, this.#state);
    const { hostname: bucket } = new URL("binding://TRACES");
    const destination: Destination = {
      ...{ scheme: "binding", endpoint: new URL("binding://worker"), accountId: null, bucket, path },
      credentials: folderBucket(folder),
    };
    const ctx = { storage: { sql: this.#sql } } as unknown as DurableObjectState;
    this.#manifests = new Manifests(ctx, this.#state, {
      isOn: () => true,
      signer: () => signerWith(key),
      identity: (job) => `job ${job}`,
      open: () => ({ ok: true, value: destination }),
      look: async (_job, wanted) => [{ node: 0, ...deliveries.look(wanted(0)) }],
      page: async (_job, _node, wanted, day) => deliveries.page(wanted, day),
      // It has none.
      sketches: () => ({ seal: async () => [] }) as unknown as DurableObjectStub<SketchStore>,
      commit: (change) => change(),
    });
  }

  /** Delivers an object of a day, counted from the first. @returns its key. */
  deliver(day: number, of: { elsewhere?: boolean } = {}): string {
    const firstMs = START + day * DAY_MS;
    const { number, name } = this.#state.nextName(firstMs, firstMs + 1_000, ".log.gz");
    const key = this.#state.keyOf({ day: FIRST_DAY + day, part: "", first_event_ms: firstMs }, name);
    const bytes = new Uint8Array(createHash("sha512").update(`${this.#id} ${number}`).digest());
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#sql.exec(
      `INSERT INTO object (number, batch, day, name, key, content_type, head, tail, bytes, raw_bytes, records, sha256, md5, first_event_ms,
         last_event_ms, oldest_taken_ms, reason, cut_ms, state, elsewhere)
       VALUES (?, ?, ?, ?, ?, 'application/x-ndjson', x'', x'', ?, 100, 5, ?, '', ?, ?, ?, 'interval', ?, 'waiting', ?)`,
      ...[number, number, FIRST_DAY + day, name, key, bytes.length, sha256, firstMs, firstMs + 1_000, firstMs],
      ...[this.#nowMs, of.elsewhere === true ? "s3://other" : null],
    );
    const object = this.#objects.object(number);
    if (object === null) throw new Error("the object is not there");
    this.#objects.markDelivered(object, true, 1, this.#nowMs);
    if (of.elsewhere === true) return key;
    const file = join(this.folder, key);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    return key;
  }

  /** Deletes the job at noon of this day, counted from the first. */
  delete(day: number): void {
    this.#state.setJob({ ...this.#state.requireJob(), deletedMs: START + day * DAY_MS });
  }

  /** Lets an hour of this day pass, counted from the first, and all manifests be written. */
  async list(day: number): Promise<void> {
    this.#nowMs = Math.max(this.#nowMs + HOUR_MS, START + day * DAY_MS);
    const clock = vi.spyOn(platform, "now").mockImplementation(() => this.#nowMs);
    this.#nowMs += 300_000;
    await this.#manifests.begin(this.#nowMs);
    clock.mockRestore();
    const { why, isWaiting } = this.#manifests.status() ?? {};
    if (why !== null || isWaiting !== false) throw new Error(`not listed: ${why}`);
  }

  get nowMs(): number {
    return this.#nowMs;
  }
}

function jobWith(id: number, path: string): JobConfig {
  return {
    ...{ id, version: 1, modifiedVersion: 1, outputVersion: 1, destinationVersion: 1, mark: "m" },
    ...{ windows: [{ fromMs: START, untilMs: null }], filter: null, sampleRate: 1, output: NDJSON },
    limits: { bytes: 100_000_000, records: 100_000, intervalMs: 30_000 },
    ...{ destination: "sealed", path, deletedMs: null, discard: false, canary: false },
  };
}
