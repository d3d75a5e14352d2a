/** Whatever a receiver answers, records count as delivered only where it says so. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { elastic } from "../../../src/ship/destinations/receiver/elastic.ts";
import { otlp } from "../../../src/ship/destinations/receiver/otlp.ts";
import type { Verdict } from "../../../src/ship/destinations/receiver/receiver.ts";
import { RECEIVERS, SENT } from "./documented-answers.ts";
import { receiverAnswer } from "./receiver-answer.ts";

const STATUS = fc.integer({ min: 200, max: 299 });

/** It may be there, and is not counted. */
const UNCLEAR = { kind: "failed", mayBeThere: true, error: { kind: "busy", cause: "not_kept" } };

describe.each(Object.entries(RECEIVERS).filter(([name]) => name !== "HTTPS"))("%s", (name, { receiver, answers }) => {
  const taken = answers.filter((answer) => receiver.judge(receiverAnswer(answer), SENT).kind === "taken");

  it("never takes JSON without a name that it documents, or other text, for a success", () => {
    const members = fc.dictionary(fc.stringMatching(/^x[a-z_]{0,9}$/), fc.jsonValue(), { minKeys: 1 });
    const text = fc.string({ minLength: 1 }).filter((said) => said.trim() !== "" && said.trim() !== "{}");
    const body = fc.oneof(
      members.map((value) => JSON.stringify(value)),
      fc.array(fc.jsonValue()).map((value) => JSON.stringify(value)),
      text,
    );
    fc.assert(
      fc.property(STATUS, body, (status, said) => {
        fc.pre(said.trim() !== "" && said.trim() !== "{}");
        const { kind } = receiver.judge(receiverAnswer({ status, body: said }), SENT);
        expect(kind).toBe("failed");
      }),
      { numRuns: 300 },
    );
  });

  it("never takes a part of a success, or one with something behind it, for one", () => {
    for (const answer of taken) {
      if (typeof answer.body !== "string") continue;
      const whole = answer.body;
      const others = [`${whole}x`, `${whole}{}`, `${whole}\n<html>`, `<p>${whole}</p>`, `[${whole}]`];
      for (let length = 1; length < whole.length; length++) others.push(whole.slice(0, length));
      for (const body of others) {
        if (body === "{}" && (name === "OpenTelemetry" || name === "Datadog")) continue;
        const verdict = receiver.judge(receiverAnswer({ ...answer, status: 200, body }), SENT);
        expect([body, verdict]).toMatchObject([body, UNCLEAR]);
      }
    }
  });
});

