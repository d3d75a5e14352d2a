/** What every kind of object promises; src/formats/object/encoder.ts. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, toHex } from "../../../src/base/bytes.ts";
import type { Content, Encoder, EncoderKind, Fragment } from "../../../src/formats/object/encoder.ts";
import { decoderOf, ENCODERS, encoderKindOf, encoderOf } from "../../../src/formats/object/encoders.ts";
import { joinContents } from "../../../src/formats/object/gzip.ts";
import { NDJSON, type OutputFormat } from "../../../src/formats/output/format.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { TAKEN_FIELDS } from "../../../src/formats/record/fields.ts";
import { RecordLine } from "../../../src/formats/record/line.ts";
import { canaryRecord } from "../../../src/ship/reader/canary-object.ts";
import { NOON } from "../record/samples.ts";

/** Formats of each type. A new kind is a line. */
const OUTPUTS: { readonly [type in OutputFormat["type"]]: readonly Partial<OutputFormat>[] } = {
  ndjson: [
    {},
    { rows: "log" },
    { batchPrefix: "[", recordSuffix: "}", recordDelimiter: ",", batchSuffix: "]ü" },
    { fieldNames: [] },
  ],
  parquet: [
    { type: "parquet" },
    { type: "parquet", fieldNames: ["Source", "Logs", "EventTimestampMs", "Event"] },
    { type: "parquet", fieldNames: [...TAKEN_FIELDS, "Logs"] },
    { type: "parquet", rows: "log" },
    {
      type: "parquet",
      rows: "log",
      fieldNames: ["Fields", "Message", "ExceptionStacks", "Event", "TimestampMs", "Truncated"],
    },
  ],
  csv: [{ type: "csv", recordPrefix: "", recordSuffix: "\r\n", batchPrefix: "CPUTimeMs,…\n" }],
};

const FORMATS = Object.values(OUTPUTS)
  .flat()
  .map((fields): OutputFormat => ({ ...NDJSON, ...fields }));

const recordOf = (text: string): RecordLine => {
  const plain = canaryRecord(1, "identity", NOON);
  const Logs = [text, '{"a":"ü"}'].map((each) => ({ Level: "log", Message: [each], TimestampMs: NOON }));
  const Exceptions = [{ name: "E", message: text, TimestampMs: NOON }];
  const line = recordLine({ ...plain, Logs, Exceptions });
  const extra = { RequestHeaders: { host: text }, ExceptionStacks: ["at a"], Truncated: true };
  const record = RecordLine.read(line, "rpc", JSON.stringify(extra));
  if (record === null) throw new Error("no record");
  return record;
};

function fragmentsOf(encoder: Encoder, texts: readonly string[]): Fragment[] {
  const gatherer = encoder.gather();
  for (const text of texts) gatherer.add(recordOf(text), NOON);
  return gatherer.finish();
}

/**
 * An object of these fragments, put together as a log does: those that are raw are finished,
 * neighbours together.
 */
function objectOf(encoder: Encoder, fragments: readonly Fragment[]): { bytes: Uint8Array; content: Content } {
  const assembly = encoder.assemble();
  const parts: Uint8Array[] = [assembly.head.bytes];
  const put = (body: Uint8Array, contents: readonly Content[]): void => {
    // In rows of any size, as a large fragment is stored.
    const middle = Math.floor(body.length / 3);
    assembly.add(body.slice(0, middle), joinContents(contents));
    assembly.add(body.slice(middle), joinContents([]));
    parts.push(body);
  };
  let raw: Uint8Array[] = [];
  let contents: Content[] = [];
  const finish = (): void => {
    if (raw.length > 0) put(encoder.finish(concat(raw)), contents);
    raw = [];
    contents = [];
  };
  for (const [i, fragment] of fragments.entries()) {
    if (fragment.deflated) finish();
    const seams = i === 0 ? [] : [encoder.seam.content];
    const seam = fragment.deflated ? encoder.seam.finished : encoder.seam.raw;
    const body = concat(i === 0 ? [fragment.body] : [seam, fragment.body]);
    if (fragment.deflated) put(body, [...seams, fragment]);
    else {
      raw.push(body);
      contents.push(...seams, fragment);
    }
  }
  finish();
  const tail = assembly.end();
  return { bytes: concat([...parts, tail.bytes]), content: tail.content };
}

async function decoded(kind: EncoderKind, bytes: Uint8Array, step = 7): Promise<Uint8Array> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += step) yield bytes.slice(at, at + step);
  }
  const parts: Uint8Array[] = [];
  for await (const part of kind.decode(pieces())) parts.push(part.slice());
  return concat(parts);
}

