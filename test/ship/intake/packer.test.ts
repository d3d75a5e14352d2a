import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { PACKER_PART_MAX_BYTES } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { readMacKeys } from "../../../src/config.ts";
import { encodeMac, macOfLines } from "../../../src/formats/queue/mac.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { entryOf } from "../../../src/formats/record/extras.ts";
import {
  type HandedPart,
  PACK_MS,
  PACKER_MS,
  type PackAnswer,
  type Packer,
  packer,
  readPart,
} from "../../../src/ship/intake/packer.ts";
import { HOLD_MS } from "../../../src/ship/intake/queue-backoff.ts";
import { partOf } from "../../../src/ship/intake/submit.ts";
import type { EarlyPart } from "../../../src/ship/intake/viewers.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { type ReadMessage, readMessage } from "../../support/read-message.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { untilPasses } from "../../support/until.ts";
import { logBinding, noLog, type ScriptedLog, scriptedLog } from "./scripted.ts";

const KEYS = readMacKeys(env);
const [KEY] = KEYS;

const id = (n: number): string => n.toString(16).padStart(32, "0");

/** A part, as an isolate makes it. */
function part(n: number, lines: readonly string[] = [recordLine(traceRecord({ Outcome: `${n}` }))]): HandedPart {
  const made = partOf(lines, { takenInMs: NOON + n, source: "tail", id: id(n), shards: 1 }, KEY);
  if (made === null) throw new Error("too many lines");
  return made;
}

/** Bodies that the queue was sent. */
let sent: Uint8Array[] = [];
/** How the queue answers: resolves, or throws. */
let queue: () => Promise<void>;
/** The log's shards. */
let log: ScriptedLog;
/** How the live viewers' object answers what it is shown. */
let viewers: (shown: readonly EarlyPart[]) => unknown;
/** Resolves the waits of the packer. */
let wake: () => void;
const slept: number[] = [];

/** Calls the one object with parts that come one after the other, in one group. */
function packAll(
  parts: readonly HandedPart[],
  prepare: (object: Packer) => void = () => {},
): Promise<PromiseSettledResult<PackAnswer>[]> {
  return runInDurableObject(packer(env.PACKER), async (object: Packer) => {
    const events = {
      sendBatch: async (messages: { body: Uint8Array }[]) => {
        sent.push(...messages.map(({ body }) => body.slice()));
        await queue();
      },
    };
    const LIVE = { getByName: () => ({ showEarly: async (shown: readonly EarlyPart[]) => viewers(shown) }) };
    Object.defineProperty(object, "env", {
      value: { ...env, EVENTS: events, LIVE, TRACE_LOG: logBinding(log) },
      configurable: true,
    });
    prepare(object);
    const answers = parts.map((each) => object.pack(each));
    wake();
    return Promise.allSettled(answers);
  });
}

function decoded(body: Uint8Array): ReadMessage {
  const message = readMessage(body.slice().buffer, KEYS);
  if (!message.ok) throw new Error(message.why);
  return message.value;
}

const values = (answers: readonly PromiseSettledResult<PackAnswer>[]) =>
  answers.map((answer) => (answer.status === "fulfilled" ? answer.value : String(answer.reason)));

let nowMs = NOON;

beforeEach(() => {
  sent = [];
  slept.length = 0;
  nowMs = NOON;
  queue = async () => {};
  log = noLog();
  viewers = () => false;
  const woken = Promise.withResolvers<void>();
  wake = woken.resolve;
  vi.spyOn(platform, "now").mockImplementation(() => nowMs);
  vi.spyOn(platform, "sleep").mockImplementation(async (ms, end) => {
    slept.push(ms);
    if (ms === PACK_MS) await Promise.race([woken.promise, end]);
  });
});