describe("an OTLP receiver's counts", () => {
  const PROTOBUF = { "content-type": "application/x-protobuf" };
  const judge = (body: string | Uint8Array, headers = {}, count = SENT): Verdict =>
    otlp.judge(receiverAnswer({ status: 200, body, headers }), count);

  const varint = (value: bigint): number[] =>
    value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varint(value >> 7n)];
  const field = (number: number, bytes: readonly number[]): number[] => [
    ...varint(BigInt(number * 8 + 2)),
    ...varint(BigInt(bytes.length)),
    ...bytes,
  ];
  /** `partial_success` with `rejected_log_records` and, where it is given, `error_message`. */
  const rejecting = (rejected: bigint, message = ""): Uint8Array =>
    Uint8Array.from(
      field(1, [
        ...(rejected === 0n ? [] : [8, ...varint(BigInt.asUintN(64, rejected))]),
        ...(message === "" ? [] : field(2, [...new TextEncoder().encode(message)])),
      ]),
    );

  it("are the same in every spelling and encoding", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 70_000 }), fc.string(), (rejected, message) => {
        const spelt = [rejected, `${rejected}`].flatMap((count) => [
          judge(JSON.stringify({ partialSuccess: { rejectedLogRecords: count, errorMessage: message } }), {}, 70_000),
          judge(JSON.stringify({ partial_success: { rejected_log_records: count } }), {}, 70_000),
          judge(JSON.stringify({ partial_success: { rejectedLogRecords: count, x: 1 }, y: {} }), {}, 70_000),
        ]);
        const binary = judge(rejecting(BigInt(rejected), message), PROTOBUF, 70_000);
        for (const verdict of [...spelt, binary])
          expect(verdict).toMatchObject(
            rejected === 0 ? { kind: "taken" } : { kind: "partly", unnamed: { records: rejected } },
          );
      }),
    );
  });

  it.each([...[-1, 1.5, 4, 1e300, true, [], [1], {}, "", " 1", "1 ", "-1", "1.5", "0x1", "many", "4", "1e99"]])(
    "say nothing where they cannot be: %o",
    (count) => {
      expect(judge(JSON.stringify({ partialSuccess: { rejectedLogRecords: count } }))).toMatchObject(UNCLEAR);
      expect(judge(JSON.stringify({ partial_success: { rejected_log_records: count } }))).toMatchObject(UNCLEAR);
    },
  );

  it.each([
    ['{"partialSuccess":{"rejectedLogRecords":null}}', "taken"],
    ['{"partialSuccess":{"rejectedLogRecords":"1e0"}}', "partly"],
    ['{"partialSuccess":{"rejectedLogRecords":"2.0"}}', "partly"],
    // Twice, others alone, of another kind, or no message.
    ['{"partialSuccess":{},"partial_success":{"rejectedLogRecords":1}}', "failed"],
    ['{"partialSuccess":{"rejectedLogRecords":0,"rejected_log_records":1}}', "failed"],
    ['{"partialSuccess":{"rejectedDataPoints":"1"}}', "failed"],
    ['{"PartialSuccess":{}}', "failed"],
    ['{"partialSuccess":[]}', "failed"],
    ['{"partialSuccess":"none"}', "failed"],
    ['{"partialSuccess":0}', "failed"],
  ])("are read from %s: %s", (body, kind) => expect(judge(body).kind).toBe(kind));

  it.each([
    ["nothing", [], "taken"],
    ["an unknown field beside them", [...field(1, [8, 1]), 0x4d, 1, 2, 3, 4, 0x51, 1, 2, 3, 4, 5, 6, 7, 8], "partly"],
    ["an unknown field alone", field(2, [1]), "failed"],
    ["a google.rpc.Status", [8, 3, ...field(2, [0x6e, 0x6f])], "failed"],
    ["more than was sent", [...rejecting(4n)], "failed"],
    ["less than nothing", [...rejecting(-1n)], "failed"],
    ["two of them", [...rejecting(1n), ...rejecting(0n)], "failed"],
    ["one that is cut off", [...rejecting(1n)].slice(0, -1), "failed"],
    ["a length beyond the end", [0x0a, 0xff, 0x01, 8, 1], "failed"],
    ["a varint without end", Array.from({ length: 12 }, () => 0xff), "failed"],
    ["a group", [0x0b, 0x0c], "failed"],
    ["JSON", [...new TextEncoder().encode("{}")], "failed"],
  ])("are read from protobuf that has %s: %s", (_what, bytes, kind) =>
    expect(judge(Uint8Array.from(bytes), PROTOBUF).kind).toBe(kind),
  );

  it("never throw, whatever the bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), STATUS, (bytes, status) => {
        for (const headers of [{}, PROTOBUF])
          expect(otlp.judge(receiverAnswer({ status, body: bytes, headers }), SENT).kind).toMatch(/./);
      }),
    );
  });

  it("have the code of a refusal beside them, in either encoding", () => {
    const refused = (body: string | Uint8Array, headers = {}): Verdict =>
      otlp.judge(receiverAnswer({ status: 403, body, headers }), SENT);
    const said = { kind: "failed", error: { words: "HTTP 403 OTLP.7" } };
    expect(refused('{"code":7,"message":"secret","details":[]}')).toMatchObject(said);
    const status = Uint8Array.from([8, 7, ...field(2, [1]), ...field(3, [1]), ...field(3, [2])]);
    expect(refused(status, PROTOBUF)).toMatchObject(said);
    for (const body of ["", "<html>", '{"code":"secret"}', '{"message":"secret"}'])
      expect(refused(body)).toMatchObject({ error: { words: "HTTP 403" } });
  });
});

describe("an item of a bulk request", () => {
  const judge = (errors: unknown, ...items: readonly unknown[]): Verdict =>
    elastic.judge(receiverAnswer({ status: 200, body: JSON.stringify({ errors, items }) }), items.length);
  const created = { create: { status: 201 } };

  it.each([
    ["in the failure store", { create: { status: 201, failure_store: "used" } }, "HTTP 201 failure_store"],
    [
      "that could have gone there",
      { create: { status: 400, error: { type: "document_parsing_exception" }, failure_store: "not_enabled" } },
      "HTTP 400 document_parsing_exception",
    ],
  ])("%s is set aside", (_what, item, words) =>
    expect(judge(false, created, item)).toMatchObject({ kind: "partly", again: [], refused: [{ entry: 1, words }] }),
  );

  it.each([
    ["a status of another success", { create: { status: 202 } }],
    ["an error beside a success", { create: { status: 201, error: { type: "x" } } }],
    ["two results", { create: { status: 201 }, index: { status: 201 } }],
    ["a status that is text", { create: { status: "201" } }],
    ["no status", { create: {} }],
    ["nothing", null],
  ])("with %s is not there for certain", (_what, item) =>
    expect(judge(false, created, item)).toMatchObject({ kind: "partly", again: [1], mayBeThere: true }),
  );

  it("is not taken where the answer contradicts itself", () => {
    for (const errors of [undefined, null, "false", 0]) expect(judge(errors, created)).toMatchObject(UNCLEAR);
    expect(judge(true, created)).toMatchObject(UNCLEAR);
    expect(judge(true, created, { create: { status: 409 } })).toEqual({ kind: "taken" });
    const other = { create: { status: 409, error: { type: "cluster_block_exception" } } };
    expect(judge(true, created, other)).toMatchObject({ kind: "partly", again: [1], refused: [] });
  });
});
