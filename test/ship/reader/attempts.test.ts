import { expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { ReaderState } from "../../../src/ship/reader/reader-state.ts";
import { freshBucket, NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { append, configure, fragmentsOf, inLog, jobInto } from "./direct.ts";

it("an object waits twice as long after each of its failures, fifteen minutes at most, and its log does not", async () => {
  setSteadyClock(NOON);
  // Half of each delay, the least that chance leaves of it.
  vi.spyOn(platform, "random").mockReturnValue(0);
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { name, control } = freshBucket();
  await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
  const job = jobInto(name);
  const waits: unknown[] = [];
  await inLog(job, async (log, { sql }) => {
    await configure(job);
    await append(job, fragmentsOf(NDJSON, ["a record\n"]));
    for (let tries = 0; tries < 10; tries++) {
      await log.drive("manual", 10_000);
      const ofObject = sql.exec("SELECT next_attempt_ms - ? AS ms FROM object", NOON).one().ms;
      const ofLog = sql.exec("SELECT resume_ms - ? AS ms FROM reader", NOON).one().ms;
      waits.push([ofObject, ofLog]);
    }
  });
  const seconds = [2.5, 5, 10, 20, 40, 80, 160, 320, 450, 450];
  expect(waits).toEqual(seconds.map((s) => [s * 1_000, 2_500]));
});

it("a changed job tries again at once what a store refused, and a switch of a function's logging does not", async () => {
  setSteadyClock(NOON);
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { name, control } = freshBucket();
  await control.script([rule({ do: "answer", status: 503 }, { method: "PUT" })]);
  const job = jobInto(name);
  await inLog(job, async (log, { sql }) => {
    const isDelayed = (): boolean => Number(sql.exec("SELECT resume_ms FROM reader").one().resume_ms) > NOON;
    await configure(job);
    await append(job, fragmentsOf(NDJSON, ["a record\n"]));
    await log.drive("manual", 10_000);
    expect(isDelayed()).toBe(true);
    await configure({ ...job, version: 2 });
    expect(isDelayed()).toBe(true);
    await configure({ ...job, version: 3, modifiedVersion: 3 });
    expect(isDelayed()).toBe(false);
  });
});

it("uploads that begin together find out once what the store does with a condition, and it is stored once", async () => {
  setSteadyClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name);
  const stored = vi.spyOn(ReaderState.prototype, "setLeftOut");
  await inLog(job, async (log) => {
    await configure(job);
    for (const days of [0, 1, 2]) {
      await append(job, fragmentsOf(NDJSON, ["a record\n"]));
      await configure({ ...job, version: 2 + days, outputVersion: 2 + days });
    }
    await log.drive("manual", 10_000);
  });
  expect(stored).toHaveBeenCalledTimes(1);
  const asked = (await control.requests()).map(({ key, status }) => `${key.split("/").at(-1)} ${status}`);
  expect(asked.filter((request) => request.startsWith("test"))).toEqual(["test.txt.gz 200", "test.txt.gz 412"]);
  expect(asked).toHaveLength(5);
});
