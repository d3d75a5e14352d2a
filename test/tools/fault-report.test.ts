import { describe, expect, it } from "vitest";
import { faultTable, kindTable } from "../../tools/faults/fault-report.ts";
import { SOAK_VARIABLE, soakSettings } from "../support/soak-settings.ts";

describe("the table of faults", () => {
  it("has a line for each row, and the sums of all", () => {
    const rows = [
      { row: "the log dies", events: 1_200, faults: 3, objects: 10 },
      { row: "the store hangs", events: 80, faults: 1, objects: 4 },
    ];
    expect(faultTable(rows).split("\n")).toEqual([
      "events  faults  objects  fault",
      " 1,200       3       10  the log dies",
      "    80       1        4  the store hangs",
      " 1,280       4       14  2 rows",
    ]);
  });

  it("has a line for each kind of destination, with what it has again", () => {
    const rows = [
      { row: "a", events: 1_200, faults: 3, objects: 10, kind: "s3", doubled: 0 },
      { row: "b", events: 80, faults: 1, objects: 4, kind: "otlp", doubled: 7 },
      { row: "c", events: 20, faults: 2, objects: 1, kind: "otlp", doubled: 5 },
      { row: "d", events: 1, faults: 1, objects: 0 },
    ];
    expect(kindTable(rows).split("\n")).toEqual([
      "rows  events  faults  lost  doubled  kind",
      "   2     100       3     0       12  otlp",
      "   1   1,200       3     0        0  s3",
      "   1       1       1     0        0  several",
    ]);
  });
});

describe("the settings of the soak", () => {
  it("are those that were handed on, and a short run of a fixed seed otherwise", () => {
    const set = { seed: 7, first: 12, episodes: 3, minutes: 30 };
    expect(soakSettings({ [SOAK_VARIABLE]: JSON.stringify(set) })).toEqual(set);
    expect(soakSettings({})).toEqual(soakSettings({}));
    expect(soakSettings({}).episodes).toBeLessThan(20);
    expect(() => soakSettings({ [SOAK_VARIABLE]: "x" })).toThrow(SyntaxError);
  });
});
