/**
 * Extra fields from every way in to the object: through queue, packer, and what
 * is set aside; and what is never taken is in no message.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { encodeExtras } from "../../../src/formats/queue/extras.ts";
import { load } from "../../../src/formats/queue/load-records.ts";
import { decodeEnvelope, encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { EXTRA_FIELDS, type ExtraField } from "../../../src/formats/record/fields.ts";
import { arrivedOf } from "../../../src/operate/live/arrived.ts";
import type { PreviewResult } from "../../../src/web/api/preview.ts";
import { noise, traceRecord } from "../../formats/record/samples.ts";
import { searchFor } from "../../operate/search/searched.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import type { Minted } from "../../support/oracle.ts";
import { readMessage } from "../../support/read-message.ts";
import { api, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import { call } from "../../web/api/harness.ts";

const ON = { settings: { EXTRA_FIELDS: EXTRA_FIELDS.join() } };
const SECRET = "zq7secret";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

const INNER = { name: "Error", message: "inner", stack: "at logged.js:1" };

/** A trace item with everything that may be taken, and secrets in all that may not. */
const item = (fields: object = {}): object => ({
  scriptName: "shop",
  eventTimestamp: NOON,
  outcome: "exception",
  event: {
    request: {
      url: "https://shop.example/REDACTED",
      method: "GET",
      headers: {
        "user-agent": "curl/8",
        referer: `https://shop.example/?t=${SECRET}`,
        authorization: SECRET,
        "proxy-authorization": SECRET,
        cookie: SECRET,
        "set-cookie": SECRET,
        "x-api-token": SECRET,
        "sec-websocket-protocol": SECRET,
      },
      cf: { colo: "DFW", country: "US", asn: 7, tlsVersion: "TLSv1.3", postalCode: SECRET, tlsClientRandom: SECRET },
    },
    response: { status: 500, headers: { "set-cookie": SECRET } },
  },
  exceptions: [{ name: "Error", message: "m", timestamp: NOON, stack: "at shop.js:1" }],
  durableObjectId: "d0",
  executionModel: "durableObject",
  truncated: true,
  logs: [{ level: "error", message: ["failed", "Error: inner"], timestamp: NOON, errorInfo: [null, INNER] }],
  preview: { id: "p0", slug: "new-cart", name: "New cart", alias: SECRET },
  tailAttributes: { a: SECRET },
  diagnosticsChannelEvents: [{ channel: SECRET, message: SECRET }],
  ...fields,
});

const TAKEN = {
  RequestHeaders: { referer: "https://shop.example", "user-agent": "curl/8" },
  RequestCF: { asn: 7, colo: "DFW", country: "US", tlsVersion: "TLSv1.3" },
  ExceptionStacks: ["at shop.js:1"],
  DurableObjectID: "d0",
  ExecutionModel: "durableObject",
  Truncated: true,
  LogErrors: [{ Log: 0, Argument: 1, ...INNER }],
  Preview: { id: "p0", slug: "new-cart", name: "New cart" },
};

const minted = (world: World, event: object): Minted[] => world.mint(1).map((each) => ({ ...each, event }) as Minted);

/** A world whose intake takes these, and a job that ships all. */
async function extraJob(fields: object = {}, on: readonly ExtraField[] = EXTRA_FIELDS) {
  const world = new World(NOON);
  Object.assign(world.env, { EXTRA_FIELDS: on.join() });
  const bucket = freshBucket();
  const answer = await call<{ id: number }>(
    "POST",
    "/logship/jobs",
    {
      destination_conf: destinationConf(bucket.name),
      enabled: true,
      output_options: { field_names: ["Outcome", ...EXTRA_FIELDS] },
      ...fields,
    },
    ON,
  );
  expect(answer.body.errors).toEqual([]);
  const { id } = answer.body.result;
  const text = async (): Promise<string> => {
    await world.deliverDue();
    await api("POST", `/logship/jobs/${id}/flush`);
    const objects = (await bucket.control.contents()).filter(({ key }) => key.endsWith(".log.gz"));
    const members = objects.map(({ bytes }) => readSingleMember(bytes));
    return members.map((each) => (each.ok ? new TextDecoder().decode(each.raw) : each.reason)).join("");
  };
  const shipped = async (): Promise<Record<string, unknown>[]> =>
    (await text())
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { world, id, text, shipped };
}

