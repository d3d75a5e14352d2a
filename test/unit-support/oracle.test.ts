import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it } from "vitest";
import { assertClean, keyTime, type Minted, Oracle, type Report } from "../support/oracle.ts";

const PATH = "logs/date={DATE}/x";
const FAULTS = ["missing", "duplicated", "invented", "corrupted", "misfiled", "mixedDays", "wrongKeyTimes"] as const;

interface Shipped {
  key: string;
  bytes: Uint8Array;
}

/**
 * A member with the constant header and a deflate stream of two fragments and a final block, as the
 * product writes it.
 */
function gzip(text: string, { crcOff = 0, sizeOff = 0, header = "1f8b08000000000000ff" } = {}): Buffer {
  const raw = Buffer.from(text);
  const half = Math.floor(raw.length / 2);
  const fragments = [raw.subarray(0, half), raw.subarray(half)].map((part) => deflateRawSync(part, { finishFlush: 2 }));
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE((crc32(raw) + crcOff) % 2 ** 32, 0);
  trailer.writeUInt32LE(raw.length + sizeOff, 4);
  return Buffer.concat([Buffer.from(header, "hex"), ...fragments, Buffer.from("0300", "hex"), trailer]);
}

function textOf(events: readonly Minted[]): string {
  return events.map(({ event }) => `${JSON.stringify(event)}\n`).join("");
}

/** What a flawless shipper writes for events of one day. */
function ship(events: readonly Minted[], path = PATH): Shipped {
  const times = events.map(({ at }) => at);
  const name = `${keyTime(Math.min(...times))}_${keyTime(Math.max(...times))}_0a1b2c3d.log.gz`;
  return { key: `${path.replace("{DATE}", events[0]?.day ?? "")}/${name}`, bytes: gzip(textOf(events)) };
}

let oracle: Oracle;
let events: Minted[];
beforeEach(() => {
  oracle = new Oracle();
  events = oracle.mint(6, { stepMs: 700 });
  oracle.acknowledged(1, events);
});

function auditOf(...objects: Shipped[]): Report {
  return oracle.audit(1, objects, { path: PATH });
}

/** The kinds of fault found. */
function faultsIn(report: Report): string[] {
  return FAULTS.filter((kind) => report[kind].length > 0);
}

describe("what is right", () => {
  it("finds nothing wrong with events of three days, each day in its own objects, probes aside", () => {
    const more = oracle.mint(9, { days: 3, stepMs: 60_000 });
    oracle.acknowledged(1, more);
    const byDay = Map.groupBy([...events, ...more], ({ day }) => day);
    const probes = ["logs/date=00010101/x/test.txt.gz", "logs/date=00010101/x/ownership-challenge-0a1b2c3d.txt"];
    const report = auditOf(
      ...[...byDay.values()].map((ofDay) => ship(ofDay)),
      ...probes.map((key) => ({ key, bytes: Buffer.from("probe") })),
    );
    expect([byDay.size, report.records, report.objects]).toEqual([3, 15, 3]);
    expect(faultsIn(report)).toEqual([]);
    assertClean(report);
  });

  it("lets events wait that the ledger shows as waiting, exactly so many", () => {
    const report = auditOf(ship(events.slice(0, 4)));
    assertClean(report, { waiting: 2 });
    expect(() => assertClean(report, { waiting: 1 })).toThrow("2 missing");
    expect(() => assertClean(report, { waiting: 3 })).toThrow("2 missing");
    expect(() => assertClean(auditOf(ship(events)), { waiting: 1 })).toThrow("1, but nothing is missing");
  });

  it("lets an unacknowledged event be there once or not at all, but not twice", () => {
    const [unsure, late] = [oracle.mint(1), oracle.mint(1)];
    oracle.unacknowledged(1, [...unsure, ...late]);
    assertClean(auditOf(ship([...events, ...unsure])));
    expect(faultsIn(auditOf(ship([...events, ...unsure, ...unsure])))).toEqual(["duplicated"]);
    oracle.acknowledged(1, late); // a repeated request succeeded
    expect(auditOf(ship([...events, ...unsure])).missing).toMatchObject(late.map(({ id }) => ({ id })));
  });

  it("keeps jobs apart", () => {
    oracle.acknowledged(2, events.slice(0, 2));
    assertClean(oracle.audit(2, [ship(events.slice(0, 2))], { path: PATH }));
    expect(faultsIn(oracle.audit(2, [ship(events)], { path: PATH }))).toEqual(["invented"]);
  });
});

describe("a path that tells hours and scripts apart", () => {
  const path = "{SCRIPT}/{DATE_ISO}/{HOUR}";
  const found = (key: string, shipped: readonly Minted[]) =>
    faultsIn(oracle.audit(1, [{ ...ship(shipped), key: key + ship(shipped, "").key }], { path })).filter(
      (kind) => kind !== "missing",
    );

  it("is kept, or broken by an object in another folder, or of several parts", () => {
    const other = oracle.mint(1, { scriptName: "cart" });
    const later = oracle.mint(1, { at: Date.UTC(2026, 10, 20, 13) });
    oracle.acknowledged(1, [...other, ...later]);
    expect(found("shop/2026-11-20/12", events)).toEqual([]);
    expect(found("shop/2026-11-20/13", events)).toEqual(["misfiled"]);
    expect(found("cart/2026-11-20/12", events)).toEqual(["misfiled"]);
    expect(found("shop/2026-11-20/12", [...events, ...other])).toEqual(["mixedDays"]);
    expect(found("shop/2026-11-20/12", [...events, ...later])).toEqual(["mixedDays"]);
  });
});

