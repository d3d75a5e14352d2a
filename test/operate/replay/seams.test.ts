/**
 * A replay breaks between any two of its steps, in every way. It continues, and nothing is lost or
 * duplicated.
 */
import { describe, expect, it, vi } from "vitest";
import { Steps } from "../../../src/operate/replay/steps.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { cells } from "../../support/matrix.ts";
import { breakable, firstCalls, PROMPT_BREAKAGES } from "../../support/runtime/breakage.ts";
import { rule } from "../../support/s3-script.ts";
import { ALL, expectCopied, inReplays, runReplays, type Shipped, shippedJob } from "./shipped.ts";

const STEPS = ["planPage", "copyOne", "settle", "tell", "finish"] as const;
const LOG_STEPS = ["replayPage", "replayed"] as const;
const ALL_STEPS = [
  ...STEPS.map((step) => ["Replays", step] as const),
  ...LOG_STEPS.map((step) => ["JobReader", step] as const),
];
const CASES = cells(ALL_STEPS, PROMPT_BREAKAGES).map(([step, breakage]) => [...step, breakage] as const);

describe("a replay", () => {
  it.for(CASES)("whose %s.%s %s goes on: nothing is lost, and nothing twice", async ([of, step, how]) => {
    const shipped = await shippedJob(5);
    const { id } = await shipped.begin();
    const first = firstCalls(how, 2);
    if (of === "Replays") breakable(Steps.prototype, step as (typeof STEPS)[number], first.decide);
    else breakable(JobReader.prototype, step as (typeof LOG_STEPS)[number], first.decide);
    const ended = await shipped.settle(id);
    // Planning is saved, so `planPage` may run only once.
    expect(first.broke()).toBeGreaterThanOrEqual(step === "planPage" ? 1 : 2);
    expect(ended).toMatchObject({ state: "done", done: ended.planned, problems: [] });
    expect(ended.planned.objects).toBe(5);
    await expectCopied(shipped, id, { objects: 5 });
  });

  it("that dies at every single step, one after the other, comes to its end", async () => {
    const shipped = await shippedJob(3);
    const { id } = await shipped.begin();
    let deaths = 0;
    for (const step of STEPS) {
      const seen = new Set<number>();
      // Each step dies once per object; the object is the piece among the arguments.
      const original = Steps.prototype[step] as (...args: unknown[]) => unknown;
      vi.spyOn(Steps.prototype as unknown as Record<string, typeof original>, step).mockImplementation(function (
        this: Steps,
        ...args
      ) {
        const number = (args[1] as { number?: number } | undefined)?.number ?? 0;
        if (!seen.has(number)) {
          seen.add(number);
          deaths += 1;
          this.ctx.abort("killed");
          throw new Error("dead");
        }
        return original.apply(this, args);
      });
    }
    const ended = await shipped.settle(id, 200);
    expect(deaths).toBe(1 + 4 * 3);
    expect(ended).toMatchObject({ state: "done", done: { objects: 3 }, problems: [] });
    await expectCopied(shipped, id, { objects: 3 });
  });
});

describe("a copy that stands, though nobody was told,", () => {
  it.for([
    [
      "killed before it tells",
      async () => void breakable(Steps.prototype, "tell", firstCalls("dies before", 1).decide),
    ],
    [
      "a store that has it, and says 500",
      ({ control }: Shipped) =>
        control.script([
          rule({ do: "answer", status: 500, store: true }, { method: "PUT", keyIncludes: ".log.gz" }, 3),
        ]),
    ],
  ] as const)("is counted when its source has gone meanwhile: %s", async ([_, fail]) => {
    const shipped = await shippedJob(3);
    const { id } = await shipped.begin();
    await fail(shipped);
    await runReplays();
    expect((await shipped.read(id)).done.objects).toBe(0);
    const standing = (await shipped.control.objects()).filter(({ key }) => key.endsWith(".log.gz")).length - 3;
    expect(standing).toBeGreaterThan(0);
    await shipped.control.script([rule({ do: "answer", status: 404, code: "NoSuchKey" }, { method: "GET" })]);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", done: { objects: standing }, missing: { objects: 3 - standing } });
    await expectCopied(shipped, id, { objects: standing });
  });
});

describe("a replay that is cancelled after it was killed", () => {
  it("with copies on their way finds those that arrived, and forgets those that did not", async () => {
    const shipped = await shippedJob(6);
    const { id } = await shipped.begin();
    // The first copy is written, but its log is not told. The others are not written.
    const first = firstCalls("dies before", 1);
    breakable(Steps.prototype, "tell", first.decide);
    await shipped.control.script([rule({ do: "hold" }, { method: "PUT", keyIncludes: "T1202" })]);
    await runReplays();
    expect((await shipped.read(id)).done.objects).toBe(0);
    const written = (await shipped.control.objects()).filter(({ key }) => key.endsWith(".log.gz")).length - 6;
    expect(written).toBeGreaterThan(0);
    expect((await shipped.cancel(id)).body.result.state).toBe("cancelled");
    await shipped.control.script([]);
    await shipped.control.release();
    for (let turn = 0; turn < 3; turn++) await runReplays();
    const ended = await shipped.read(id);
    const standing = (await shipped.control.objects()).filter(({ key }) => key.endsWith(".log.gz")).length - 6;
    expect(ended).toMatchObject({ state: "cancelled", problems: [], done: { objects: standing } });
    expect(ended.left.objects).toBe(6 - standing);
    await expectCopied(shipped, id, { objects: standing });
    expect(await inReplays((_, { sql }) => sql.exec("SELECT source FROM replay").one().source)).toBe(null);
    expect(await inReplays((_, { sql }) => sql.exec("SELECT count(*) AS n FROM piece").one().n)).toBe(0);
  });

  it("after an outage looks at no more objects at once than it may ask about", async () => {
    const shipped = await shippedJob(4);
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "reset", when: "after" }, { method: "PUT", keyIncludes: ".log.gz" })]);
    await runReplays();
    await shipped.control.script([]);
    await inReplays((object) => {
      object.objectsPerRun = 1;
    });
    await shipped.cancel(id);
    const heads = async () => (await shipped.control.requests()).filter(({ method }) => method === "HEAD").length;
    const before = await heads();
    for (let turn = 1; turn <= 4; turn++) {
      await runReplays();
      expect(await heads()).toBe(before + turn);
    }
    expect(await shipped.read(id)).toMatchObject({ state: "cancelled", done: { objects: 4 }, problems: [] });
    await expectCopied(shipped, id, { objects: 4 });
  });

  it("and whose store shows nothing says so of each that may be there", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin(ALL);
    breakable(Steps.prototype, "tell", firstCalls("dies before", 1).decide);
    await runReplays();
    await shipped.control.script([rule({ do: "answer", status: 403 }, { method: "HEAD" })]);
    await shipped.cancel(id);
    await runReplays();
    const ended = await shipped.read(id);
    expect(ended).toMatchObject({ state: "cancelled", failed: { objects: 2 }, left: { objects: 0 } });
    expect(ended.problems[0]?.why).toMatch(/on its way when the replay ended, and its store does not tell/);
  });
});