describe("the packer", () => {
  it("sends what came in a moment as one message, sealed, and says to each how many shared it", async () => {
    expect(values(await packAll([part(1), part(2), part(3)]))).toEqual([{ shared: 3 }, { shared: 3 }, { shared: 3 }]);
    expect(sent.length).toBe(1);
    const { parts, lines, isAuthentic } = decoded(sent[0] as Uint8Array);
    expect(parts).toEqual(
      [1, 2, 3].map((n) => ({ id: id(n), takenInMs: NOON + n, keyed: false, shards: 1, records: 1, source: "tail" })),
    );
    expect(lines.map((line) => JSON.parse(line).Outcome)).toEqual(["1", "2", "3"]);
    expect([isAuthentic, slept]).toEqual([true, [PACK_MS]]);
  });

  it("does not wait where a message is full", async () => {
    const words = Array.from({ length: 100 }, (_, n) => recordLine(traceRecord({ Outcome: "x".repeat(1_000 + n) })));
    vi.mocked(platform.sleep).mockImplementation(async (_ms, end) => void (await end));
    const answers = await runInDurableObject(packer(env.PACKER), async (object: Packer) => {
      Object.defineProperty(object, "env", {
        value: { ...env, EVENTS: { sendBatch: async () => {} } },
        configurable: true,
      });
      const first = [1, 2, 3].map((n) => object.pack(part(n, words.slice(0, 65))));
      // The fourth one does not fit with them, and waits for policy.
      void object.pack(part(4, words.slice(0, 65)));
      return Promise.all(first);
    });
    expect(answers).toEqual([{ shared: 3 }, { shared: 3 }, { shared: 3 }]);
  });

  it("appends to the log what the queue refuses, and leaves the queue alone for a while", async () => {
    log = scriptedLog();
    queue = () => Promise.reject(new Error("refused"));
    expect(values(await packAll([part(1), part(2)]))).toEqual([{ shared: 2 }, { shared: 2 }]);
    expect(values(await packAll([part(3)]))).toEqual([{ shared: 1 }]);
    expect(sent.length).toBe(3);
    nowMs += HOLD_MS;
    queue = async () => {};
    expect(values(await packAll([part(4)]))).toEqual([{ shared: 1 }]);
    expect(sent.length).toBe(4);
    const appended = log.calls.map(({ append }) => append.parts.map((head) => head.id));
    expect(appended).toEqual([[id(1), id(2)], [id(3)]]);
    expect(log.calls[0]?.append.records[0]?.parts).toEqual([id(1), id(2)]);
  });

  it("makes a message of its own for each shard of the log", async () => {
    const of = (n: number, shards: number): HandedPart => ({
      ...part(n),
      id: `00${n.toString(16)}`.padEnd(32, "0"),
      shards,
    });
    const parts = [of(0x10, 8), of(0x11, 8), of(0x18, 8), of(0x21, 2)];
    expect(values(await packAll(parts))).toEqual([{ shared: 2 }, { shared: 2 }, { shared: 2 }, { shared: 2 }]);
    expect(sent.map((body) => decoded(body).parts.map((each) => each.id))).toEqual([
      [parts[0]?.id, parts[2]?.id],
      [parts[1]?.id, parts[3]?.id],
    ]);
  });

  it("gives up a queue and a log that do not answer before its callers do", async () => {
    queue = () => new Promise(() => {});
    const answer = await runInDurableObject(packer(env.PACKER), async (object: Packer) => {
      const events = { sendBatch: () => queue() };
      const TRACE_LOG = { getByName: () => ({ append: () => queue() }) };
      Object.defineProperty(object, "env", { value: { ...env, EVENTS: events, TRACE_LOG }, configurable: true });
      wake();
      vi.useFakeTimers();
      const asked = object.pack(part(1)).catch(String);
      await vi.advanceTimersByTimeAsync(PACKER_MS - PACK_MS - 1);
      vi.useRealTimers();
      return asked;
    });
    expect(answer).toBe("Error: neither the queue nor the log took a message");
  });

  it("holds so much and no more: what is beyond is refused at once, and there is room again afterwards", async () => {
    const limit = (object: Packer): void => {
      object.maxBytes = part(1).raw.length * 2;
    };
    const three = [part(1), part(2), part(3)];
    expect(values(await packAll(three, limit))).toEqual([{ shared: 2 }, { shared: 2 }, { refused: "full" }]);
    expect(values(await packAll([part(3)], limit))).toEqual([{ shared: 1 }]);
    queue = () => Promise.reject(new Error("refused"));
    await packAll(three, limit);
    nowMs += HOLD_MS;
    queue = async () => {};
    expect(values(await packAll([part(4), part(5)], limit))).toEqual([{ shared: 2 }, { shared: 2 }]);
  });

  it("sends nothing where it was held up for longer than its callers wait", async () => {
    vi.mocked(platform.sleep).mockImplementation(async () => {
      nowMs += 6_000;
    });
    expect(values(await packAll([part(1)]))).toEqual(["Error: the packer was held up"]);
    expect(sent).toEqual([]);
  });

  it("refuses what is no part, or not of this service, and sends the others", async () => {
    const bad = { ...part(2), seal: new Uint8Array(16) };
    expect(values(await packAll([part(1), bad, part(3)]))).toEqual([
      { shared: 2 },
      { refused: "malformed" },
      { shared: 2 },
    ]);
  });
});

