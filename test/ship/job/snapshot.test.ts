import { describe, expect, it } from "vitest";
import { JOB_FORMAT } from "../../../src/ship/job/config.ts";
import { isState, readJobConfig, readSnapshot } from "../../../src/ship/job/snapshot.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { job, snapshot } from "../consumer/scripted.ts";

type Path = readonly (string | number)[];

/** A copy with another value at a path; `undefined` removes it. */
function changed(value: unknown, path: Path, to: unknown): unknown {
  const copy = structuredClone(value);
  const last = path.at(-1) as string;
  const parent = path.slice(0, -1).reduce((at, key) => (at as Record<string, unknown>)[key], copy) as Record<
    string,
    unknown
  >;
  if (to === undefined) delete parent[last];
  else parent[last] = to;
  return copy;
}

/** All members of all objects in a value. */
function paths(value: unknown, at: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const path = [...at, Array.isArray(value) ? Number(key) : key];
    return [...(Array.isArray(value) ? [] : [path]), ...paths(member, path)];
  });
}

/** Jobs that cannot be read; null: nothing can be. */
function unreadableIn(value: unknown): number[] | null {
  const read = readSnapshot(value);
  return read === null ? null : (read.unreadable ?? []).map(({ id }) => id);
}

const FULL = snapshot(
  "A1B2.7.00FF",
  [
    job(1, {
      filter: '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}',
      windows: [
        { fromMs: NOON, untilMs: NOON + 9 },
        { fromMs: NOON + 10, untilMs: null },
      ],
      output: { ...job(1).output, fieldNames: ["Outcome", "Event"] },
    }),
    job(2, { deletedMs: NOON, discard: true, windows: [], sampleRate: 0.5 }),
  ],
  [{ scriptName: "shop", windows: [{ fromMs: 0, untilMs: NOON }] }],
);

