/** What other shippers get, and what is compared. */
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { compileFilter } from "../../../src/formats/filter/compile.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import { FILTERED } from "../../../tools/bench/job-shapes.ts";
import {
  canonical,
  check,
  inputOf,
  linesOf,
  type PeerRecord,
  REQUEST_RECORDS,
  shippedOf,
  verdict,
} from "../../../tools/bench/peers/records.ts";

const RECORDS = 3_000;
const recordsOf = (bodies: readonly Buffer[]): PeerRecord[] =>
  bodies.flatMap((body) =>
    body
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );

describe("the input", () => {
  const everything = inputOf("everything", RECORDS, 0);

  it("is requests of a thousand records, each with an id of its own, also beyond a round", () => {
    const next = inputOf("everything", RECORDS, 1);
    const records = recordsOf([...everything.bodies, ...next.bodies]);
    expect(everything.bodies).toHaveLength(RECORDS / REQUEST_RECORDS);
    expect(new Set(records.map(({ EventTimestampMs }) => EventTimestampMs)).size).toBe(2 * RECORDS);
    expect(everything.bytes).toBe(everything.bodies.reduce((sum, { length }) => sum + length, 0));
  });

  it("expects every record, or what the shipper's own filter and projection keep", () => {
    const records = recordsOf(everything.bodies);
    expect([...everything.expected.values()]).toEqual(records.map(canonical));
    const parsed = parseFilter(FILTERED.filter ?? "");
    if (!parsed.ok || parsed.filter === null) throw new Error("the filter is invalid");
    const isKept = compileFilter(parsed.filter);
    const kept = records.filter((record) => isKept(record));
    const filtered = inputOf("filtered", RECORDS, 0);
    expect([...filtered.expected.keys()]).toEqual(kept.map(({ EventTimestampMs }) => EventTimestampMs));
    expect(kept.length).toBeGreaterThan(RECORDS * 0.85);
    expect(kept.length).toBeLessThan(RECORDS * 0.95);
    const [first] = kept;
    if (first === undefined) throw new Error("nothing is kept");
    expect(Object.keys(shippedOf("filtered", first) ?? {}).sort()).toEqual(FILTERED.fieldNames?.toSorted());
  });
});

describe("the check", () => {
  const line = (id: number, name = "a"): string =>
    JSON.stringify({ ScriptName: name, EventTimestampMs: id, Event: { b: 1, a: 2 } });
  const object = (...lines: string[]): Buffer => gzipSync(lines.join("\n"));
  const expected = new Map([1, 2, 3].map((id) => [id, canonical(JSON.parse(line(id)))]));

  it("is content with each record once, in any order of records and keys", () => {
    const other = JSON.stringify({ Event: { a: 2, b: 1 }, EventTimestampMs: 3, ScriptName: "a" });
    const checked = check([object(line(2), other), object(line(1), "")], expected);
    expect(verdict(checked)).toBe("each once, alike");
  });

  it("counts what is missing, doubled, unexpected and different", () => {
    const checked = check([object(line(1), line(1), line(9), line(2, "b"))], expected);
    expect(verdict(checked)).toBe("1 missing, 1 doubled, 1 unexpected, 1 different");
  });

  it("reads objects of several gzip members, and lines that are not empty", () => {
    const members = [object(line(1), ""), object(line(2), "", line(3))];
    expect(verdict(check([Buffer.concat(members)], expected))).toBe("each once, alike");
    expect(linesOf(Buffer.from("\na\n\nb"))).toEqual(["a", "b"]);
  });
});
