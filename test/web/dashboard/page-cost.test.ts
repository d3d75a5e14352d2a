/** The cost of a page, which refreshes as long as it is open. docs/costs.md has these numbers. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { AccessRegister, ControlPlane, JobReader, Replays, TraceLog, Watch } from "../../../src/index.ts";
import { watch } from "../../../src/operate/alerts/watch.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { Visitor } from "./support.ts";

const CLASSES: readonly { prototype: object }[] = [
  ...[AccessRegister, TraceLog, ControlPlane, JobReader, Replays, Watch],
];

/** Calls of an object to itself. */
const OWN = ["constructor", "see", "oldestUnfinishedMs", "reruns"];

/** Counts the requests of durable objects from now on. @returns the number since the last call. */
function requests(): () => number {
  let made = 0;
  for (const { prototype } of CLASSES) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (OWN.includes(name) || typeof value !== "function") continue;
      Object.defineProperty(prototype, name, {
        configurable: true,
        writable: true,
        value(...args: unknown[]) {
          made += 1;
          return Reflect.apply(value, this, args);
        },
      });
    }
  }
  return () => {
    const since = made;
    made = 0;
    return since;
  };
}

/** Counts the rows that the watch writes. @returns the number since the last call. */
async function rowsOfWatch(): Promise<() => number> {
  return runInDurableObject(watch(env.WATCH), (_watch, { storage }) => {
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const exec = storage.sql.exec.bind(storage.sql);
    vi.spyOn(storage.sql, "exec").mockImplementation((query, ...values) => {
      const cursor = exec(query, ...values);
      cursors.push(cursor);
      return cursor as never;
    });
    return () => cursors.splice(0).reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  });
}

const made = requests();

it.each([1, 3])("a look costs a few requests, and some more for each of %d jobs", async (count) => {
  const clock = setClock(NOON);
  const jobs: number[] = [];
  for (let n = 0; n < count; n++) jobs.push(await createJob(freshBucket().name));
  await deliver(pack(new Oracle({ at: NOON }).mint(10), clock.nowMs()));
  for (const job of jobs) await settle(job, clock);
  const visitor = await Visitor.signedIn();
  // Work of the first look only.
  await visitor.get("/");
  const rows = await rowsOfWatch();
  const look = async (path: string): Promise<number> => {
    // The watch does not reuse its last look.
    clock.advance(15_000);
    await deliver(pack(new Oracle({ at: clock.nowMs() }).mint(1), clock.nowMs()));
    made();
    expect((await visitor.get(path, { "x-logship-refresh": "1" })).status).toBe(200);
    return made();
  };
  expect(await look("/")).toBe(22 + 7 * count);
  expect(rows()).toBe(3);
  expect(await look("/jobs")).toBe(9 + 6 * count);
  expect(await look(`/jobs/${jobs[0]}`)).toBe(19);
  expect(await look("/status")).toBe(12 + count);
});

it("pages of problems and saved searches ask each shard once, however many there are", async () => {
  const clock = setClock(NOON);
  await createJob(freshBucket().name);
  const visitor = await Visitor.signedIn();
  const cost = async (): Promise<number[]> => {
    const counts: number[] = [];
    for (const path of ["/problems", "/searches"]) {
      made();
      expect((await visitor.get(path)).status).toBe(200);
      counts.push(made());
    }
    return counts;
  };
  const before = await cost();
  for (const scriptName of ["a", "b", "c"])
    await deliver(pack(new Oracle({ at: NOON }).mint(2, { scriptName, outcome: "exceededCpu" }), clock.nowMs()));
  for (const name of ["one", "two", "three"])
    await call("POST", "/logship/searches", { name, query: "", alert: { threshold: 1, over: "5m" } });
  // The session and two shards; the states of problems in the watch, searches in the control plane.
  expect([before, await cost()]).toEqual([
    [4, 2],
    [4, 4],
  ]);
});
