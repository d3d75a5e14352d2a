/** Requests and batches where there is no memory for them. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { GROUP_HELD_BYTES, UPLOAD_SMALL_MAX_BYTES } from "../../../src/base/limits.ts";
import { isolateMemory, Memory } from "../../../src/base/memory.ts";
import { platform } from "../../../src/base/platform.ts";
import { consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { Shipper } from "../../../src/ship/intake/shipper.ts";
import { createApp } from "../../../src/web/app.ts";
import { deliver, job, one, world } from "../../ship/consumer/scripted.ts";
import { curlForm, FORM_TYPE } from "../../state/functions/forms.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { intake } from "../../web/api/harness.ts";
import { put, scriptedApi } from "../../web/api/scripted-platform.ts";

const URL_OF_EVENTS = `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/datasets/functions_trace_events/events`;

type Intake = ReturnType<typeof intake>;

function post({ platform, options }: Intake, memory: Memory, init: RequestInit): Promise<Response> | Response {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json", ...init.headers };
  const settings = { ...env, ...options.settings } as unknown as Env;
  return createApp(platform, memory).request(URL_OF_EVENTS, { method: "POST", ...init, headers }, settings);
}

const EVENT = '{"Outcome":"ok"}';
const sized = { "content-length": `${EVENT.length}` };

async function said(response: Response): Promise<[status: number, code: number | undefined, again: string | null]> {
  const { errors } = (await response.json()) as { errors: { code: number }[] };
  return [response.status, errors[0]?.code, response.headers.get("retry-after")];
}

/** A memory that waits by the clock of an intake. */
const memoryOf = ({ platform }: Intake, maxBytes?: number): Memory => new Memory(platform, maxBytes);

describe("a request", () => {
  it("holds its body until it is packed, and its messages until they are sent", async () => {
    const taken = intake();
    const memory = memoryOf(taken);
    const { queue } = taken;
    const during: number[] = [];
    const { sendBatch } = queue;
    queue.sendBatch = (messages) => {
      during.push(memory.held - messages.reduce((sum, { body }) => sum + body.length, 0));
      return sendBatch.call(queue, messages);
    };
    let whileRead = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          whileRead = memory.held;
          controller.enqueue(new TextEncoder().encode(EVENT));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    expect((await post(taken, memory, { body, headers: { "content-length": "5000" } })).status).toBe(202);
    // Beside the messages, what live viewers may get of it.
    const [line = ""] = taken.queue.taken()[0]?.lines ?? [];
    expect([whileRead, during, memory.held]).toEqual([5_000, [2 * line.length], 0]);
  });

  it.each([
    ["refused as it is no JSON", { body: "{", headers: { "content-length": "1" } }, 400],
    ["refused as it is no gzip", { body: EVENT, headers: { ...sized, "content-encoding": "gzip" } }, 400],
    ["refused for its events", { body: "[5]", headers: { "content-length": "3" } }, 400],
    ["packed", { body: gzipSync(EVENT), headers: { "content-encoding": "gzip" } }, 202],
  ])("gives it back if it is %s", async (_what, init, status) => {
    const taken = intake();
    const memory = memoryOf(taken);
    expect((await post(taken, memory, init)).status).toBe(status);
    expect(memory.held).toBe(0);
  });

  it("gives it back if the queue takes nothing", async () => {
    const taken = intake(() => true);
    const memory = memoryOf(taken);
    expect((await post(taken, memory, { body: EVENT, headers: sized })).status).toBe(503);
    expect(memory.held).toBe(0);
  });

  it("waits for room, and is refused with 503 if there is none, before it is read, and nothing is sent", async () => {
    const taken = intake();
    const memory = memoryOf(taken, EVENT.length);
    const share = await memory.take(1);
    const waited = () => taken.platform.slept.reduce((sum, ms) => sum + ms, 0);
    let readAfterMs = -1;
    // What is left of a refused body is dropped, so that the answer arrives.
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          readAfterMs = waited();
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const answer = post(taken, memory, { body, headers: sized });
    expect(await said(await answer)).toEqual([503, 1053, "5"]);
    expect([waited(), readAfterMs]).toEqual([10_000, 10_000]);
    expect(taken.queue.calls).toEqual([]);
    share?.release();
    expect((await post(taken, memory, { body: EVENT, headers: sized })).status).toBe(202);
  });
});

describe("a call of ship()", () => {
  it("waits for room, too", async () => {
    const share = isolateMemory.hold(1e9);
    const small = await isolateMemory.take(1);
    const slept = vi.spyOn(platform, "sleep").mockResolvedValue();
    try {
      const shipper = new Shipper(createExecutionContext(), env as unknown as Env);
      await expect(shipper.ship([{ Outcome: "ok" }])).rejects.toThrow("too much is under way; nothing was taken");
      expect(slept.mock.calls.reduce((sum, [ms]) => sum + ms, 0)).toBe(10_000);
    } finally {
      slept.mockRestore();
      share.release();
      small?.release();
    }
  });
});

describe("an upload of a script", () => {
  it("that is large, or may be, waits for room, and is refused with 503 if there is none", async () => {
    const share = isolateMemory.hold(1e9);
    const small = await isolateMemory.take(1);
    const slept = vi.spyOn(platform, "sleep").mockResolvedValue();
    try {
      const headers = { "content-type": FORM_TYPE, "content-length": `${UPLOAD_SMALL_MAX_BYTES + 1}` };
      const scripted = scriptedApi();
      const { status, json } = await put(scripted, curlForm(), "shop", { headers });
      expect([status, json?.errors[0]?.message]).toEqual([
        503,
        "too many requests are being processed; repeat the request",
      ]);
      expect(scripted.asked).toEqual([]);
    } finally {
      slept.mockRestore();
      share.release();
      small?.release();
    }
  });
});

describe("a batch", () => {
  it("is noted with its messages, and each group with what it takes, and all is given back, whatever fails", async () => {
    for (const isFailing of [false, true]) {
      const it_ = world([job(1)]);
      const memory = new Memory({ now: () => it_.nowMs, sleep: async () => {} });
      if (isFailing) it_.script = ["fail"];
      const during: number[] = [];
      const append = it_.append.bind(it_);
      it_.append = (...args) => {
        during.push(memory.held);
        return append(...args);
      };
      const { batch } = deliver([one(1), one(2)]);
      const bytes = batch.messages.reduce((sum, { body }) => sum + (body as ArrayBuffer).byteLength, 0);
      await consumeEvents(batch, { ...it_, memory });
      expect(during).toEqual([GROUP_HELD_BYTES + bytes]);
      expect(memory.held).toBe(0);
    }
  });

  it("waits for room, and goes on without where there is none in time", async () => {
    const it_ = world([job(1)]);
    let sleptMs = 0;
    const memory = new Memory({
      now: () => it_.nowMs,
      sleep: async (ms) => {
        sleptMs += ms;
      },
    });
    const share = await memory.take(1e9);
    const { batch, fates } = deliver([one(1), one(2)]);
    await consumeEvents(batch, { ...it_, memory });
    expect([sleptMs, fates(), it_.appends.length]).toEqual([10_000, ["ack", "ack"], 1]);
    share?.release();
    expect(memory.held).toBe(0);
  });
});