const bytesOf = (body: Uint8Array): ArrayBuffer => new Uint8Array(body).buffer;

/** Everything that the queue and the blob store were given, inflated. */
function messagesIn(world: World): string {
  return world.queue.held
    .map(({ body }) => {
      const message = readMessage(bytesOf(body));
      return message.ok ? JSON.stringify(message.value) : "";
    })
    .join("");
}

const WAYS: readonly [string, (world: World, event: object) => Promise<unknown>][] = [
  ["tail()", (world, event) => world.tail(minted(world, event))],
  ["RPC", (world, event) => world.ship(minted(world, event))],
  ["RPC with a key", (world, event) => world.ship(minted(world, event), "key")],
  ["HTTP", (world, event) => world.take(minted(world, event))],
  ["HTTP with a key", (world, event) => world.take(minted(world, event), 1, { key: "key", ndjson: true })],
];

describe.each(WAYS)("by %s", (_way, send) => {
  it("extra fields reach the object, and what is never taken is in no message", async () => {
    const { world, shipped } = await extraJob();
    await send(world, item());
    const messages = messagesIn(world);
    expect(messages).toContain("curl/8");
    expect(messages).not.toContain(SECRET);
    expect(await shipped()).toEqual([{ Outcome: "exception", Source: expect.any(String), ...TAKEN }]);
  });

  it("nothing of them is in a message where none is on, and a job that has them ships them empty", async () => {
    const { world, shipped } = await extraJob({}, ["Source"]);
    await send(world, item());
    const messages = messagesIn(world);
    expect(messages).toContain("shop.example");
    for (const each of ["curl/8", "DFW", "shop.js", "durableObject", "logged.js", "new-cart", '"extras"', SECRET])
      expect(messages).not.toContain(each);
    const empty = { RequestHeaders: {}, RequestCF: {}, ExceptionStacks: [], DurableObjectID: "", ExecutionModel: "" };
    expect(await shipped()).toMatchObject([{ ...empty, Truncated: false, LogErrors: [], Preview: {} }]);
  });
});

