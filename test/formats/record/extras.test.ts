/** Extra fields: what is taken of an event, and what never is. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Fault } from "../../../src/base/errors.ts";
import {
  CF_MAX_UNITS,
  EXTRA_MAX_UNITS,
  HEADER_MAX_UNITS,
  STACK_MAX_UNITS,
  STACKS_MAX,
  STACKS_MAX_UNITS,
} from "../../../src/base/limits.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import {
  CF_KEYS,
  entryOf,
  extrasOf,
  extraText,
  HEADERS,
  PREVIEW_KEYS,
  splitEntry,
  vettedExtras,
} from "../../../src/formats/record/extras.ts";
import { EXTRA_FIELDS, TAKEN_FIELDS, type TakenField } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import vectors from "../../support/tail-vectors.ts";
import { anyRecord, TAKEN, traceRecord } from "./samples.ts";

const CONTEXT = { takenInMs: TAKEN, defaultScriptName: "x", lenient: true };

const take = (input: unknown, extraFields: readonly TakenField[] = TAKEN_FIELDS): Record<string, unknown> =>
  JSON.parse(extrasOf(input, { ...CONTEXT, extraFields }, "", { faults: [], unknownKeys: new Set() }) || "{}");

function faultsOf(input: unknown): string[] {
  const faults: Fault[] = [];
  const context = { ...CONTEXT, lenient: false, extraFields: TAKEN_FIELDS };
  extrasOf(input, context, "/3", { faults, unknownKeys: new Set() });
  return faults.map(({ pointer }) => pointer);
}

const request = (headers: object, cf: object = {}) => ({
  event: { request: { url: "https://a.example/", headers, cf } },
});

describe("extra fields of a trace item", () => {
  it("are, of what the runtime gave, the headers, cf, stacks, id, model and flag that are listed", () => {
    const [first] = vectors;
    expect(take(first?.item)).toEqual({
      RequestHeaders: {
        accept: "*/*",
        "accept-encoding": "br, gzip",
        "cf-connecting-ip": "127.0.0.1",
        host: "localhost:5401",
        "user-agent": "curl/7.88.1",
      },
      RequestCF: {
        asn: 395_747,
        city: "Austin",
        clientTcpRtt: 0,
        colo: "DFW",
        continent: "NA",
        country: "US",
        httpProtocol: "HTTP/1.1",
        region: "Texas",
        regionCode: "TX",
        timezone: "America/Chicago",
        tlsCipher: "AEAD-AES128-GCM-SHA256",
        tlsVersion: "TLSv1.3",
      },
      ExecutionModel: "stateless",
    });
    const durable = vectors.find(({ item }) => "durableObjectId" in item && item.executionModel === "durableObject");
    expect(take(durable?.item)).toMatchObject({
      ExecutionModel: "durableObject",
      DurableObjectID: durable?.item.durableObjectId,
    });
    expect(take({ event: null, truncated: true })).toEqual({ Truncated: true });
    const thrown = vectors.find(({ item }) => item.exceptions?.some((each) => "stack" in each));
    const stacks = thrown?.item.exceptions?.map((each) => ("stack" in each ? each.stack : ""));
    expect(take(thrown?.item).ExceptionStacks).toEqual(stacks);
  });

  it.each(vectors)("$name has nothing where none is on, and no field that is not", ({ item }) => {
    const findings = { faults: [], unknownKeys: new Set<string>() };
    expect(extrasOf(item, CONTEXT, "", findings)).toBe("");
    for (const name of TAKEN_FIELDS) expect([[], [name]]).toContainEqual(Object.keys(take(item, [name])));
    expect(findings.faults).toEqual([]);
  });

  it("never are a credential, by whatever name it comes, nor a token in an address", () => {
    const secret = "s3cr3t-value";
    const names = ["authorization", "cookie", "set-cookie", "proxy-authorization", "x-api-key", "x-auth-token"];
    const more = [
      "cf-access-jwt-assertion",
      "sec-websocket-protocol",
      "sec-websocket-key",
      "if-none-match",
      "x-csrf-token",
    ];
    const addresses = { referer: `https://u:${secret}@shop.example/reset/${secret}?token=${secret}#${secret}` };
    const odd = {
      "user-agent": `Bearer ${secret}`,
      "x-request-id": `eyJhbGciOiJIUzI1NiJ9.${secret}`,
      origin: `//${secret}`,
    };
    const headers = { ...Object.fromEntries([...names, ...more].map((name) => [name, secret])), ...addresses, ...odd };
    const taken = take(request({ ...headers, Cookie: secret }, { tlsClientRandom: secret }));
    expect(taken).toEqual({ RequestHeaders: { referer: "https://shop.example" } });
    for (const name of [...names, ...more]) expect(HEADERS).not.toContain(name);
    for (const name of HEADERS) expect(name).not.toMatch(/auth|cookie|token|secret|jwt|key|signature/);
  });

  it("hold no more than their limits say, and no half of a character", () => {
    const long = `${"x".repeat(HEADER_MAX_UNITS - 1)}😀`;
    const exceptions = Array.from({ length: 30 }, () => ({
      name: "E",
      message: "",
      stack: "y".repeat(STACK_MAX_UNITS + 9),
    }));
    const { RequestHeaders, ExceptionStacks } = take({ ...request({ accept: long }), exceptions });
    expect(RequestHeaders).toEqual({ accept: "x".repeat(HEADER_MAX_UNITS - 1) });
    const stacks = ExceptionStacks as string[];
    expect(stacks).toHaveLength(STACKS_MAX);
    expect(stacks.join("")).toHaveLength(STACKS_MAX_UNITS);
    expect(stacks[0]).toHaveLength(STACK_MAX_UNITS);
    expect(stacks.at(-1)).toBe("");
  });

  const boom = { name: "TypeError", message: "boom", stack: "    at Object.fetch (shop.js:4:22)" };

  it("are of logged errors each with its line and argument, as the runtime tells them apart", () => {
    const logs = [
      { level: "log", message: ["no error"], timestamp: TAKEN },
      { level: "error", message: ["x", "TypeError: boom", 5], timestamp: TAKEN, errorInfo: [null, boom, null] },
      { level: "log", message: ["Error: only"], timestamp: TAKEN, errorInfo: [{ name: "Error", message: "only" }] },
    ];
    expect(take({ event: null, logs })).toEqual({
      LogErrors: [
        { Log: 1, Argument: 1, ...boom },
        { Log: 2, Argument: 0, name: "Error", message: "only", stack: "" },
      ],
    });
    expect(take({ event: null, logs }, ["ExceptionStacks"])).toEqual({});
    expect(faultsOf({ event: null, logs })).toEqual([]);
  });

  it("are what a record has of logged errors, and of its preview what the runtime has", () => {
    const LogErrors = [{ Log: 1, Argument: 1, ...boom }];
    const Preview = { id: "p1", slug: "new-cart", name: "New cart" };
    expect(take({ ScriptName: "shop", LogErrors, Preview })).toEqual({ LogErrors, Preview });
    expect(take({ event: null, preview: { ...Preview, alias: "x" } })).toEqual({ Preview });
    for (const preview of [undefined, null, {}]) expect(take({ event: null, preview })).toEqual({});
  });

  it("hold no more of logged errors than of stacks", () => {
    const long = { name: "E".repeat(9_000), message: "m".repeat(9_000), stack: "s".repeat(9_000) };
    const errorInfo = Array.from({ length: 30 }, () => long);
    const { LogErrors } = take({ event: null, logs: [{ errorInfo }] }) as { LogErrors: (typeof long)[] };
    expect(LogErrors).toHaveLength(STACKS_MAX);
    const texts = LogErrors.flatMap(({ name, message, stack }) => [name, message, stack]);
    expect(texts.join("")).toHaveLength(STACKS_MAX_UNITS);
    expect(Math.max(...texts.map(({ length }) => length))).toBe(STACK_MAX_UNITS);
  });

  it("are faults at the place of a logged error that is none, in items and records", () => {
    const logs = [{}, { errorInfo: [null, { ...boom, stack: 7 }, "boom"] }, { errorInfo: boom }];
    expect(faultsOf({ event: null, logs, preview: "p1" })).toEqual([
      "/3/logs/1/errorInfo/2",
      "/3/logs/2/errorInfo",
      "/3/logs/1/errorInfo/1/stack",
      "/3/preview",
    ]);
    expect(take({ event: null, logs })).toMatchObject({ LogErrors: [{ stack: "" }, { Argument: 2, name: "" }] });
    const LogErrors = [{ Log: -1, Argument: 0, ...boom }, 7, { Log: 0, Argument: 0, message: {} }];
    expect(faultsOf({ ScriptName: "shop", LogErrors, Preview: [] })).toEqual([
      "/3/LogErrors/0/Log",
      "/3/LogErrors/1",
      "/3/LogErrors/2/message",
      "/3/Preview",
    ]);
  });

  it("are faults where they are of another type, and nothing in tail()", () => {
    const wrong = {
      ...request({ accept: ["x"], "x-odd": 7 }, { country: { a: 1 }, asn: "AS1" }),
      ...{
        durableObjectId: 7,
        executionModel: {},
        truncated: "yes",
        exceptions: [{ name: "E", message: "", stack: 7 }],
      },
    };
    expect(faultsOf(wrong)).toEqual([
      "/3/event/request/headers/accept",
      "/3/exceptions/0",
      "/3/durableObjectId",
      "/3/executionModel",
      "/3/truncated",
    ]);
    expect(take(wrong)).toEqual({ RequestCF: { asn: "AS1" } });
    const unreadable = Object.defineProperty({}, "headers", {
      get: () => {
        throw new Error("gone");
      },
    });
    expect(take({ event: { request: unreadable }, executionModel: "stateless" })).toEqual({});
  });
});

