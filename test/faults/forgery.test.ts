/**
 * A function that is bound to this one calls the handlers of its default export by RPC, or writes
 * to its queue, with arguments of its own making.
 */
import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/base/bytes.ts";
import { recordLine } from "../../src/formats/record/encode.ts";
import { traceLog } from "../../src/ship/log/trace-log.ts";
import { traceRecord } from "../formats/record/samples.ts";
import { encodeMessage } from "../support/message.ts";
import { api } from "../support/runtime/api.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { World } from "../support/runtime/world.ts";
import { countsOf } from "./stores.ts";

const MINUTE_MS = 60_000;
const YEAR_MS = 365 * 86_400_000;

/** The handlers as any function with a service binding sees them. */
const bound = exports.default as unknown as Record<
  "queue" | "tail" | "scheduled",
  (...args: unknown[]) => Promise<void>
>;

/** What the caller is told; null: nothing, it was taken. */
async function refusal(call: () => Promise<void>): Promise<string | null> {
  try {
    await call();
    return null;
  } catch (error) {
    return String(error);
  }
}

function message(lines: readonly string[], takenInMs: number): ArrayBuffer {
  const id = crypto.randomUUID().replaceAll("-", "");
  const raw = encodeUtf8(lines.map((line) => `${line}\n`).join(""));
  return encodeMessage({ id, takenInMs, keyed: false, shards: 1, records: lines.length }, raw).buffer;
}

const lineAt = (at: number): string => recordLine(traceRecord({ EventTimestampMs: at }));

/** Hands a batch to the handler as the runtime does, with what the queue says of its backlog. */
async function handle(world: World, bodies: readonly ArrayBuffer[], metrics?: object) {
  const batch = createMessageBatch(
    "logship-events",
    bodies.map((body, i) => ({ id: `${i}`, timestamp: new Date(world.clock.nowMs()), attempts: 1, body })),
  );
  if (metrics !== undefined) Object.defineProperty(batch, "metadata", { value: { metrics } });
  await world.isolate.queue(batch, env);
  return getQueueResult(batch, createExecutionContext());
}

const lastComplete = async (id: number): Promise<string | null> =>
  (await api<{ last_complete: string | null }>("GET", `/logship/jobs/${id}`)).body.result.last_complete;

const asideOf = async () => (await traceLog(env.TRACE_LOG, 0).accountStatus()).setAsideMessages;

describe("a bound function calls the handlers by RPC", () => {
  it.for([
    ["a plain batch", (body: ArrayBuffer) => ({ queue: "logship-events", messages: [{ id: "1", attempts: 1, body }] })],
    ["a batch with methods", (body: ArrayBuffer) => ({ queue: "logship-events", messages: [{ body }], ackAll() {} })],
    ["a function", () => () => {}],
    ["nothing", () => undefined],
  ] as const)("queue() with %s: refused, and nothing is taken", async ([, batchOf]) => {
    const world = new World(NOON);
    const job = await world.createJob();
    const body = message([lineAt(NOON)], NOON + 75 * YEAR_MS);
    const told = await refusal(() => bound.queue(batchOf(body)));
    expect(told).toBe("TypeError: queue() takes batches of Cloudflare's queues only");
    expect((await countsOf(job)).received).toBe(0);
    expect(await lastComplete(job.id)).toBeNull();
  });

  it("queue() with plain messages in a class of its own: refused", async () => {
    const world = new World(NOON);
    const batch = Object.create(createMessageBatch("logship-events", []), { messages: { value: [{ body: "x" }] } });
    await expect(world.isolate.queue(batch, env)).rejects.toThrow(TypeError);
  });

  it.for([[{ cron: "* * * * *", scheduledTime: NOON }], [{ noRetry() {} }], [() => {}], [undefined]])(
    "scheduled(%o): refused",
    async ([controller]) => {
      new World(NOON);
      const told = await refusal(() => bound.scheduled(controller));
      expect(told).toBe("TypeError: scheduled() is for Cloudflare's clock only");
    },
  );

  it.for([["no array"], [[null]], [[() => {}]], [[[]]], [Array(20_001).fill({})]])(
    "tail() with what is no trace item: refused, and no loss is counted",
    async ([items]) => {
      new World(NOON);
      const told = await refusal(() => bound.tail(items));
      expect(told).toBe("TypeError: tail() takes trace items only");
      expect((await traceLog(env.TRACE_LOG, 0).accountStatus()).intakeLost).toBe(0);
    },
  );

  it("what the runtime makes is handled as before", async () => {
    const world = new World(NOON);
    const job = await world.createJob();
    expect((await handle(world, [message([lineAt(NOON)], NOON)])).explicitAcks).toEqual(["0"]);
    expect((await countsOf(job)).received).toBe(1);
    await world.isolate.scheduled(createScheduledController({ cron: "*/5 * * * *" }), env);
  });
});

