import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import { TEXT_MAX_CHARACTERS } from "../../src/limits.ts";
import { load } from "../../src/object/load.ts";
import { Delivery } from "../../src/queue/delivery.ts";
import { decodeEnvelope, encodeParts } from "../../src/queue/message.ts";
import { type SealKey, sealKeyOf } from "../../src/queue/seal.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TraceRecord } from "../../src/record/fields.ts";
import { truncate } from "../../src/record/truncate.ts";
import { body, deliver, id } from "../pipeline/scripted.ts";
import { NOON, traceRecord } from "../record/samples.ts";

const OURS = sealKeyOf(new Uint8Array(32));

const NO_BLOBS = { get: async () => null };

/** What the queue handler holds of one message's records. */
async function loaded(records: TraceRecord[]) {
  const [message] = deliver([body({ n: 1, takenInMs: NOON, keyed: false, records })]).batch.messages;
  const loading = await load(new Delivery(message as Message<unknown>), NO_BLOBS);
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
    async (characters) => {
      const record = logging("x".repeat(characters));
      const [only] = (await loaded([record])).records;
      expect(only?.shipped).toBe(only?.whole);
      expect(only?.whole.line).toBe(recordLine(record));
    },
  );

  it.each([TEXT_MAX_CHARACTERS + 1, 2 * TEXT_MAX_CHARACTERS, 400_000])(
    "ships truncated with %i of them, and whole to filters",
    async (characters) => {
      const record = logging("x".repeat(characters));
      const [only] = (await loaded([record])).records;
      expect(only?.shipped.line).toBe(recordLine(truncate(record)));
      expect(only?.shipped.Logs[0]?.Message[0]).toMatch(/^x{16384}<<<Logship: messages truncated>>>$/);
      expect(only?.whole.line).toBe(recordLine(record));
    },
  );

  it("ships as it came where its JSON alone is longer than what it says", async () => {
    // 10,000 characters, of which JSON makes 20,000.
    const record = logging("\n".repeat(10_000));
    const [only] = (await loaded([record])).records;
    expect(only?.shipped).toBe(only?.whole);
  });

  it("is parsed in a message without a seal of ours, as a function that is bound to the queue may have written it", async () => {
    const part = { id: id(1), takenInMs: NOON, keyed: false, records: 1 };
    const whole = recordLine(traceRecord());
    const kindOf = async (line: string, key: SealKey | undefined) => {
      const { buffer } = encodeParts([part], encodeUtf8(`${line}\n`), {}, key && { seal: key });
      const delivery = { body: buffer, envelope: decodeEnvelope(buffer), attempts: 1 };
      return (await load(delivery, NO_BLOBS, [OURS])).kind;
    };
    for (const bad of [whole.replace('"shop"', "shop"), whole.replace('"Logs":[]', '"Logs":[{"Message":[1]}]')]) {
      for (const key of [undefined, sealKeyOf(new Uint8Array(32).fill(2))])
        expect([await kindOf(bad, key), await kindOf(whole, key)]).toEqual(["unreadable", "loaded"]);
      // Nothing else has the key.
      expect(await kindOf(bad, OURS)).toBe("loaded");
    }
  });

  it("knows its place, and whether its characters are bytes", async () => {
    const ascii = await loaded([logging("a"), logging("b")]);
    expect([ascii.ascii, ascii.records.map(({ index }) => index)]).toEqual([true, [0, 1]]);
    expect((await loaded([logging("a"), logging("é")])).ascii).toBe(false);
  });
});
