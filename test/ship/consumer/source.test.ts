/**
 * Where a record came from stays with it, whichever way it takes from intake to the object: through
 * the queue, the log, and what is put on hold and sent again.
 */
import { env, exports } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { ControlPlane } from "../../../src/index.ts";
import { Gatherer } from "../../../src/ship/intake/gather.ts";
import { handleTail } from "../../../src/ship/intake/tail.ts";
import { tailContext } from "../../../src/ship/intake/tail-context.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import type { FunctionView } from "../../../src/web/api/docs/functions.ts";
import type { PreviewResult } from "../../../src/web/api/preview.ts";
import { createWorker } from "../../../src/worker.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import { encodeMessage } from "../../support/message.ts";
import type { Minted } from "../../support/oracle.ts";
import { api, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, NOON } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import type { BucketControl } from "../../support/s3-control.ts";
import { call } from "../../web/api/harness.ts";

const ON = { settings: { EXTRA_FIELDS: "Source" } };
const ADMIN = "http:Admin token";

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

/** The text of all objects. */
async function textIn(control: BucketControl): Promise<string> {
  const objects = (await control.contents()).filter(({ key }) => key.endsWith(".log.gz"));
  const members = objects.map(({ bytes }) => readSingleMember(bytes));
  return members.map((member) => (member.ok ? new TextDecoder().decode(member.raw) : member.reason)).join("");
}

/** A world with a job that ships names and sources alone. */
async function sourceJob(fields: object = {}) {
  const world = new World(NOON);
  const bucket = freshBucket();
  const answer = await call<{ id: number }>(
    "POST",
    "/logship/jobs",
    {
      destination_conf: destinationConf(bucket.name),
      enabled: true,
      output_options: { field_names: ["ScriptName", "Source"] },
      ...fields,
    },
    ON,
  );
  expect(answer.body.errors).toEqual([]);
  const { id } = answer.body.result;
  /** The lines in its objects, after all that waits was delivered. */
  const lines = async (): Promise<string[]> => {
    await world.deliverDue();
    await api("POST", `/logship/jobs/${id}/flush`);
    return (await textIn(bucket.control)).split("\n").slice(0, -1);
  };
  const sources = async () => (await lines()).map((line) => (JSON.parse(line) as { Source: string }).Source);
  return { world, id, lines, sources };
}

/** An event of that shape, to be sent over HTTP or RPC. */
function like(world: World, event: object): Minted[] {
  return world.mint(1).map((minted) => ({ ...minted, event }) as unknown as Minted);
}

const counted = async (name: string) => (await api<FunctionView>("GET", `/functions/scripts/${name}`)).body.result;