describe("a message of a forged time", () => {
  it("is set aside, and claims nothing", async () => {
    const world = new World(NOON);
    const job = await world.createJob();
    world.clock.advance(10 * MINUTE_MS);
    const result = await handle(world, [message([lineAt(NOON)], NOON + 75 * YEAR_MS)], {
      backlogCount: 0,
      oldestMessageTimestamp: new Date(0),
    });
    expect(result.explicitAcks).toEqual(["0"]);
    expect(await asideOf()).toMatchObject({ messages: 1 });
    expect((await countsOf(job)).received).toBe(0);
    // Nor can it be sent again, before its time.
    const [entry] = (await api<{ id: string }[]>("GET", "/logship/set-aside")).body.result;
    expect((await api("POST", `/logship/set-aside/${entry?.id}/resend`)).status).toBe(409);
  });

  it("is taken if a clock may be that wrong", async () => {
    const world = new World(NOON);
    const job = await world.createJob();
    expect((await handle(world, [message([lineAt(NOON)], NOON + 60 * MINUTE_MS)])).explicitAcks).toEqual(["0"]);
    expect((await countsOf(job)).received).toBe(1);
  });

  it("claims no time yet to come, whatever the queue says of its backlog", async () => {
    const world = new World(NOON);
    const job = await world.createJob();
    world.clock.advance(10 * MINUTE_MS);
    const now = world.clock.nowMs();
    await handle(world, [message([lineAt(NOON)], now + 30_000)], {
      backlogCount: 1,
      oldestMessageTimestamp: new Date(now + YEAR_MS),
    });
    await world.runCron();
    expect(Date.parse((await lastComplete(job.id)) ?? "")).toBeLessThanOrEqual(now);
  });
});

/** An object of so many levels. */
const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
const thrown = (more: string): string => `{"name":"Error","message":"x","TimestampMs":${NOON},"more":${more}}`;
/** A log that is cut, so that its record is written anew. */
const LONG = `{"Level":"log","Message":["${"x".repeat(20_000)}"],"TimestampMs":${NOON}}`;

const withEvent = (event: string, logs?: string): string => {
  const line = lineAt(NOON).replace(/"Event":\{.*\},"EventTimestampMs"/, `"Event":${event},"EventTimestampMs"`);
  return logs === undefined ? line : line.replace(/"Logs":\[.*\],"Outcome"/, `"Logs":[${logs}],"Outcome"`);
};

describe("a message with a line that is no record", () => {
  const good = lineAt(NOON);
  it.for([
    ["no JSON in the middle", good.replace('"Event":{', '"Event":{oops')],
    ["a text for a number", good.replace(/"CPUTimeMs":\d+/, '"CPUTimeMs":"1"')],
    ["a number for a text", good.replace(/"Outcome":"[^"]*"/, '"Outcome":1')],
    ["a list for the event", good.replace(/"Event":\{.*\},"EventTimestampMs"/, '"Event":[],"EventTimestampMs"')],
    ["two objects", `${good}${good}`],
    ["no object", '"a"'],
    ["a field twice", good.replace('{"CPUTimeMs":', '{"CPUTimeMs":1,"CPUTimeMs":')],
    ["logs without text", good.replace(/"Logs":\[.*\],"Outcome"/, '"Logs":[{"Message":[1]}],"Outcome"')],
    ["an event one level too deep", withEvent(nested(101))],
    ["an event of 20,000 levels, with logs to be cut", withEvent(nested(20_000), LONG)],
    ["an event of 400,000 levels", withEvent(nested(400_000))],
    ["a deep version", good.replace(/"ScriptVersion":\{[^}]*\}/, `"ScriptVersion":${nested(20_000)}`)],
    ["a deep log", withEvent("{}", `{"Message":["x"],"more":${nested(20_000)}},${LONG}`)],
    ["a deep exception", good.replace(/"Exceptions":\[.*?\],/, `"Exceptions":[${thrown(nested(20_000))}],`)],
  ] as const)("%s: it is set aside at its first delivery", async ([, line]) => {
    expect(line).not.toBe(good);
    const world = new World(NOON);
    const job = await world.createJob();
    expect((await handle(world, [message([good, line], NOON)])).explicitAcks).toEqual(["0"]);
    expect(await asideOf()).toMatchObject({ messages: 1, events: 2 });
    expect((await countsOf(job)).received).toBe(0);
  });
});

it.for([
  ["as deep as intake takes", withEvent(nested(100), LONG)],
  ["with a name of 3 MB", lineAt(NOON).replace(/"ScriptName":"[^"]*"/, `"ScriptName":"${"n".repeat(3_000_000)}"`)],
  ["with an outcome of 3 MB", lineAt(NOON).replace(/"Outcome":"[^"]*"/, `"Outcome":"${"n".repeat(3_000_000)}"`)],
  ["with a number beyond all", lineAt(NOON).replace(/"CPUTimeMs":\d+/, '"CPUTimeMs":1e999')],
] as const)("a record of a bound function %s is taken", async ([, line]) => {
  const world = new World(NOON);
  const job = await world.createJob();
  expect((await handle(world, [message([line], NOON)])).explicitAcks).toEqual(["0"]);
  expect(await asideOf()).toMatchObject({ messages: 0 });
  expect((await countsOf(job)).received).toBe(1);
});
