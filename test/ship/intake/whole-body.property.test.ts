/** Intake parses event by event. Its answers are those of parsing a body as a whole. */
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8, parsedJson } from "../../../src/base/bytes.ts";
import type { Fault } from "../../../src/base/errors.ts";
import { EVENT_MAX_BYTES } from "../../../src/base/limits.ts";
import { Memory } from "../../../src/base/memory.ts";
import { whyNotJson } from "../../../src/formats/filter/json-fault.ts";
import { acceptEvents, type Located } from "../../../src/ship/intake/events.ts";
import { type TakeRequest, takeEvents } from "../../../src/ship/intake/take.ts";
import { NOON, TAKEN } from "../../formats/record/samples.ts";
import { noLog, scriptedQueue } from "./scripted.ts";

const CONTEXT = { takenInMs: TAKEN, defaultScriptName: "unnamed", lenient: false };

interface Answer {
  status: number;
  faults?: readonly Fault[];
  lines?: readonly string[];
  unknownKeys?: readonly string[];
}

/** What intake answers, and what it sends. */
async function answerTo(body: string | Uint8Array, ndjson: boolean): Promise<Answer> {
  const bytes = typeof body === "string" ? encodeUtf8(body) : body;
  const queue = scriptedQueue();
  const request: TakeRequest = { room: bytes.length, read: async () => bytes.slice(), ndjson, idempotencyKey: null };
  const platform = { now: () => TAKEN, sleep: () => Promise.reject(new Error("nothing fails")) };
  const memory = new Memory(platform);
  const settings = {
    defaultScriptName: "unnamed",
    shards: 1,
    keyShards: async () => ({ ok: true, shards: 1 }) as const,
  };
  const context = { queue, append: noLog().append, platform, memory, source: "rpc", ...settings };
  const taken = await takeEvents(request, context);
  expect(memory.held).toBe(0);
  if (!taken.ok) {
    if ("message" in taken) throw new Error(taken.message);
    expect(queue.calls).toEqual([]);
    return { status: taken.status, faults: taken.faults };
  }
  const lines = queue.taken().flatMap((message) => message.lines);
  expect(taken.accepted).toBe(lines.length);
  return { status: 202, lines, unknownKeys: taken.unknownKeys };
}

const FORMS = "send JSON objects, one after the other or in an array";
const notJson = (text: string, body: string): string =>
  `the body is not JSON: ${whyNotJson(text, body.length > text.length ? 3 : 0, true)}; ${FORMS}`;

/** Objects one after the other; null: it is something else. Each may end at any brace. */
function sequence(text: string): unknown[] | null {
  const rest = text.replace(/^[ \t\n\r]+/, "");
  if (rest === "") return [];
  if (!rest.startsWith("{")) return null;
  for (let end = rest.indexOf("}"); end !== -1; end = rest.indexOf("}", end + 1)) {
    const first = parsedJson(rest.slice(0, end + 1));
    if (first === undefined) continue;
    const others = sequence(rest.slice(end + 1));
    return others && [first, ...others];
  }
  return null;
}

/** The same by parsing all at once. */
function slowAnswerTo(body: string, ndjson: boolean): Answer {
  const text = body.replace(/^\ufeff/, "");
  const read = (line: string): { value: unknown } | { fault: string } => {
    try {
      return { value: JSON.parse(line) as unknown };
    } catch {
      return { fault: "this line is not JSON" };
    }
  };
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const faulty = lines.filter((line) => "fault" in read(line));
  const many = sequence(text)?.map((value) => ({ value })) ?? [];
  const asValues = many.length > 1 ? many : read(text);
  const isByLine = ndjson && (faulty.length === 0 || "fault" in asValues);
  const isIndented = faulty.length > 1 && faulty[0] === "{";
  const whole = isByLine && !isIndented ? lines.map(read) : asValues;
  if ("fault" in whole) return { status: 400, faults: [{ pointer: "", message: notJson(text, body) }] };
  const events: Located[] = Array.isArray(whole)
    ? whole.map((event, i) => ({ pointer: `/${i}`, ...event }))
    : Array.isArray(whole.value)
      ? whole.value.map((value: unknown, i) => ({ pointer: `/${i}`, value }))
      : [{ pointer: "", value: whole.value }];
  const accepted = acceptEvents(events, CONTEXT);
  if (!accepted.ok) return { status: accepted.status, faults: accepted.faults };
  return { status: 202, lines: accepted.lines, unknownKeys: accepted.unknownKeys };
}

/** Texts with every kind of escape, but for quotes and backslashes in keys: V8 mixes these up. */
const text = fc.constantFrom('""', '"a\\n\\"\\\\"', '"\\ud83d\\ude00"', '"\\ud800"', '"é\u2028\ufeff"', '"</,]}[{:"');
const value = fc.oneof(
  text,
  fc.jsonValue({ stringUnit: fc.constantFrom(..."aé €/}]{,:") }).map((any) => JSON.stringify(any)),
  fc.constantFrom("1e400", "-0", "0.1e-7", "null", '{"__proto__":1}', '{"a":1,"a":2}', "[".repeat(90) + "]".repeat(90)),
);
const field = fc.tuple(
  fc.constantFrom("Outcome", "outcome", "Event", "Logs", "logs", "event", "zone", "__proto__", "\\u004futcome", "é"),
  value,
);
const time = fc.nat({ max: 35 }).map((day) => [`"EventTimestampMs"`, `${NOON + day * 86_400_000}`].join(":"));
const event = fc.oneof(
  { weight: 1, arbitrary: time.map((when) => `{\n  ${when},\n  "Logs": [\n    {}\n  ]\n}`) },
  { weight: 3, arbitrary: fc.tuple(time, text).map(([when, outcome]) => `{${when},"Outcome":${outcome}}`) },
  {
    weight: 2,
    arbitrary: fc
      .array(field, { maxLength: 4 })
      .map((fields) => `{ ${fields.map(([key, own]) => `"${key}" :\t${own}`).join(" , ")} }`),
  },
  { weight: 1, arbitrary: value },
);
const junk = fc.constantFrom("", "", "", "", "", " ", "\u00a0", ",", "]", "[", "{", "x", "\ufeff", '"');
const around = fc.tuple(fc.constantFrom("", "", "", "\ufeff", " \r\n", "\ufeff\ufeff"), junk);

