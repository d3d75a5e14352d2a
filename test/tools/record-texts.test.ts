/** The browser evaluates the source of these functions: they must not use anything from outside. */

import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { parseFilter } from "../../src/formats/filter/parse.ts";
import { EXTRA_FIELDS } from "../../src/formats/record/fields.ts";
import { readWants } from "../../src/operate/live/wants.ts";
import { curlOf, leavesOf, narrowed, recordFilters } from "../../src/web/dashboard/parts/record-filter.ts";
import { recordTexts } from "../../src/web/dashboard/parts/record-summary.ts";

it("the texts of a record are the same in a browser, which has their source alone", () => {
  const there: ReturnType<typeof recordTexts> = new Function(`return (${recordTexts})()`)();
  const here = recordTexts();
  for (const record of [
    null,
    { EventTimestampMs: 1, Outcome: "ok", ScriptName: "a", EventType: "queue", Event: { Queue: "q", BatchSize: 2 } },
    { EventType: "fetch", Event: { Request: { Method: "GET", URL: "/" }, Response: { Status: 200 } } },
    ...["scheduled", "email", "worker_rpc", "hibernatable_web_socket", "alarm", "onHibernate", "connect"].map(
      (EventType) => ({ EventType }),
    ),
    { Exceptions: [{ name: "Error", message: "x" }], Logs: [{ Level: "warn", Message: ["a", 1] }] },
    { Logs: [{ Level: "log", Message: "x".repeat(1_000) }] },
    ...["log", "exception", "other"].map((RowType) => ({ RowType, ExceptionName: "E", Level: "warn", Message: "m" })),
  ])
    expect(there.rowOf(record, "tail")).toEqual(here.rowOf(record, "tail"));
  expect(there.visible("a\u001b\u007f\u202e")).toBe(here.visible("a\u001b\u007f\u202e"));
});

/** null: it is refused. */
function passes(filter: string, record: object): boolean | null {
  const read = readWants({ filter, query: "" });
  return read.ok ? read.wanted.fitsAgain(record, "") : null;
}

describe("in a browser", () => {
  const there: ReturnType<typeof recordFilters> = new Function(`return (${recordFilters})()`)();
  const RECORD = {
    CPUTimeMs: 3,
    Event: {
      Request: { Method: "POST", URL: "https://shop.example/a", Headers: [{ "x.y": "z" }] },
      Response: { Status: 502 },
      RayID: "8f",
      IsSecret: true,
      "a.b": 1,
      Long: "ä".repeat(900),
    },
    Exceptions: [{ name: "TypeError", message: "x is not a function", TimestampMs: 1 }],
    Logs: [{ Level: "log", Message: ['order "7"', "", 42, true], TimestampMs: 1 }],
    Outcome: "exception",
    ScriptName: "shop",
    ScriptTags: ["a", "t".repeat(600)],
    ScriptVersion: { ID: "v1" },
    ExceptionStacks: ["at shop.js:1"],
    LogErrors: [{ Log: 0, Argument: 1, name: "Error", message: "inner", stack: "at logged.js:1" }],
    Preview: { slug: "new-cart" },
    RequestHeaders: { "user-agent": "curl/8" },
    RequestCF: { asn: 7 },
    ExecutionModel: "stateless",
    Truncated: true,
  };

  it("each value that a filter can name leads to a filter for it, and one against it", () => {
    const leaves = leavesOf(RECORD);
    const named = leaves.flatMap(({ condition, path }) => (condition === null ? [] : [[path, condition] as const]));
    const left = leaves.flatMap(({ condition, path }) => (condition === null ? [path] : []));
    expect(left).toEqual([
      "Event.Request.Headers[0].x.y",
      "Event.a.b",
      "Exceptions[0].TimestampMs",
      "Logs[0].Level",
      "Logs[0].Message[1]",
      "Logs[0].Message[2]",
      "Logs[0].Message[3]",
      "Logs[0].TimestampMs",
      "ScriptTags[1]",
      "LogErrors[0].Log",
      "LogErrors[0].Argument",
    ]);
    for (const [path, condition] of named) {
      for (const before of ["", JSON.stringify({ where: { key: "ScriptName", operator: "eq", value: "shop" } })]) {
        for (const isAgainst of [false, true]) {
          const filter = narrowed(before, condition, isAgainst);
          expect(parseFilter(filter, EXTRA_FIELDS).ok, filter).toBe(true);
          expect([path, passes(filter, RECORD)]).toEqual([path, !isAgainst]);
        }
      }
    }
  });

  it.each([
    [{ Outcome: "ok" }, false],
    [{ Outcome: "exceededCpu" }, true],
    [{ Outcome: "ok", Exceptions: [{ name: "Error", message: "" }] }, true],
    [{ Outcome: "ok", Event: { Response: { Status: 500 } } }, true],
    [{ Outcome: "ok", Event: { Response: { Status: 499 } } }, false],
  ])("what failed is %j: %s", (fields, isFailed) => {
    const record = { ScriptName: "shop", Exceptions: [], ...fields };
    const shop = JSON.stringify({ where: { key: "ScriptName", operator: "!eq", value: "bank" } });
    for (const filter of ["", shop]) {
      expect(passes(there.combined(filter, "shop", "failed"), record)).toBe(isFailed);
      expect(passes(there.combined(filter, "bank", "failed"), record)).toBe(false);
      expect(passes(there.combined(filter, "shop", "ok"), record)).toBe(fields.Outcome === "ok");
      expect(there.combined(filter, "", "")).toBe(filter);
    }
    // What is no filter is told as such.
    expect(there.combined("{", "shop", "failed")).toBe("{");
  });

  it("a request becomes a command that a shell passes on as it is", () => {
    const curl = (Method: string, URL: string) => curlOf({ Event: { Request: { Method, URL } } });
    expect(curl("GET", "https://a.example/?q=[1-9]{a}")).toBe("curl --globoff 'https://a.example/?q=[1-9]{a}'");
    expect(curl("HEAD", "https://a.example/")).toBe("curl --globoff --head 'https://a.example/'");
    const evil = "https://a.example/'$(touch x)`id`!!\u001b[31m\u202e\n;rm -rf ~#\ud800é";
    const command = curl("DELETE", evil) ?? "";
    expect(command).toMatch(/^curl --globoff -X DELETE '[!-~]*'$/);
    const words = execFileSync("sh", ["-c", `set -- ${command}; printf '%s\\n' "$@"`], { encoding: "utf8" });
    expect(words).toBe(`curl\n--globoff\n-X\nDELETE\n${new URL(evil).href}\n`);
    for (const [method, url] of [
      ["GET;id", "https://a.example/"],
      ["GET", "file:///etc/passwd"],
      ["GET", "https://"],
      ["", ""],
    ] as const)
      expect(curl(method, url)).toBeNull();
    expect(curlOf({ Event: "x" })).toBeNull();
  });
});
