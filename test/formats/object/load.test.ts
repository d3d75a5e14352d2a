import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { TEXT_MAX_CHARACTERS } from "../../../src/base/limits.ts";
import { load } from "../../../src/formats/queue/load-records.ts";
import { type MacKey, macKeyOf } from "../../../src/formats/queue/mac.ts";
import { decodeEnvelope, encodeParts } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { truncate } from "../../../src/formats/record/truncate.ts";
import { NOON, traceRecord } from "../record/samples.ts";

const OURS = macKeyOf(new Uint8Array(32));

const ID = "0".repeat(32);

/** A message of lines, as the queue delivers it. */
function delivered(lines: readonly string[], key?: MacKey) {
  const part = { id: ID, takenInMs: NOON, keyed: false, shards: 1, records: lines.length };
  const raw = encodeUtf8(lines.map((line) => `${line}\n`).join(""));
  const { buffer: body } = encodeParts([part], raw, {}, key);
  return { body, envelope: decodeEnvelope(body), attempts: 1 };
}

/** What the queue handler holds of one message's records. */
function loaded(records: TraceRecord[]) {
  const loading = load(delivered(records.map(recordLine)));
  if (loading.kind !== "loaded") throw new Error(loading.kind);
  const [part] = loading.loaded;
  if (part === undefined) throw new Error("no part");
  return part;
}

const logging = (text: string): TraceRecord =>
  traceRecord({ Logs: [{ Level: "log", Message: [text], TimestampMs: NOON }] });

describe("a record in the queue handler", () => {
  it.each([TEXT_MAX_CHARACTERS - 100, TEXT_MAX_CHARACTERS])(
    "ships as it came with %i characters of logs",
    (characters) => {
      const record = logging("x".repeat(characters));
      const [only] = loaded([record]).records;
      expect(only?.shipped).toBe(only?.whole);
      expect(only?.whole.line).toBe(recordLine(record));
    },
  );

  it.each([TEXT_MAX_CHARACTERS + 1, 2 * TEXT_MAX_CHARACTERS, 400_000])(
    "ships truncated with %i of them, and whole to filters",
    (characters) => {
      const record = logging("x".repeat(characters));
      const [only] = loaded([record]).records;
      expect(only?.shipped.line).toBe(recordLine(truncate(record)));
      expect(only?.shipped.Logs[0]?.Message[0]).toMatch(/^x{16384}<<<Logship: messages truncated>>>$/);
      expect(only?.whole.line).toBe(recordLine(record));
    },
  );

  it("ships as it came where its JSON alone is longer than what it says", () => {
    // 10,000 characters, of which JSON makes 20,000.
    const record = logging("\n".repeat(10_000));
    const [only] = loaded([record]).records;
    expect(only?.shipped).toBe(only?.whole);
  });

  it("is parsed in a message without a seal of ours, as a function that is bound to the queue may have written it", () => {
    const whole = recordLine(traceRecord());
    const kindOf = (line: string, key: MacKey | undefined) => load(delivered([line], key), [OURS]).kind;
    for (const bad of [whole.replace('"shop"', "shop"), whole.replace('"Logs":[]', '"Logs":[{"Message":[1]}]')]) {
      for (const key of [undefined, macKeyOf(new Uint8Array(32).fill(2))])
        expect([kindOf(bad, key), kindOf(whole, key)]).toEqual(["unreadable", "loaded"]);
      // Nothing else has the key.
      expect(kindOf(bad, OURS)).toBe("loaded");
    }
  });

  it("knows its place", () => {
    expect(loaded([logging("a"), logging("b")]).records.map(({ index }) => index)).toEqual([0, 1]);
  });
});