describe("a body", () => {
  it("has the answer that parsing it as a whole would give, and the same records", async () => {
    const answers = { taken: 0, faults: 0, none: 0 };
    const body = fc.record({
      isNdjson: fc.boolean(),
      events: fc.array(event, { maxLength: 5 }),
      form: fc.constantFrom("list", "list", "lines", "lines", "one", "sequence", "sequence"),
      junk,
      around,
      cut: fc.option(fc.nat(), { freq: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(body, async ({ isNdjson, events, form, junk: put, around: [before, after], cut }) => {
        const inner =
          form === "list"
            ? `[${events.join(`,${put}`)}]`
            : form === "lines" || form === "sequence"
              ? events.join(form === "lines" ? `${put}\n` : put)
              : (events[0] ?? "") + put;
        const whole = (before + inner + after).toWellFormed();
        const sent = cut === null ? whole : whole.slice(0, cut % (whole.length + 1)).toWellFormed();
        const ndjson = form === "sequence" ? isNdjson : form === "lines";
        const answer = await answerTo(sent, ndjson);
        expect([sent, answer]).toEqual([sent, slowAnswerTo(sent, ndjson)]);
        const isNone = answer.faults?.[0]?.message.startsWith("the body is not JSON") === true;
        answers[answer.status === 202 ? "taken" : isNone ? "none" : "faults"] += 1;
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(answers.taken, answers.faults, answers.none)).toBeGreaterThan(150);
  });

  it("that is no UTF-8 is refused for that alone", async () => {
    const bytes = encodeUtf8('[{"Outcome":"é"}]').filter((byte) => byte !== 0xa9);
    for (const ndjson of [true, false])
      expect(await answerTo(bytes, ndjson)).toEqual({
        status: 400,
        faults: [{ pointer: "", message: "the body is not valid UTF-8" }],
      });
  });
});

describe("an event of a body", () => {
  const tooLarge = `larger than ${EVENT_MAX_BYTES} bytes`;
  const large = `{"Event":{"a":[${"{},".repeat(EVENT_MAX_BYTES / 3)}{}]}}`;
  const deep = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  const spaced = (bytes: number): string => `{"Outcome":"x",${" ".repeat(bytes)}"Event":{}}`;

  afterEach(() => vi.restoreAllMocks());

  it.each<[what: string, sent: string, pointer: string, message: string]>([
    ["is too large", large, "", tooLarge],
    ["is too large and no object", `[${large}]`, "", "an event is a JSON object"],
    ["has a large key that nothing reads", `{"Outcome":"","zone":"${"x".repeat(EVENT_MAX_BYTES)}"}`, "", tooLarge],
    [
      "is nested too deeply in Event",
      `{"Event":{"a":${deep(500_000)}}}`,
      "/Event",
      "nested too deeply: at most 100 levels",
    ],
  ])("is refused before it is parsed if it %s, beside others", async (_what, sent, pointer, message) => {
    const parse = vi.spyOn(JSON, "parse");
    const answer = await answerTo(`[{"Outcome":""},${sent},5]`, false);
    expect(answer).toEqual({
      status: 400,
      faults: [
        { pointer: `/1${pointer}`, message },
        { pointer: "/2", message: "an event is a JSON object" },
      ],
    });
    expect(parse.mock.calls.map(([parsed]) => parsed)).toEqual(['{"Outcome":""}', "5"]);
  });

  it("is measured with its white space by itself or by the line, and without it in an array", async () => {
    expect((await answerTo(`[${spaced(EVENT_MAX_BYTES)}]`, false)).status).toBe(202);
    for (const ndjson of [true, false])
      expect(await answerTo(spaced(EVENT_MAX_BYTES), ndjson)).toMatchObject({
        status: 400,
        faults: [{ pointer: ndjson ? "/0" : "", message: tooLarge }],
      });
  });

  it("may be nested as deeply as the stack bears in what becomes text, and is that text", async () => {
    const argument = deep(996);
    const answer = await answerTo(`{"logs":[{"message":[${argument}]}]}`, false);
    expect(answer.lines?.map((line) => (JSON.parse(line) as { Logs: unknown }).Logs)).toEqual([
      [{ Level: "", Message: [argument], TimestampMs: TAKEN }],
    ]);
  });
});

describe("a body of millions of values", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each([
    ["an array of too many events", `[${"{},".repeat(1_500_000)}{}]`, 413, "at most 20000 events a request"],
    ["one that is not JSON at its very end", `[${"{},".repeat(1_500_000)}{}`, 400, `the body is not JSON; ${FORMS}`],
    ["one event", `{"Event":{"a":[${"{},".repeat(1_500_000)}{}]}}`, 400, `larger than ${EVENT_MAX_BYTES} bytes`],
    ["levels without an end", "[".repeat(4_000_000), 400, `the body is not JSON; ${FORMS}`],
  ])("is refused before any is parsed: %s", async (_what, sent, status, message) => {
    const parse = vi.spyOn(JSON, "parse");
    expect(await answerTo(sent, false)).toEqual({ status, faults: [{ pointer: "", message }] });
    expect(parse).not.toHaveBeenCalled();
  });
});
