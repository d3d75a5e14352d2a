/** Entries of the log that a reader has to make and cannot, and what a reader knows of itself. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Reading } from "../../../src/ship/reader/reading.ts";
import { Unmade } from "../../../src/ship/reader/unmade.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { job } from "../consumer/scripted.ts";
import { message, open } from "../log/shard.ts";
import { append, change, configure, fill, fragmentsOf, inLog, partOf, read, shard } from "./direct.ts";

beforeEach(() => {
  setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

const counts = () => inLog(job(1), (log) => log.status()?.counts);

describe("an entry that cannot be made", () => {
  it("is set aside after three tries, and none that was read with it", async () => {
    await configure(job(1));
    for (const n of [1, 2, 3]) await shard().append(open([message(n)]));
    const { begin } = Unmade.prototype;
    const begun: number[] = [];
    vi.spyOn(Unmade.prototype, "begin").mockImplementation(function (this: Unmade, n) {
      begun.push(n);
      return begin.call(this, n);
    });
    const second = NOON * 1_024 + 1;
    await inLog(job(1), (_log, storage) => {
      const { sync } = storage;
      vi.spyOn(storage, "sync").mockImplementation(async () => {
        if (begun.at(-1) === second) throw new Error("the reader died");
        await sync.call(storage);
      });
    });
    for (let times = 0; times < 3; times++) await shard().drive([1]);
    await read(job(1));
    expect(await counts()).toMatchObject({ received: 3, set_aside: 1, pending: 2 });
    expect(begun.filter((n) => n === second).length).toBe(4);
  });

  it("waits for newer code, and is set aside once that has failed on it three times", async () => {
    await configure(job(1));
    const part = partOf(5);
    await shard().append({ ...open([]), parts: [part], records: [{ body: new Uint8Array(9), parts: [part.id] }] });
    await read(job(1));
    expect(await counts()).toMatchObject({ received: 5, set_aside: 0, pending: 5 });
    const { get } = Unmade.prototype;
    vi.spyOn(Unmade.prototype, "get").mockImplementation(function (this: Unmade, n) {
      const entry = get.call(this, n);
      return entry && { ...entry, open: null as never };
    });
    for (let times = 0; times < 3; times++) await inLog(job(1), (log) => log.drive("manual", 0));
    expect(await counts()).toMatchObject({ set_aside: 0, pending: 5 });
    await inLog(job(1), (log) => log.drive("manual", 0));
    expect(await counts()).toMatchObject({ received: 5, set_aside: 5, pending: 0 });
    expect(await inLog(job(1), (log) => log.asideObjects(0, 9).unmade.map(({ records }) => records))).toEqual([5]);
  });
});

describe("a reader", () => {
  it("whose job a newer version wrote takes the next one, which may be readable, though it has an open batch", async () => {
    await configure(job(1));
    await append(job(1), fragmentsOf(job(1).output, ["a"]));
    await inLog(job(1), (_log, { sql }) => {
      sql.exec("UPDATE reader SET job = json_set(job, '$.output.type', 'avro')");
    });
    await change(job(1, { version: 2, deletedMs: NOON }));
    await read(job(1));
    expect(await inLog(job(1), (log) => log.drive("scheduled", 0))).toEqual({ pendingObjects: 1 });
  });

  it("knows its shard though its alarm has woken it without its name", async () => {
    const asked: unknown[] = [];
    const log = {
      read: async (...args: unknown[]) => {
        asked.push(...args.slice(0, 3));
        throw new Error("stop");
      },
    };
    const env = { TRACE_LOG: { getByName: (name: string) => asked.push(name) && log } };
    const state = { row: () => ({ node: 3_001, cursor: 5, sealed_ms: null }), requireJob: () => job(7) };
    const nameless = new Reading({ id: {} } as never, env as never, { state } as never);
    await expect(nameless.pull({ segment: 1, from: 0, cut: false })).rejects.toThrow("stop");
    expect(asked).toEqual(["log 3", 7, 1, 5]);
  });

  it("that is the first one and full follows its job, as it writes the manifests of all", async () => {
    await configure(job(1));
    await fill(job(1));
    await append(job(1), fragmentsOf(job(1).output, ["a"]));
    await inLog(job(1), (_log, { sql }) => {
      sql.exec("DELETE FROM batch");
    });
    for (const version of [2, 3]) {
      await change(job(1, { version, path: `v${version}` }));
      await read(job(1));
    }
    expect(
      await inLog(job(1), (log, { sql }) => [
        log.following(),
        sql.exec("SELECT job->>'path' AS path FROM reader").one(),
      ]),
    ).toEqual([{ sealed: true }, { path: "v3" }]);
  });
});
