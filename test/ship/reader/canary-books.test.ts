/** That nothing else knows of a canary; and what it costs in rows. */
import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, inject, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { jobHealth } from "../../../src/ship/reader/all-readers.ts";
import { canaryAfter } from "../../../src/ship/reader/canary-object.ts";
import { jobObjects } from "../../../src/ship/reader/object-pages.ts";
import { freshBucket, logStatus } from "../../support/runtime/pipeline.ts";
import { bucketControl } from "../../support/s3-control.ts";
import { rule } from "../../support/s3-script.ts";
import { CANARY_GET, canaryWorld, ended, sealed, tick } from "./canary-world.ts";
import { append, fragmentsOf, inLog } from "./direct.ts";
import { meter } from "./meter.ts";

/** Everything that is known of a job except the status of its canary. */
async function booksOf(id: number) {
  const { canary: _canary, storedBytes: _stored, ...status } = await logStatus(id);
  const { entries, total } = await jobObjects(env, id, 0, 100);
  const objects = entries.map(({ key, ...entry }) => ({ ...entry, key: key.slice(0, -".xxxxxxxx.log.gz".length) }));
  return { status, objects, total, hours: await jobHealth(env, id, 0, Number.MAX_SAFE_INTEGER) };
}

/**
 * Records that ship, a store that fails for a while, hours in between, all by the same
 * clock. @returns the books after every step.
 */
async function aDay(id: number, canary: boolean, canaryFails: boolean) {
  const { name } = freshBucket();
  const { clock, job } = await canaryWorld({ id, canary, destination: sealed(name, "logs/{DATE}") });
  const control = bucketControl(inject("s3Url"), name);
  const trouble = canaryFails
    ? [rule({ do: "answer", status: 403, code: "AccessDenied" }, { keyIncludes: "canary/" })]
    : [];
  const books: unknown[] = [];
  const step = async (): Promise<void> => {
    await tick(id);
    await inLog(job, (log) => log.drive("scheduled", 10_000));
    await ended(id);
    books.push(await booksOf(id));
  };
  await control.script(trouble);
  vi.spyOn(platform, "random").mockReturnValue(0.5);
  for (let hour = 0; hour < 4; hour++) {
    await append(job, fragmentsOf(NDJSON, [`record ${hour}\n`]));
    if (hour === 2) {
      await control.script([
        ...trouble,
        rule({ do: "answer", status: 503 }, { method: "PUT", keyIncludes: ".log.gz" }, 2),
      ]);
    }
    clock.advance(30_000);
    await step();
    clock.advance(canaryAfter(1, clock.nowMs()) - clock.nowMs());
    await step();
    clock.advance(20 * 60_000);
    await step();
  }
  const sent = (await control.requests()).filter(({ key }) => key.includes("canary/")).length;
  return { books, sent, puts: (await control.puts()).filter(({ key }) => key.endsWith(".log.gz")).length };
}

describe("counts", () => {
  it.each([
    ["well", false],
    ["refused", true],
  ])("are the same at every moment with a canary, one that is %s", async (_what, fails) => {
    const without = await aDay(1, false, false);
    vi.restoreAllMocks();
    await reset();
    const with_ = await aDay(1, true, fails);
    expect([without.sent, with_.sent > 3]).toEqual([0, true]);
    expect(with_.books).toEqual(without.books);
    expect(with_.puts).toBe(without.puts);
    expect(without.books.at(-1)).toMatchObject({ status: { counts: { delivered: 4, pending: 0 }, lastErrorMs: null } });
    expect(JSON.stringify(without.books)).toContain("HTTP 503");
  });
});

describe("the rows that are written", () => {
  it("are two for an hour in which all is well, and three more for each further try", async () => {
    const { clock, job, tick, control, report } = await canaryWorld();
    await tick();
    const bill = await inLog(job, (_log, storage) => meter(storage));
    for (let hour = 0; hour < 3; hour++) {
      clock.advance(canaryAfter(job.id, clock.nowMs()) - clock.nowMs());
      expect(await tick()).toBe(true);
      expect(bill.read()).toEqual({ "UPDATE canary": 1, alarm: 1 });
    }
    await control.script([rule({ do: "answer", status: 503 }, CANARY_GET, 2)]);
    clock.advance(canaryAfter(job.id, clock.nowMs()) - clock.nowMs());
    for (let again = 0; again < 2; again++) {
      await tick();
      expect(bill.read()).toEqual({ "UPDATE canary": 1, alarm: 2 });
      clock.advance(((await report())?.nextRunMs ?? 0) - clock.nowMs());
    }
    await tick();
    expect(bill.read()).toEqual({ "UPDATE canary": 1, alarm: 1 });
  });

  it("are one more for the alarm that follows an alarm of something else", async () => {
    const { clock, job, tick } = await canaryWorld();
    await tick();
    const bill = await inLog(job, (_log, storage) => meter(storage));
    await append(job, fragmentsOf(NDJSON, ["x\n"]));
    expect(bill.read()).toMatchObject({ alarm: 1 });
    clock.advance(30_000);
    await tick();
    expect(bill.read()).toMatchObject({ "UPDATE object": 1, alarm: 1 });
  });
});