const value = fc.oneof(fc.string({ unit: "binary", maxLength: 20 }), fc.integer(), fc.boolean(), fc.constant(null));
const foreign = fc.record({
  RequestHeaders: fc.dictionary(fc.oneof(fc.constantFrom(...HEADERS, "cookie"), fc.string()), value),
  RequestCF: fc.dictionary(fc.oneof(fc.constantFrom(...CF_KEYS, "tlsClientRandom"), fc.string()), value),
  ExceptionStacks: fc.array(value, { maxLength: 4 }),
  DurableObjectID: value,
  ExecutionModel: value,
  Truncated: value,
  LogErrors: fc.array(
    fc.oneof(
      fc.record({ Log: value, Argument: value, name: value, message: value, stack: value, Other: value }),
      value,
    ),
    { maxLength: 4 },
  ),
  Preview: fc.dictionary(fc.oneof(fc.constantFrom(...PREVIEW_KEYS), fc.string()), value),
  Source: value,
  Cookie: value,
});

describe("extra fields of a record", () => {
  it("are those of its own names, and of these what a trace item may have", () => {
    fc.assert(
      fc.property(foreign, fc.subarray([...TAKEN_FIELDS]), (fields, on) => {
        const taken = take({ ScriptName: "shop", ...fields }, on);
        for (const name of Object.keys(taken)) expect(on).toContain(name);
        const { RequestHeaders = {}, RequestCF = {} } = taken as { [name: string]: object };
        for (const name of Object.keys(RequestHeaders)) expect(HEADERS).toContain(name);
        for (const name of Object.keys(RequestCF)) expect(CF_KEYS).toContain(name);
        for (const name of Object.keys(taken.Preview ?? {})) expect(PREVIEW_KEYS).toContain(name);
        for (const error of (taken.LogErrors ?? []) as object[])
          expect(Object.keys(error)).toEqual(["Log", "Argument", "name", "message", "stack"]);
      }),
      { numRuns: 200 },
    );
  });

  it("are vetted to the same, and from foreign writers to nothing else", () => {
    fc.assert(
      fc.property(foreign, (fields) => {
        const taken = take({ ScriptName: "shop", ...fields });
        const text = Object.keys(taken).length === 0 ? "" : JSON.stringify(taken);
        expect(vettedExtras(JSON.stringify(fields))).toBe(text);
        expect(vettedExtras(text)).toBe(text);
      }),
      { numRuns: 200 },
    );
    const most = {
      RequestHeaders: Object.fromEntries(HEADERS.map((name) => [name, "\u0001".repeat(HEADER_MAX_UNITS)])),
      ExceptionStacks: Array.from({ length: 4 }, () => "\u0001".repeat(STACK_MAX_UNITS)),
      RequestCF: Object.fromEntries(CF_KEYS.map((name) => [name, "\u0001".repeat(CF_MAX_UNITS)])),
      LogErrors: Array.from({ length: STACKS_MAX }, () => ({
        ...{ Log: Number.MAX_SAFE_INTEGER, Argument: Number.MAX_SAFE_INTEGER },
        ...{ name: "E", message: "", stack: "\u0001".repeat(STACK_MAX_UNITS) },
      })),
    };
    const longest = JSON.stringify(take({ ScriptName: "shop", ...most }));
    expect(vettedExtras(longest)).toBe(longest);
    expect(longest.length).toBeGreaterThan(EXTRA_MAX_UNITS / 2);
    expect(vettedExtras(`{"Truncated":true,"x":[${"{},".repeat(EXTRA_MAX_UNITS / 3)}0]}`)).toBe("");
    for (const text of ["", "{", "[]", "7", "null", '{"Cookie":"x"}', '{"RequestHeaders":7}'])
      expect(vettedExtras(text)).toBe("");
  });

  it("are read from the text of all of them, each as it is, and empty where it is not there", () => {
    const empty = {
      RequestHeaders: {},
      RequestCF: {},
      ExceptionStacks: [],
      DurableObjectID: "",
      ExecutionModel: "",
      Truncated: false,
      LogErrors: [],
      Preview: {},
    };
    fc.assert(
      fc.property(anyRecord, foreign, (record, fields) => {
        const taken = take({ ScriptName: "shop", ...fields });
        const extra = Object.keys(taken).length === 0 ? "" : JSON.stringify(taken);
        const line = recordLine(record);
        expect(splitEntry(entryOf(line, extra))).toEqual({ line, extra });
        const read = RecordLine.ofEntry(entryOf(line, extra), "rpc");
        expect([read?.line, read?.extra, read?.Source]).toEqual([line, extra, "rpc"]);
        for (const name of TAKEN_FIELDS) {
          expect(JSON.parse(extraText(extra, name))).toEqual(taken[name] ?? empty[name]);
          expect(read?.[name]).toEqual(taken[name] ?? empty[name]);
          expect(read?.text(name)).toBe(extraText(extra, name));
        }
      }),
      { numRuns: 200 },
    );
  });

  it("are no part of the record", () => {
    const line = recordLine(traceRecord());
    const read = RecordLine.read(line, "tail", '{"Truncated":true}');
    expect(JSON.parse(read?.line ?? "")).toEqual(traceRecord());
    expect(EXTRA_FIELDS.filter((name) => name in traceRecord())).toEqual([]);
  });
});