// Long ones are finished at once, short ones wait raw.
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.integer({ min: 1, max: 40 }).map((n) => `ü${n}-`.repeat(n * 97)),
);
const groups = fc.array(fc.array(text, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 });

it("has a format for every type of every kind, and no two kinds share a type or a suffix", () => {
  const types = ENCODERS.flatMap((kind) => kind.types);
  expect(types.toSorted()).toEqual(Object.keys(OUTPUTS).toSorted());
  expect(new Set(ENCODERS.map(({ suffix }) => suffix)).size).toBe(ENCODERS.length);
});

describe.each(FORMATS.map((output) => [JSON.stringify(output), output] as const))("an encoder: %s", (_what, output) => {
  const kind = encoderKindOf(output);
  const encoder = encoderOf(output);

  it("makes one object of fragments, in any grouping, with the sizes and sums that it says", async () => {
    await fc.assert(
      fc.asyncProperty(groups, fc.integer({ min: 1, max: 500 }), async (texts, step) => {
        const whole = objectOf(encoder, fragmentsOf(encoder, texts.flat()));
        const parts = objectOf(
          encoder,
          texts.flatMap((group) => fragmentsOf(encoder, group)),
        );
        const raw = await decoded(kind, whole.bytes, step);
        expect(toHex(await decoded(kind, parts.bytes, step)) === toHex(raw)).toBe(true);
        expect(parts.content).toEqual(whole.content);
        expect(whole.content.rawBytes).toBe(raw.length);
      }),
      { numRuns: 20 },
    );
  });

  it("makes equal bytes of equal records", () => {
    fc.assert(
      fc.property(groups, (texts) => {
        const [first, again] = [encoder, encoderOf({ ...output })].map((each) =>
          toHex(
            objectOf(
              each,
              texts.flatMap((group) => fragmentsOf(each, group)),
            ).bytes,
          ),
        );
        expect(first === again).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it("counts every record once, with its day and times", () => {
    const fragments = fragmentsOf(encoder, ["a", "b", "ü".repeat(9_000)]);
    expect(fragments.reduce((sum, { records }) => sum + records, 0)).toBe(3);
    for (const fragment of fragments) {
      expect(fragment).toMatchObject({ day: Math.floor(NOON / 86_400_000), firstEventMs: NOON, lastEventMs: NOON });
      expect(fragment.oldestTakenMs).toBe(NOON);
    }
  });

  it("makes nothing of nothing, and an object without records of head and tail", async () => {
    expect(fragmentsOf(encoder, [])).toEqual([]);
    expect(joinContents([])).toEqual({ rawBytes: 0, crc: 0 });
    const empty = objectOf(encoder, []);
    expect((await decoded(kind, empty.bytes)).length).toBe(encoder.aroundBytes);
    expect(empty.content.rawBytes).toBe(encoder.aroundBytes);
  });

  it("never writes more of a record than it says", () => {
    fc.assert(
      fc.property(text, (each) => {
        const record = recordOf(each);
        expect(encoder.text(record).length).toBeLessThanOrEqual(encoder.unitsAtMost(record));
      }),
    );
  });

  it("makes a whole object of one record, of other bytes in each variant, and the same content", async () => {
    const record = recordOf("one");
    const objects = Array.from({ length: 24 }, (_, variant) => encoder.single(record, variant));
    expect(new Set(objects.map(toHex)).size).toBe(24);
    const raw = await decoded(kind, objectOf(encoder, fragmentsOf(encoder, ["one"])).bytes);
    for (const object of objects) expect(await decoded(kind, object)).toEqual(raw);
  });

  it("reads nothing out of half an object, nor out of anything else", async () => {
    const { bytes } = objectOf(encoder, fragmentsOf(encoder, ["a", "b"]));
    for (const other of [bytes.slice(0, -1), bytes.slice(0, 12), new TextEncoder().encode("no object at all")])
      await expect(decoded(kind, other)).rejects.toThrow();
  });

  it("names its objects so that they are found, and canaries are not", () => {
    expect(decoderOf(`logs/20261120/x${kind.suffix}`)).toBe(kind);
    expect(kind.suffix).toMatch(/^\.[a-z.]+$/);
    expect(`x${kind.canarySuffix}`.endsWith(kind.suffix)).toBe(false);
    for (const type of [kind.fileType, encoder.contentType]) expect(type).toMatch(/^[a-z]+\/[a-z.+-]+$/);
  });
});
