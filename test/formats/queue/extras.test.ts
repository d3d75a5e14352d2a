/** Extra fields in messages: beside the records, and to be passed over. */
import { deflateRawSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import { EXTRAS_MAX_BYTES } from "../../../src/base/limits.ts";
import { decodeExtras, encodeExtras } from "../../../src/formats/queue/extras.ts";
import { load } from "../../../src/formats/queue/load-records.ts";
import { macKeyOf } from "../../../src/formats/queue/mac.ts";
import { decodeEnvelope, encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { decodeBlocks, encodeBlocks } from "../../../src/formats/queue/sections.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { linesOfParts, type ReadMessage, readMessage } from "../../support/read-message.ts";
import { noise, TAKEN, traceRecord } from "../record/samples.ts";

const KEY = macKeyOf(new Uint8Array(32).fill(1));
const part = (n: number, records: number): Part => ({
  ...{ id: `${n}`.repeat(32), takenInMs: TAKEN, keyed: false, shards: 1 },
  records,
});
const ndjson = (lines: readonly string[]) => encodeUtf8(lines.map((line) => `${line}\n`).join(""));
const LINES = ["a", "b", "c"].map((Outcome) => recordLine(traceRecord({ Outcome })));
const EXTRAS = ['{"Truncated":true}', "", '{"RequestHeaders":{"accept":"ä"}}'];

function messageOf(extras: readonly string[], seal = true): Uint8Array<ArrayBuffer> {
  const parts: [Part, Part] = [part(1, 1), part(2, 2)];
  return encodeParts(parts, ndjson(LINES), { body: encodeExtras(extras) }, seal ? KEY : undefined);
}

function read(body: Uint8Array<ArrayBuffer>, keys = [KEY]): ReadMessage {
  const decoded = readMessage(body.buffer, keys);
  if (!decoded.ok) throw new Error(decoded.why);
  return decoded.value;
}

describe("the extra fields of a message", () => {
  it("come with its records, part by part", () => {
    const message = read(messageOf(EXTRAS));
    expect(message).toMatchObject({ lines: LINES, extras: EXTRAS, isAuthentic: true });
    expect(linesOfParts(message).map(({ extras }) => extras)).toEqual([EXTRAS.slice(0, 1), EXTRAS.slice(1)]);
  });

  it("change nothing of a message whose records have none, to the byte", () => {
    const without = encodeParts([part(1, 1), part(2, 2)], ndjson(LINES), {}, KEY);
    expect(messageOf(["", "", ""])).toEqual(without);
    expect(read(without)).not.toHaveProperty("extras");
  });

  it("are a block that is passed over by its length: what stands after it is read", () => {
    const blocks = decodeBlocks(encodeBlocks([...encodeExtras(EXTRAS), [9, encodeUtf8("after")]]));
    expect([...(blocks?.keys() ?? [])]).toEqual([2, 9]);
    expect(decodeExtras(blocks ?? new Map(), 3)).toEqual(EXTRAS);
  });

  it("are what they were, whatever they are", () => {
    const lines = fc.array(
      fc.string({ unit: "binary", maxLength: 60 }).map((text) => JSON.stringify(text.toWellFormed())),
    );
    fc.assert(
      fc.property(lines, (extras) => {
        const blocks = new Map(encodeExtras(extras));
        expect(decodeExtras(blocks, extras.length)).toEqual(extras.length === 0 ? null : extras);
      }),
      { numRuns: 100 },
    );
    const many = Array.from({ length: 500 }, (_, i) => JSON.stringify(noise(800, i)));
    expect(decodeExtras(new Map(encodeExtras(many)), 500)).toEqual(many);
  });

  it("of a writer without the key are vetted, and those of intake are believed", () => {
    const odd = ['{"RequestHeaders":{"cookie":"x","accept":"y"},"Truncated":1}', "no JSON", EXTRAS[2] as string];
    expect(read(messageOf(odd)).extras).toEqual(odd);
    const vetted = ['{"RequestHeaders":{"accept":"y"}}', "", EXTRAS[2]];
    expect(read(messageOf(odd, false)).extras).toEqual(vetted);
    expect(read(messageOf(odd), []).extras).toEqual(vetted);
  });

  const head = (form: number, length: number) => {
    const bytes = new Uint8Array(5);
    bytes[0] = form;
    new DataView(bytes.buffer).setUint32(1, length);
    return bytes;
  };
  it.each([
    ["is too short", new Uint8Array(3)],
    ["has too few lines", concat([head(0, 2), encodeUtf8("\n\n")])],
    ["has no end", concat([head(0, 3), encodeUtf8("\n\n\n{")])],
    ["is of another length", concat([head(0, 4), encodeUtf8("\n\n\n")])],
    ["is no UTF-8", concat([head(0, 4), Uint8Array.of(255, 10, 10, 10)])],
    ["does not inflate", concat([head(1, 3), encodeUtf8("\n\n\n")])],
    ["says less than it inflates to", concat([head(1, 3), deflateRawSync(new Uint8Array(100_000).fill(10))])],
    ["says that it is too large", concat([head(1, EXTRAS_MAX_BYTES + 1), deflateRawSync(encodeUtf8("\n\n\n"))])],
  ])("cost no record where the block %s", (_what, bytes) => {
    const parts: [Part] = [part(1, 3)];
    const message = encodeParts(parts, ndjson(LINES), { body: [[2, bytes]] });
    expect(read(message).lines).toEqual(LINES);
    expect(read(message)).not.toHaveProperty("extras");
  });

  it("are with the records that jobs get, truncated ones, too", () => {
    const long = recordLine(traceRecord({ Logs: [{ Level: "log", Message: ["x".repeat(20_000)], TimestampMs: 0 }] }));
    const body = encodeParts([part(1, 1)], ndjson([long]), { body: encodeExtras(EXTRAS.slice(0, 1)) }).buffer;
    const delivery = { body, envelope: decodeEnvelope(body), attempts: 1 };
    const loading = load(delivery);
    if (loading.kind !== "loaded") throw new Error(loading.kind);
    const [{ whole, shipped } = {}] = loading.loaded[0]?.records ?? [];
    expect([whole?.Truncated, shipped?.Truncated, whole === shipped]).toEqual([true, true, false]);
    expect(loading.loaded[0]?.size).toBe(long.length + 1 + (EXTRAS[0] as string).length);
  });
});