describe("the packer and live viewers", () => {
  const line = (outcome: string) => recordLine(traceRecord({ Outcome: outcome }));
  let shown: (readonly EarlyPart[])[] = [];
  let warned: ReturnType<typeof vi.spyOn>;
  beforeEach(() => {
    shown = [];
    viewers = (parts) => shown.push(parts) > 0;
    warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  });

  it("meet after the queue has the message: each part as the consumer will have it", async () => {
    queue = async () => expect(shown).toEqual([]);
    const extras = entryOf(line("b"), '{"DurableObjectID":"1"}');
    await packAll([part(1), part(2, [line("a"), extras])]);
    const made = (n: number, entries: string[]): EarlyPart => ({
      ...{ id: id(n), takenInMs: NOON + n, source: "tail" },
      entries,
    });
    await untilPasses(() => expect(shown).toEqual([[], [made(1, [line("1")]), made(2, [line("a"), extras])]]));
    // The answer was yes: it is not asked again.
    queue = async () => {};
    await packAll([part(3)]);
    await untilPasses(() => expect(shown.length).toBe(3));
  });

  it("are asked for once while no page is open, until it is told of one", async () => {
    viewers = (parts) => {
      shown.push(parts);
      return false;
    };
    for (const n of [1, 2, 3]) {
      await packAll([part(n)]);
      nowMs += 3_600_000;
    }
    expect(shown).toEqual([[]]);
    viewers = (parts) => shown.push(parts) > 0;
    await packer(env.PACKER).watched();
    await packAll([part(4)]);
    await untilPasses(() => expect(shown.map((parts) => parts.map((each) => each.id))).toEqual([[], [id(4)]]));
  });

  it("do not meet where queue and log refuse", async () => {
    queue = () => Promise.reject(new Error("refused"));
    await packAll([part(1)]);
    expect(shown).toEqual([]);
  });

  it.each<[string, () => unknown]>([
    ["hang", () => new Promise(() => {})],
    ["fail", () => Promise.reject(new Error("secret text"))],
  ])("hold up no part where they %s", async (_how, answer) => {
    viewers = answer;
    for (const n of [1, 2, 3]) expect(values(await packAll([part(n)]))).toEqual([{ shared: 1 }]);
    expect(sent.length).toBe(3);
    expect(JSON.stringify(warned.mock.calls)).not.toContain("secret text");
  });
});

describe("a part that is handed over", () => {
  const good = part(1);
  const raw = (text: string): Partial<HandedPart> => {
    const bytes = encodeUtf8(text);
    return { raw: bytes, ...(KEY && { seal: macOfLines(bytes, KEY) }) };
  };

  it("is read as it was made", () => {
    expect(readPart(good, KEYS)).toEqual({
      part: { id: id(1), takenInMs: NOON + 1, keyed: false, shards: 1, records: 1, source: "tail" },
      raw: good.raw,
    });
  });

  it.each([
    ["nothing", null],
    ["an id of another form", { ...good, id: "abc" }],
    ["no time", { ...good, takenInMs: Number.NaN }],
    ["a time before 1970", { ...good, takenInMs: -1 }],
    ["no number of records", { ...good, records: "1" }],
    ["another number of records", { ...good, records: 2 }],
    ["a source that intake does not write", { ...good, source: "tail\n" }],
    ["no number of shards", { ...good, shards: "1" }],
    ["a number of shards that there cannot be", { ...good, shards: 3 }],
    ["no bytes", { ...good, raw: "text" }],
    ["no records", { ...good, ...raw(""), records: 0 }],
    ["an open end", { ...good, ...raw("1\n2"), records: 1 }],
    ["bytes that are no text", { ...good, raw: Uint8Array.of(0xff, 0x0a) }],
    ["more than fits a message", { ...good, ...raw(`${"x".repeat(PACKER_PART_MAX_BYTES)}\n`) }],
    ["no seal", { ...good, seal: null }],
    ["the seal of other lines", { ...good, seal: part(2).seal }],
    ["a seal of another key", { ...good, seal: macOfLines(good.raw, { key: new Uint8Array(32) }) }],
  ])("is none with %s", (_what, handed) => {
    expect(readPart(handed, KEYS)).toBeNull();
  });

  it("has a seal that is none of a message with these bytes, however it is read", () => {
    const seal = (form: number) => KEY && new Uint8Array(encodeMac(good.raw, form, KEY)[1]);
    for (let form = 2; form < 20; form++) expect(seal(form)).not.toEqual(good.seal);
    expect(seal(0)).toEqual(good.seal);
  });

  it("needs no seal where there is no key: the consumer then parses what it holds", () => {
    expect(readPart({ ...good, seal: null }, [])).not.toBeNull();
  });

  it("may have the seal of the key before", () => {
    expect(readPart(good, [{ key: new Uint8Array(32) }, ...KEYS])).not.toBeNull();
  });

  it("is not made of more lines than fit a message in any case, nor of wide ones", () => {
    const line = "x".repeat(PACKER_PART_MAX_BYTES - 1);
    const made = (text: string) => partOf([text], { takenInMs: NOON, source: "tail", id: id(1), shards: 1 }, KEY);
    expect([made(line)?.raw.length, made(`${line}x`), made("é".repeat(line.length / 2 + 1))]).toEqual([
      PACKER_PART_MAX_BYTES,
      null,
      null,
    ]);
  });
});
