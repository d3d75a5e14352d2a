import { describe, expect, it } from "vitest";
import { compileFilter } from "../../../src/formats/filter/compile.ts";
import { readQuery } from "../../../src/formats/query/meaning.ts";

const RECORD = {
  CPUTimeMs: 3,
  Event: {
    RayID: "8f14e45fceea167a",
    Request: { URL: "https://api.shop.example:8787/checkout/cart?x=1", Method: "POST" },
    Response: { Status: 503 },
  },
  EventTimestampMs: 1_795_176_000_000,
  EventType: "fetch",
  Exceptions: [{ name: "TypeError", message: "Cannot read properties of undefined (reading 'id')", TimestampMs: 1 }],
  Logs: [
    { Level: "warn", Message: ["refund refused for cus_8H2", '{"customer":4711,"order":{"plan":"gold"}}'] },
    {
      Level: "log",
      Message: ['{"status":"failed","http.route":"/pay","items":[{"sku":"A-1"},{"sku":"B-2"}],"paid":false}'],
    },
  ],
  Outcome: "exception",
  ScriptName: "checkout-api",
  ScriptTags: ["prod", "team-pay"],
  ScriptVersion: { ID: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", Tag: "v42", Message: "" },
  WallTimeMs: 1_200,
};

function finds(query: string): boolean {
  const read = readQuery(query);
  if (!read.ok || read.question === null) throw new Error(`${query}: ${JSON.stringify(read)}`);
  return compileFilter(read.question)(RECORD as never);
}

describe("a record on call", () => {
  it.each([
    ...[
      "refund cus_8H2",
      "REFUND -declined",
      '"refund refused"',
      "timeout OR refund",
      "(a OR refund) checkout",
      "refun*",
      "*efun*",
      '"refund refus"*',
    ],
    ...["TypeError: Cannot read properties of undefined (reading 'id')", "1200", "503 POST", "order:*", "-declined"],
    ...["level:error", "level:warning", "level:WARN", "-level:debug", "status:503", "status:5xx", "status:>=500"],
    ...["status:(500 OR 503)", "path:/checkout/*", "path:/checkout/cart", "path:/checkout/cart?x=1", "path:*/cart"],
    ...["host:api.shop.example", "host:*.shop.example", "host:api.shop.example:8787", "method:post", "type:fetch"],
    ...["function:checkout-api", "worker:checkout-*", "version:v4", "version:6ba7b810*", "outcome:exception"],
    ...[
      "ray:8f14e45fceea167a",
      "ray:8F14E45FCEEA167A-FRA",
      "ray:8f14*",
      "took:>1s",
      "took:1200ms",
      "took:<0.1m",
      "cpu:<=3",
    ],
    ...["customer:4711", "customer:>4000", "customer:*", "order.plan:gold", '"order.plan":"gold"', "items.sku:b-2"],
    ...["http.route:/pay", "Fields.status:failed", "paid:false", "ScriptTags:prod", "Exceptions.name:TypeError"],
    ...[
      "Exceptions:undefined",
      "Logs:refused",
      "Logs.Level:warn",
      "ScriptVersion.Tag:v42",
      "ScriptVersion:v42",
      "Event:*",
    ],
  ])("is found by %s", (query) => expect(finds(query)).toBe(true));

  it.each([
    ...[
      "refund declined",
      '"refused refund"',
      "efund",
      "refun",
      "efun*",
      '"refund refus"',
      "-refund",
      "120",
      "50",
      "level:log level:info",
      "status:4xx",
      "status:<500",
    ],
    ...[
      "path:/checkout",
      "path:checkout",
      "host:shop.example",
      "method:PUT",
      "worker:checkout",
      "version:42",
      "ray:8f14",
    ],
    ...["took:>2s", "took:1s", "cpu:>3", "customer:471", "customer:>5000", "plan:gold", "order.plan:gol", "items:*-1"],
    ...["status:5xx -level:error", "ScriptTags:pay", "Logs:warn", "cron:*", "Exceptions:Range*", "-customer:*"],
  ])("is not found by %s", (query) => expect(finds(query)).toBe(false));

  it.each([
    [
      "status:teapot",
      7,
      "status is a number, as in status:503, status:5xx or status:>=500; of a logged object, it is Fields.status",
    ],
    ["x took:soon", 7, "took is a time, as in took:>1s, took:>=250ms or took:<2m"],
    ["cpu:1s*", 4, "cpu is a time"],
    ["level:>warn", 7, "a level is named, as in level:error"],
    ["Logs:>5", 6, "Logs is no number: name what lies below it"],
    ["-(a OR Event.n:>x)", 16, "Event.n:> needs a number"],
  ])("%s has a fault at %i", (query, at, message) => {
    const read = readQuery(query);
    expect(read).toEqual({ ok: false, fault: { at, message: expect.stringContaining(message) } });
  });

  it.each([
    ["https://[2001:db8::1]:8443/x", ["host:[2001:db8::1]", "host:[2001:db8::1]:8443", "host:[2001:*"]],
    ["https://[2001:db8::1]/x", ["host:[2001:db8::1]", "host:[2001:db8::1]*"]],
  ])("the host of %s is found with and without its port", (URL, queries) => {
    for (const query of queries) {
      const read = readQuery(query);
      if (!read.ok || read.question === null) throw new Error(query);
      expect(compileFilter(read.question)({ Event: { Request: { URL } } } as never), query).toBe(true);
    }
  });

  it("escapes of letters hide nothing but their own object", () => {
    const one = { ...RECORD, Logs: [{ Message: ['{"customer":"\\u0061lice"}', '{"customer":"bob"}'] }] };
    const passes = (query: string) => {
      const read = readQuery(query);
      return read.ok && read.question !== null && compileFilter(read.question)(one as never);
    };
    expect([passes("customer:alice"), passes("customer:bob")]).toEqual([false, true]);
  });
});