describe("what the control plane says", () => {
  it("is believed when it is whole, and is handed on as it is", () => {
    expect(readSnapshot(FULL)).toBe(FULL);
    expect(readSnapshot(snapshot("e.0.m", []))).not.toBeNull();
  });

  it("is believed of jobs that need no more than this code knows, and of no other", () => {
    const said = snapshot("A1B2.7.00FF", [job(1), job(2, { floor: 1 })]);
    expect(readSnapshot(said)).toBe(said);
    expect(unreadableIn(changed(said, ["jobs", 1, "floor"], JOB_FORMAT))).toEqual([]);
    for (const floor of [JOB_FORMAT + 1, 0, "1", null])
      expect(unreadableIn(changed(said, ["jobs", 1, "floor"], floor))).toEqual([2]);
  });

  it("is believed of every other job where one cannot be read, whose windows it may still say", () => {
    const newer = { ...job(2), output: { ...job(2).output, type: "avro" } };
    const said = { ...FULL, jobs: [job(1), newer, job(3)] };
    expect(readSnapshot(said)).toEqual({
      ...FULL,
      jobs: [job(1), job(3)],
      unreadable: [{ id: 2, windows: newer.windows, deletedMs: null, discard: false }],
    });
    const blurred = changed(changed(said, ["jobs", 1, "windows"], "always"), ["jobs", 1, "discard"], "no");
    expect(readSnapshot(blurred)?.unreadable).toEqual([
      { id: 2, windows: [{ fromMs: 0, untilMs: null }], deletedMs: null, discard: false },
    ]);
  });

  it.each(paths(FULL).map((path) => [path.join("."), path] as const))(
    "is garbage without %s, or with something else there",
    (_name, path) => {
      const there: unknown = path.reduce<unknown>((at, key) => (at as never)[key], FULL);
      const others = [undefined, { what: "else" }, Number.NaN, -1, Array.isArray(there) ? "x" : ["x"]];
      // What is wrong with one job concerns that job, as long as it is known which one.
      const ofJob = path[0] === "jobs" && path.length > 2 && path[2] !== "id" ? [FULL.jobs[Number(path[1])]?.id] : null;
      for (const other of others)
        expect(unreadableIn(changed(FULL, path, other)), JSON.stringify(other)).toEqual(ofJob);
    },
  );

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["jobs that are an object", { ...FULL, jobs: { 0: job(1), length: 1 } }],
    ["a job that is null", { ...FULL, jobs: [job(1), null] }],
    ["what it says where nothing has changed", { state: FULL.state, jobs: null }],
    ["no state", { ...FULL, state: "" }],
    ["without a shard", { ...FULL, shards: [] }],
    ["of a shard that there cannot be", { ...FULL, shards: [0, 64] }],
    ["a state without a version", { ...FULL, state: "e" }],
    ["a state whose version is none", { ...FULL, state: "e.x.m" }],
    ["a state whose version counts no more", { ...FULL, state: "e.9007199254740993.m" }],
    ["no job's id", { ...FULL, jobs: [job(0)] }],
  ])("is garbage if it is %s", (_what, value) => {
    expect(readSnapshot(value)).toBeNull();
  });

  it.each<[string, unknown]>([
    ["a version that counts no more", { ...FULL, jobs: [job(1, { version: 2 ** 53 })] }],
    ["half a version", { ...FULL, jobs: [job(1, { version: 1.5 })] }],
    ["a sample of nothing", { ...FULL, jobs: [job(1, { sampleRate: 0 })] }],
    ["a sample of more than all", { ...FULL, jobs: [job(1, { sampleRate: 1.01 })] }],
    ["a limit of nothing", { ...FULL, jobs: [job(1, { limits: { bytes: 0, records: 1, intervalMs: 1 } })] }],
    ["a window without a beginning", { ...FULL, jobs: [changed(job(1), ["windows", "0", "fromMs"], null)] }],
    ["a field that no record has", { ...FULL, jobs: [changed(job(1), ["output", "fieldNames"], ["Colour"])] }],
    ["a kind of output that is none", { ...FULL, jobs: [changed(job(1), ["output", "type"], "xml")] }],
  ])("is believed of no job that has %s", (_what, value) => {
    expect(unreadableIn(value)).toEqual([1]);
  });

  it("may have a window that ends before it begins: it is empty, and no reason to know nothing of anybody", () => {
    const odd = { ...FULL, jobs: [job(1, { windows: [{ fromMs: 2, untilMs: 1 }] })] };
    expect(readSnapshot(odd)).toBe(odd);
  });

  it("may hold what this code does not know: a newer one says more", () => {
    const newer = {
      ...FULL,
      region: "eu",
      jobs: [{ ...job(1), colour: "red", output: { ...job(1).output, indent: 2 }, limits: { ...job(1).limits, x: 1 } }],
      optOuts: [{ scriptName: "shop", windows: [{ fromMs: 0, untilMs: null, why: "asked" }], since: 1 }],
    };
    expect(readSnapshot(newer)).toBe(newer);
    expect(newer.jobs[0]).toMatchObject({ colour: "red", output: { indent: 2 }, limits: { x: 1 } });
  });
});

describe("the parts of it", () => {
  it("are looked at alone as strictly", () => {
    const whole = job(1);
    expect(readJobConfig(whole)).toBe(whole);
    for (const value of [undefined, null, {}, [], "job", { ...whole, version: "1" }, { ...whole, filter: undefined }])
      expect(readJobConfig(value)).toBeNull();
  });

  it.each<[unknown, boolean]>([
    ["e.1.m", true],
    ["E0.0.", false],
    ["e.1", false],
    ["", false],
    ["e", false],
    ["e.-1.m", false],
    ["e.1.m.n", false],
    [`${"e".repeat(65)}.1.m`, false],
    [7, false],
    [undefined, false],
  ])("of states, %j is one: %s", (value, expected) => expect(isState(value)).toBe(expected));
});
