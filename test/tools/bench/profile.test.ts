/** How a profile of V8 becomes functions and folders. */
import { describe, expect, it } from "vitest";
import { profileReport, workProfile } from "../../../tools/bench/profile.ts";
import { text } from "../../../tools/bench/table.ts";

const ROOT = "file:///project/";

type Node = [id: number, name: string, url: string, children?: number[]];

const node = ([id, functionName, url, children]: Node) => ({
  ...{ id, callFrame: { functionName, url, scriptId: "0", lineNumber: 9, columnNumber: 0 } },
  ...(children !== undefined && { children }),
});

const TREE: Node[] = [
  [1, "(root)", "", [2, 8, 9, 10, 11]],
  [2, "run", `${ROOT}tools/bench/cpu.ts`, [3]],
  [3, "handle", `${ROOT}src/ship/consumer/consume.ts`, [4, 5, 7]],
  [4, "", `${ROOT}src/base/bytes.ts`],
  [5, "deflateRawSync", "node:zlib", [6]],
  [6, "writeSync", ""],
  [7, "encodeInto", ""],
  [8, "(garbage collector)", ""],
  [9, "(idle)", ""],
  [10, "post", "node:inspector"],
  [11, "processTicks", "node:internal/process/task_queues"],
];

const profileOf = (samples: number[]) => ({
  ...{ nodes: TREE.map(node), startTime: 0, endTime: 0, samples },
  // One of them waited for the processor.
  timeDeltas: samples.map((_, i) => (i === 0 ? 90_000 : 200)),
});

describe("a profile", () => {
  const { functions, places, zlibShare, microseconds } = workProfile(
    "work",
    profileOf([3, 6, 6, 6, 4, 7, 8, 2, 11, 6, 9, 9, 10]),
    20,
    ROOT,
  );
  const of = (list: typeof places) => Object.fromEntries(list.map((each) => [each.name, each.microseconds]));

  it("counts each sample alike, and leaves out idleness and the profiler", () => {
    expect(microseconds).toBe(20);
    expect(functions.reduce((sum, each) => sum + each.microseconds, 0)).toBeCloseTo(20);
    expect(of(functions)).toEqual({
      "writeSync (native)": 8,
      "handle src/ship/consumer/consume.ts:10": 2,
      "(anonymous) src/base/bytes.ts:10": 2,
      "encodeInto (native)": 2,
      "(garbage collector)": 2,
      "run tools/bench/cpu.ts:10": 2,
      "processTicks node:internal/process/task_queues:10": 2,
    });
    expect(functions[0]?.name).toBe("writeSync (native)");
  });

  it("adds Node's own functions to the folder that calls them, and sets zlib apart", () => {
    expect(of(places)).toEqual({
      zlib: 8,
      "src/ship/consumer": 4,
      "src/base/bytes.ts": 2,
      "garbage collector": 2,
      "the benchmark itself": 2,
      "Node, not called by any of these": 2,
    });
    expect(zlibShare).toBeCloseTo(0.4);
  });

  it("is told in µs and shares", () => {
    const told = profileReport([workProfile("work", profileOf([3, 6]), 10, ROOT)], text).join("\n");
    expect(told).toContain("PROFILE of work: 10.0 µs a record, 50% of it zlib");
    expect(told).toMatch(/writeSync \(native\) +5\.00 +50\.0%/);
  });

  it("may be empty", () => {
    expect(workProfile("work", profileOf([]), 0, ROOT)).toMatchObject({ functions: [], places: [], zlibShare: 0 });
  });
});