describe("extra fields", () => {
  it("stay with what goes to the log directly", async () => {
    const { world, shipped } = await extraJob();
    const message = [noise(600_000, 1), "Error: inner"];
    await world.ship(minted(world, item({ logs: [{ message, level: "log", errorInfo: [null, INNER] }] })));
    await world.deliverDue();
    world.queue.sendFault = () => "refused";
    await world.tail(minted(world, item()));
    await world.mend();
    await world.settle();
    expect((await shipped()).toSorted((a, b) => `${a.Source}`.localeCompare(`${b.Source}`))).toMatchObject([
      { ...TAKEN, Source: "rpc" },
      { ...TAKEN, Source: "tail" },
    ]);
  });

  it("stay with what is put on hold, of any writer", async () => {
    const { world, shipped } = await extraJob();
    await world.tail(minted(world, item()));
    const parts = ["a", "b"].map((id) => ({ id: id.repeat(32), takenInMs: NOON, keyed: false, shards: 1, records: 1 }));
    const line = `${recordLine(traceRecord())}\n`;
    const extras = ['{"Truncated":true}', `{"RequestHeaders":{"cookie":"${SECRET}","accept":"*/*"}}`];
    const body = { body: encodeExtras(extras) };
    world.queue.put(encodeParts(parts as [Part, ...Part[]], encodeUtf8(line + line), body));
    for (const message of world.queue.held) message.dead = true;
    await world.deliverDue();
    expect((await api("POST", "/logship/set-aside/resend", { skip: 0 })).body.result).toMatchObject({ sent: 2 });
    const { true: [taken] = [], false: found = [] } = Object.groupBy(
      await shipped(),
      ({ Source }) => `${Source === "tail"}`,
    );
    expect(taken).toMatchObject(TAKEN);
    const kept = found.map(({ Truncated, RequestHeaders }) => JSON.stringify([Truncated, RequestHeaders]));
    expect(kept.sort()).toEqual(['[false,{"accept":"*/*"}]', "[true,{}]"]);
  });

  it("are filtered on, each by its type, and written as CSV", async () => {
    const where = {
      and: [
        { key: "RequestHeaders.user-agent", operator: "startsWith", value: "curl/" },
        { key: "RequestCF.asn", operator: "lt", value: 8 },
        { key: "RequestCF.country", operator: "in", value: ["US", "CA"] },
        { key: "ExceptionStacks", operator: "contains", value: "shop.js" },
        { key: "ExceptionStacks", operator: "!contains", value: "other.js" },
        { key: "LogErrors", operator: "contains", value: "logged.js" },
        { key: "LogErrors", operator: "contains", value: "inner" },
        { key: "LogErrors", operator: "!contains", value: "shop.js" },
        { key: "Preview.slug", operator: "eq", value: "new-cart" },
        { key: "DurableObjectID", operator: "eq", value: "d0" },
        { key: "ExecutionModel", operator: "!eq", value: "stateless" },
        { key: "Truncated", operator: "eq", value: true },
        { key: "RequestHeaders.accept", operator: "!eq", value: "x" },
        { key: "Source", operator: "startsWith", value: "http:" },
      ],
    };
    const output_options = { output_type: "csv", field_names: ["ExceptionStacks", "Truncated", "RequestHeaders"] };
    const { world, text, id } = await extraJob({ filter: JSON.stringify({ where }), output_options });
    await world.take(minted(world, item({ exceptions: [{ name: "E", message: "", stack: 'shop.js "ä"' }] })));
    for (const other of [
      { truncated: false },
      { exceptions: [] },
      { durableObjectId: "d1" },
      { logs: [] },
      { preview: null },
    ])
      await world.take(minted(world, item(other)));
    const row = '"[""shop.js \\""ä\\""""]",true,"{""referer"":""https://shop.example"",""user-agent"":""curl/8""}"\n';
    expect(await text()).toBe(row);
    const { body } = await api<{ bytes_raw: number; filtered: number }>("GET", `/logship/jobs/${id}/ledger`);
    expect(body.result).toMatchObject({ bytes_raw: encodeUtf8(row).length, filtered: 5 });
  });

  it("are searched where they are shipped, for the stack of a logged error as well", async () => {
    const { world, shipped } = await extraJob();
    await world.tail(minted(world, item()));
    await world.tail(minted(world, item({ logs: [] })));
    expect(await shipped()).toHaveLength(2);
    const span = { since: new Date(NOON - 1_000).toISOString(), until: new Date(NOON + 1_000).toISOString() };
    for (const text of ["LOGGED.js:1", "at logged"]) {
      const { hits } = await searchFor({ ...span, text });
      expect(hits.map(({ record }) => record.LogErrors)).toEqual([TAKEN.LogErrors]);
    }
    expect((await searchFor({ ...span, text: "logged.js:2" })).hits).toEqual([]);
  });

  it("are with recent and given events of a preview, and with live ones", async () => {
    const { world } = await extraJob();
    await world.tail(minted(world, item()));
    const [held] = world.queue.held.map(({ body }) => bytesOf(body));
    await world.deliverDue();
    const output_options = { field_names: ["RequestCF", "Truncated"] };
    const filter = JSON.stringify({ where: { key: "RequestCF.colo", operator: "eq", value: "DFW" } });
    const text = `{"RequestCF":${JSON.stringify(TAKEN.RequestCF)},"Truncated":true}\n`;
    for (const events of [null, [item()]]) {
      const { body } = await call<PreviewResult>("POST", "/logship/preview", { output_options, filter, events }, ON);
      expect(body.result.records.map((each) => each.text)).toEqual([text]);
    }
    const loading = load({ body: held, envelope: decodeEnvelope(held) });
    if (loading.kind !== "loaded") throw new Error(loading.kind);
    expect(arrivedOf(loading.loaded).records.map(({ RequestCF }) => RequestCF)).toEqual([TAKEN.RequestCF]);
  });
});