describe("where a record came from", () => {
  it("is the way in that took it, with the name of the token that sent it", async () => {
    const { world, sources } = await sourceJob();
    const { value } = (await api<{ value: string }>("POST", "/tokens", { name: "ci", permissions: ["events:write"] }))
      .body.result;
    await world.tail(world.mint(2));
    await world.ship(world.mint(1));
    await world.take(world.mint(1), 1, { token: value });
    await world.take(world.mint(1));
    expect((await sources()).sort()).toEqual([ADMIN, "http:ci", "rpc", "tail", "tail"]);
  });

  it("is never what the event says of itself", async () => {
    const { world, sources } = await sourceJob();
    const event = { ScriptName: "bank", Source: "tail" };
    const answer = await api("POST", "/logship/datasets/functions_trace_events/events", event);
    expect(answer.body.messages.map(({ message }) => message)).toEqual(['unknown key "Source" was dropped']);
    await world.take(like(world, event));
    await world.ship(like(world, event));
    expect((await sources()).sort()).toEqual([ADMIN, "rpc"]);
  });

  it("is tail only of what the runtime made, in a deployment: a bound function can call tail(), too", async () => {
    const { world, sources } = await sourceJob();
    const items = [{ scriptName: "bank", event: null, outcome: "ok" }] as unknown as TraceItem[];
    const waiting: Promise<unknown>[] = [];
    const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) } as unknown as ExecutionContext;
    const deployed = { ...world.env, ALLOW_LOOPBACK_DESTINATIONS: undefined } as unknown as Env;
    await createWorker().tail(items, deployed, ctx);
    await Promise.all(waiting);
    class Made {
      readonly scriptName = "shop";
      readonly event = null;
      get [Symbol.toStringTag]() {
        return "TraceItem";
      }
    }
    await createWorker().tail([new Made()] as never, deployed, ctx);
    await Promise.all(waiting);
    expect((await sources()).sort()).toEqual(["rpc", "tail"]);
  });

  it("is not tail of what RPC carried, whatever it looks like", async () => {
    const error = Object.assign(new Error("x"), { scriptName: "bank" });
    const tagged = { scriptName: "bank", [Symbol.toStringTag]: "TraceItem" };
    const { isTraceItem } = await import("../../../src/worker.ts");
    for (const item of [error, structuredClone(tagged), new Map(), { scriptName: "bank" }, "TraceItem"])
      expect(isTraceItem(item)).toBe(false);
    expect(typeof (exports.default as { tail?: unknown }).tail).toBe("function");
  });

  it("is rpc of what the host of local functions hands over", async () => {
    const { world, sources } = await sourceJob();
    const waiting: Promise<unknown>[] = [];
    const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) };
    await handleTail([{ event: null, scriptName: "local" }], tailContext(world.env, ctx, new Gatherer("rpc")));
    await Promise.all(waiting);
    expect(await sources()).toEqual(["rpc"]);
  });

  it("stays with what a reader makes, as the handler has no configuration", async () => {
    const { world, sources } = await sourceJob();
    const configSince = vi.spyOn(ControlPlane.prototype, "configSince").mockRejectedValue(new Error("out of reach"));
    await world.tail(world.mint(2));
    await world.ship(world.mint(1));
    await world.deliverDue();
    configSince.mockRestore();
    expect((await sources()).sort()).toEqual(["rpc", "tail", "tail"]);
  });

  it("stays with each part of what is put on hold, is shown there, and is shipped when it is sent again", async () => {
    const { world, sources } = await sourceJob();
    const parts = ["tail", "http:ci"].map((source, i) => ({
      ...{ id: `${i}`.repeat(32), takenInMs: NOON, keyed: false, shards: 1, records: 1, source },
    })) as [Part, ...Part[]];
    const line = `${recordLine(traceRecord())}\n`;
    world.queue.put(encodeParts(parts, encodeUtf8(line + line)));
    for (const message of world.queue.held) message.dead = true;
    await world.deliverDue();
    const [entry] = (await api<{ id: string }[]>("GET", "/logship/set-aside")).body.result;
    const shown = await api<{ content: { sources: string[] } }>("GET", `/logship/set-aside/${entry?.id}`);
    expect(shown.body.result.content.sources).toEqual(["tail", "http:ci"]);
    expect((await api("POST", "/logship/set-aside/resend", { skip: 0 })).body.result).toMatchObject({ sent: 1 });
    expect((await sources()).sort()).toEqual(["http:ci", "tail"]);
  });

  it("is unknown, and empty, of a message that does not say", async () => {
    const { world, sources } = await sourceJob();
    const part = { id: "7".repeat(32), takenInMs: NOON, keyed: false, shards: 1, records: 1 };
    const raw = encodeUtf8(`${recordLine(traceRecord())}\n`);
    world.queue.put(encodeMessage(part, raw));
    expect(await sources()).toEqual([""]);
  });

  it("is counted in bytes as it is written, though a name is not ASCII", async () => {
    const { world, lines, sources, id } = await sourceJob();
    const { value } = (
      await api<{ value: string }>("POST", "/tokens", { name: 'Zürich "1"', permissions: ["events:write"] })
    ).body.result;
    await world.take(world.mint(3), 3, { token: value });
    expect(await sources()).toEqual(Array(3).fill('http:Zürich "1"'));
    const { body } = await api<{ bytes_raw: number }>("GET", `/logship/jobs/${id}/ledger`);
    const text = (await lines()).map((line) => `${line}\n`).join("");
    expect(body.result.bytes_raw).toBe(new TextEncoder().encode(text).length);
  });

  it("is shown with recent records, whole and rendered, and can be previewed", async () => {
    const { world } = await sourceJob();
    await world.tail(world.mint(1));
    await world.ship(world.mint(1));
    await world.deliverDue();
    const ask = { output_options: { field_names: ["Source"] } };
    const { body } = await call<PreviewResult>("POST", "/logship/preview", ask, ON);
    expect(body.result.records.map(({ text, source }) => [text, source]).sort()).toEqual([
      ['{"Source":"rpc"}\n', "rpc"],
      ['{"Source":"tail"}\n', "tail"],
    ]);
    const given = await call<PreviewResult>("POST", "/logship/preview", { events: [{ ScriptName: "a" }], ...ask }, ON);
    expect(given.body.result.records[0]).toMatchObject({ source: ADMIN, text: `{"Source":"${ADMIN}"}\n` });
  });

  it("is listed with its function, the latest first: a claimed name is told from a traced one", async () => {
    const { world } = await sourceJob();
    const item = (scriptName: string) => ({ event: null, scriptName }) as unknown as TraceItem;
    const waiting: Promise<unknown>[] = [];
    const ctx = { waitUntil: (promise: Promise<unknown>) => void waiting.push(promise) } as unknown as ExecutionContext;
    await world.isolate.tail([item("bank"), item("shop")], world.env, ctx);
    await Promise.all(waiting);
    world.clock.advance(5_000);
    const claimed = world.clock.nowMs();
    await world.take(like(world, { ScriptName: "bank" }));
    await world.deliverDue();
    expect((await counted("shop")).sources).toMatchObject([{ source: "tail" }]);
    expect((await counted("bank")).sources).toMatchObject([
      { source: ADMIN, last: new Date(claimed).toISOString() },
      { source: "tail" },
    ]);
    expect(await traceLog(env.TRACE_LOG, 0).functions()).toHaveLength(2);
  });
});
