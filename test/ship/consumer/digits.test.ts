/** Numbers and keys that JSON readers alter, from each way in to a bucket. */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { gunzipSync } from "node:zlib";
import { DEFAULT_PARSERS } from "hyparquet/src/convert.js";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Shipper } from "../../../src/index.ts";
import { readCsv } from "../../formats/output/read-csv.ts";
import { canonical, KEYS, NUMBERS } from "../../formats/record/canonical.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { rowsIn } from "../../support/parquet-files.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

/** One object with every hostile key, and one for each hostile number. */
const OBJECTS = [
  `{${KEYS.map((key, i) => `${key}: [${NUMBERS[i % NUMBERS.length]}]`).join(" , ")}}`,
  ...NUMBERS.map((number) => `{ "b":${number},"1":{"\\"":${number}},"0":[${number}] }`),
];
const eventOf = (json: string): string =>
  `{\n  "Event": ${json},\n  "Logs": [\n    { "Level": "log", "TimestampMs": ${NOON}, "Message": [${json}] }\n  ],\n  "EventTimestampMs": ${NOON}\n}\n`;

const FIELDS = ["Event", "Logs"] as const;
type Found = [event: string | undefined, logs: string | undefined];

const READ: { readonly [type: string]: (bytes: Uint8Array) => Found[] | Promise<Found[]> } = {
  ndjson: (bytes) =>
    linesOf(bytes).map((line) => {
      const at = line.lastIndexOf(',"Logs":');
      return [line.slice('{"Event":'.length, at), line.slice(at + ',"Logs":'.length, -1)];
    }),
  csv: (bytes) => readCsv(`${linesOf(bytes).join("\n")}\n`, ",").map(([event, logs]) => [event, logs]),
  parquet: async (bytes) => {
    const jsonFromBytes = (json: Uint8Array): string => new TextDecoder().decode(json);
    const rows = await rowsIn(bytes, { ...DEFAULT_PARSERS, jsonFromBytes });
    return rows.map(({ Event, Logs }) => [Event as string, Logs as string]);
  },
};

function linesOf(bytes: Uint8Array): string[] {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(gunzipSync(bytes)).split("\n").slice(0, -1);
}

async function post(world: World, body: string, type: string): Promise<number> {
  const ctx = createExecutionContext();
  const url = `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/datasets/functions_trace_events/events`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": type };
  const answer = await world.isolate.fetch(new Request(url, { method: "POST", headers, body }), world.env, ctx);
  await waitOnExecutionContext(ctx);
  return answer.status;
}

describe.each(Object.keys(READ))("an object of %s", (output_type) => {
  async function shipped(send: (world: World) => Promise<unknown>): Promise<Found[]> {
    const world = new World(NOON);
    const bucket = freshBucket();
    const id = await createJob(bucket.name, {
      destination_conf: destinationConf(bucket.name),
      output_options: { output_type, field_names: [...FIELDS] },
    });
    await send(world);
    await world.deliverDue();
    await api("POST", `/logship/jobs/${id}/flush`);
    const objects = (await bucket.control.contents()).filter(({ key }) => /\.(?:log\.gz|parquet)$/.test(key));
    expect(objects.length).toBe(1);
    return READ[output_type]?.(objects[0]?.bytes ?? new Uint8Array()) ?? [];
  }

  const logsOf = (text: string): string => JSON.stringify([{ Level: "log", Message: [text], TimestampMs: NOON }]);
  const owed = OBJECTS.map((json) => [canonical(json), logsOf(canonical(json))]);
  // A quote in a text is written in another way there, which JSON reads alike.
  const asJson = (found: Found[]): unknown[] =>
    found.map(([event, logs]) => [event, JSON.stringify(JSON.parse(logs ?? ""))]);

  it("has the digits and keys that were sent over HTTP", async () => {
    const body = OBJECTS.map(eventOf).join("");
    const found = await shipped(async (world) => expect(await post(world, body, "application/json")).toBe(202));
    expect(asJson(found)).toEqual(owed);
  });

  it("has them of lines, too", async () => {
    const body = OBJECTS.map((json) => eventOf(json).replaceAll("\n", " ")).join("\n");
    const found = await shipped(async (world) => expect(await post(world, body, "application/x-ndjson")).toBe(202));
    expect(asJson(found)).toEqual(owed);
  });

  it("has those that a value of JavaScript has, over RPC", async () => {
    const event = { b: 0.1 + 0.2, 9: [2 ** 53, -0], '"': Number.POSITIVE_INFINITY, '\\"': 1e21, __proto_: 5e-324 };
    const found = await shipped((world) =>
      new Shipper(createExecutionContext() as ExecutionContext<unknown>, world.env).ship({
        EventTimestampMs: NOON,
        Event: event,
        Logs: [{ Level: "log", TimestampMs: NOON, Message: [event, "9007199254740993"] }],
      }),
    );
    const text = '{"9":[9007199254740992,0],"b":0.30000000000000004,"\\"":null,"\\\\\\"":1e+21,"__proto_":5e-324}';
    expect(found[0]?.[0]).toBe(text);
    expect(JSON.parse(found[0]?.[1] ?? "")).toEqual([
      { Level: "log", Message: [text, "9007199254740993"], TimestampMs: NOON },
    ]);
  });
});