describe("each kind of fault", () => {
  it.for<[string, string[], () => Shipped[]]>([
    ["an event in no object", ["missing"], () => [ship(events.slice(1))]],
    ["an event twice in an object", ["duplicated"], () => [ship([...events, ...events.slice(0, 1)])]],
    ["an event in two objects", ["duplicated"], () => [ship(events), ship(events.slice(3))]],
    ["an event nobody owes", ["invented"], () => [ship([...events, ...oracle.mint(1)])]],
    [
      "a record without an id",
      ["invented"],
      () => [altered((text) => `{"EventTimestampMs":${events[0]?.at}}\n${text}`)],
    ],
    ["an altered field", ["corrupted"], () => [altered((text) => text.replace('"Outcome":"ok"', '"Outcome":"o"'))]],
    ["an altered text", ["corrupted"], () => [altered((text) => text.replace("shop.example", "shop.exampl"))]],
    ["a field too many", ["corrupted"], () => [altered((text) => text.replace("{", '{"X":1,'))]],
    ["a field of another event", ["corrupted"], () => [altered((text) => text.replace(/(T[a-z]+Ms":\d+)\d}/, "$17}"))]],
    ["an altered time", ["corrupted"], () => [altered((text) => text.replace(/(EventTimestampMs":\d+)0,/, "$11,"))]],
    ["a wrong folder", ["misfiled"], () => [ship(events, "logs/date=20261121/x")]],
    ["a wrong path", ["misfiled"], () => [ship(events, "other/date={DATE}/x")]],
    ["a name of another pattern", ["wrongKeyTimes"], () => [renamed(".log.gz", ".json.gz")]],
    ["a late start", ["wrongKeyTimes"], () => [renamed("120000Z_", "120001Z_")]],
    ["an end rounded up", ["wrongKeyTimes"], () => [renamed("120003Z_0", "120004Z_0")]],
  ])("%s is %j and nothing else", ([, kinds, make]) => {
    // An altered time affects no other check: the oracle uses the time that it gave the event.
    const report = auditOf(...make());
    expect(faultsIn(report)).toEqual(kinds);
    const words = kinds[0]?.replace(/[A-Z]/g, (capital) => ` ${capital.toLowerCase()}`);
    expect(() => assertClean(report)).toThrow(new RegExp(`^\\d records in \\d objects\n\\d ${words}:\n {2}.+`));
  });

  it("an object with events of two days mixes days, whatever its folder", () => {
    const next = oracle.mint(1, { at: Date.UTC(2026, 10, 21) });
    oracle.acknowledged(1, next);
    for (const path of [PATH, "flat"]) {
      const report = oracle.audit(1, [ship([...events, ...next], path)], { path });
      expect(faultsIn(report)).toEqual(["mixedDays"]);
      expect(report.mixedDays[0]?.reason).toBe("20261120, 20261121");
    }
  });

  it("a probe in the folder of a real day is no probe", () => {
    const report = auditOf(ship(events), { key: "logs/date=20261120/x/test.txt.gz", bytes: gzip("probe") });
    expect(faultsIn(report)).toEqual(["corrupted"]);
  });

  it.for<[string, RegExp, (text: string) => Uint8Array]>([
    ["a wrong CRC", /CRC-32/, (text) => gzip(text, { crcOff: 1 })],
    ["a wrong length", /length of the trailer/, (text) => gzip(text, { sizeOff: 1 })],
    ["bytes after the trailer", /^3 bytes follow/, (text) => Buffer.concat([gzip(text), Buffer.alloc(3)])],
    ["two members", /second member/, (text) => Buffer.concat([gzip(text), gzip(text)])],
    ["a cut-off trailer", /trailer is cut off/, (text) => gzip(text).subarray(0, -1)],
    ["a cut-off stream", /deflate stream: unexpected end/, (text) => gzip(text).subarray(0, -11)],
    ["a broken stream", /deflate stream/, (text) => gzip(text).fill(0xff, 10, 14)],
    ["no gzip", /no gzip header/, (text) => Buffer.from(text)],
    ["a file name in the header", /flags are 8/, (text) => gzip(text, { header: "1f8b08080000000000ff" })],
    ["a time in the header", /modification time/, (text) => gzip(text, { header: "1f8b08000100000000ff" })],
    ["nothing", /too few/, () => new Uint8Array()],
    ["no record", /no record/, () => gzip("")],
    ["a last line without its newline", /line 6 is not ended/, (text) => gzip(text.trimEnd())],
    ["a line that is not JSON", /line 2 is not JSON/, (text) => gzip(text.replace("}\n{", "}\n}"))],
    ["an empty line", /line 2 is not JSON/, (text) => gzip(text.replace("\n", "\n\n"))],
    ["a line that is no object", /line 1 is not a JSON object/, (text) => gzip(`[]\n${text}`)],
  ])("%s corrupts an object, and what it held is missing", ([, reason, make]) => {
    const report = auditOf({ key: ship(events).key, bytes: make(textOf(events)) });
    expect(faultsIn(report)).toEqual(["missing", "corrupted"]);
    expect(report.missing).toHaveLength(6);
    expect(report.corrupted[0]?.reason).toMatch(reason);
  });

  it("headers that differ between objects are no constant header", () => {
    const [first, second] = [ship(events.slice(0, 3)), ship(events.slice(3))];
    const report = auditOf(first, { ...second, bytes: gzipSync(textOf(events.slice(3))) });
    expect(faultsIn(report)).toEqual(["corrupted"]);
    expect(report.corrupted[0]?.reason).toContain(first.key);
  });

  function altered(change: (text: string) => string): Shipped {
    return { key: ship(events).key, bytes: gzip(change(textOf(events))) };
  }

  function renamed(from: string, to: string): Shipped {
    const { key, bytes } = ship(events);
    expect(key).toContain(from);
    return { key: key.replace(from, to), bytes };
  }
});
