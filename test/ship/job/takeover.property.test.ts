/** Messages taken over as they are compressed, and compressed anew: the same records either way. */

import { createHash } from "node:crypto";
import { constants, deflateRawSync, gunzipSync } from "node:zlib";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";
import type { Fragment } from "../../../src/formats/object/encoder.ts";
import { encoderOf } from "../../../src/formats/object/encoders.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import { type Loaded, load, loadOffered } from "../../../src/formats/queue/load-records.ts";
import { macKeyOf } from "../../../src/formats/queue/mac.ts";
import { decodeEnvelope, encodeParts, type Part } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../../src/formats/record/fields.ts";
import { HashSet } from "../../../src/formats/sketch/hash-set.ts";
import { prepareAll } from "../../../src/ship/consumer/prepare-all.ts";
import { type Prepared, prepare, takesOver } from "../../../src/ship/job/build.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { DAY_MS, NOON, noise, traceRecord } from "../../formats/record/samples.ts";
import { id, job, textOf } from "../consumer/scripted.ts";

const KEY = macKeyOf(new Uint8Array(32));
const HOUR_MS = 3_600_000;

/** What a message has that decides whether it is taken over. */
interface Kind {
  records: number;
  /** Of the log of each record. */
  bytes: number;
  /** Between two records, by turns. */
  apartMs?: number;
  truncated?: true;
  /** Outcome of its last record. */
  last?: string;
}

function recordsOf(n: number, { records, bytes, apartMs = 0, truncated, last = "ok" }: Kind): TraceRecord[] {
  return Array.from({ length: records }, (_, i) => {
    const isLast = i === records - 1;
    const text = truncated && isLast ? noise(20_000, n) : noise(bytes, n * 1_000 + i).replaceAll(/[^a-z]/g, "é");
    return traceRecord({
      Outcome: isLast ? last : "ok",
      EventTimestampMs: NOON + n * 1_000 + i + (i % 2) * apartMs,
      ScriptName: i % 2 === 0 ? "shop" : "till",
      Logs: [{ Level: "log", Message: [text], TimestampMs: NOON }],
    });
  });
}

function messageOf(n: number, records: readonly TraceRecord[], isForTakeover: boolean): Uint8Array<ArrayBuffer> {
  const part: Part = { id: id(n), takenInMs: NOON + n, keyed: false, shards: 1, records: records.length };
  const raw = encodeUtf8(records.map((record) => `${recordLine(record)}\n`).join(""));
  return encodeParts([part], raw, {}, KEY, isForTakeover);
}

function loaded(message: Uint8Array<ArrayBuffer>): Loaded {
  const { buffer: body } = message;
  const loading = load({ body, envelope: decodeEnvelope(body) }, [KEY]);
  if (loading.kind !== "loaded") throw new Error(loading.kind);
  const [only] = loading.loaded;
  if (only === undefined) throw new Error("no part");
  return only;
}

const partName = ({ day, part = "" }: Fragment): string => `${day} ${part}`;

const sha256 = (of: string | Uint8Array | Uint32Array): string => createHash("sha256").update(of).digest("hex");

/** An object of fragments of one day and part, as its reader puts it together. */
function objectOf(to: JobConfig, fragments: readonly Fragment[]): Uint8Array<ArrayBuffer> {
  const encoder = encoderOf(to.output);
  const assembly = encoder.assemble();
  const pieces = fragments.flatMap((fragment, i) => {
    const body = fragment.deflated ? fragment.body : encoder.finish(fragment.body);
    const seam = i === 0 ? new Uint8Array() : encoder.seam.finished;
    if (i > 0) assembly.add(seam, encoder.seam.content);
    assembly.add(body, fragment);
    return [seam, body];
  });
  return concat([assembly.head.bytes, ...pieces, assembly.end().bytes]);
}

/** What a job gets: by day and part, the lines in any order, and facts of them. */
function facts(to: JobConfig, { fragments, ...share }: Prepared) {
  // Columns are made of records alone, whatever form they came in.
  if (to.output.type === "parquet") return { share, days: fragments.map(({ body, ...more }) => [sha256(body), more]) };
  const days = [...Map.groupBy(fragments, partName)].map(([name, group]) => {
    const hashes = new HashSet();
    for (const each of group) hashes.addAll(each.hashes ?? new Uint32Array());
    const text = group.map(textOf).join(to.output.recordDelimiter);
    const { batchPrefix, batchSuffix } = to.output;
    // It is read as a whole, and its checksum and length are those of its trailer.
    expect(sha256(gunzipSync(objectOf(to, group)) as Uint8Array)).toBe(sha256(batchPrefix + text + batchSuffix));
    return {
      name,
      // Not the lines themselves: a failure would show a megabyte.
      lines: sha256(text.split("\n").sort().join("\n")),
      records: group.reduce((sum, { records }) => sum + records, 0),
      first: Math.min(...group.map(({ firstEventMs }) => firstEventMs)),
      last: Math.max(...group.map(({ lastEventMs }) => lastEventMs)),
      taken: Math.min(...group.map(({ oldestTakenMs }) => oldestTakenMs)),
      hashes: sha256(hashes.all().sort()),
    };
  });
  return { share, days: days.sort((a, b) => a.name.localeCompare(b.name)) };
}

/** Large ones, with their numbers, and others. */
const KINDS: Kind[] = [
  { records: 90, bytes: 2_000 },
  { records: 90, bytes: 2_000, apartMs: DAY_MS },
  { records: 90, bytes: 2_000, truncated: true },
  { records: 90, bytes: 2_000, last: "exception" },
  { records: 3, bytes: 2_000 },
  { records: 1_001, bytes: 20 },
  { records: 1_000, bytes: 20 },
  { records: 90, bytes: 2_000, apartMs: HOUR_MS },
];

const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });

/** Which of the messages each takes over. */
const JOBS: [string, Partial<JobConfig>, taken: readonly number[]][] = [
  ["all fields of all records", {}, [0, 3, 6, 7]],
  ["all fields, named in order", { output: { ...NDJSON, fieldNames: [...FIELD_NAMES] } }, [0, 3, 6, 7]],
  ["all fields, by a star", { output: { ...NDJSON, fieldNames: ["*"] } }, [0, 3, 6, 7]],
  ["hours apart", { path: "{DATE}/{HOUR}" }, [0, 3, 6]],
  ["no sketches", { sketches: false }, [0, 3, 6, 7]],
  ["whole texts", { output: { ...NDJSON, truncate: false } }, [0, 2, 3, 6, 7]],
  ["fields in another order", { output: { ...NDJSON, fieldNames: [...FIELD_NAMES].reverse() } }, []],
  ["all but a field", { output: { ...NDJSON, fieldNames: FIELD_NAMES.slice(1) } }, []],
  ["a field more", { output: { ...NDJSON, fieldNames: ["*", "Source"] } }, []],
  ["what its filter keeps", { filter: FILTER }, []],
  ["a sample", { sampleRate: 0.5 }, []],
  ["escaped texts", { output: { ...NDJSON, escapeDollarBrace: true } }, []],
  ["rows with a delimiter", { output: { ...NDJSON, recordSuffix: "}", recordDelimiter: "\n" } }, []],
  ["rows of a batch", { output: { ...NDJSON, batchPrefix: "[", batchSuffix: "]" } }, []],
  ["scripts apart", { path: "{DATE}/{SCRIPT}" }, []],
  ["a row for each log line", { output: { ...NDJSON, rows: "log" } }, []],
  ["values in columns", { output: { ...NDJSON, type: "parquet" } }, []],
  ["comma-separated values", { output: { ...NDJSON, type: "csv", recordPrefix: "", recordSuffix: "\n" } }, []],
];

/** Compressed otherwise, so that it is known where it was taken over. */
function marked(message: Loaded): Loaded {
  const { takeover } = message;
  if (takeover === undefined) throw new Error("it cannot be taken over");
  const deflated = deflateRawSync(takeover.raw, { level: 1, finishFlush: constants.Z_SYNC_FLUSH });
  return { ...message, takeover: { ...takeover, deflated } };
}

const MESSAGES = KINDS.map((kind, n) => {
  const records = recordsOf(n, kind);
  const over = messageOf(n, records, true);
  return { over, offered: { over: marked(loaded(over)), anew: loaded(messageOf(n, records, false)) } };
});

type Form = "over" | "anew";

const formByTurns = (_: unknown, n: number): Form => (n % 2 === 0 ? "over" : "anew");

function offeredOf(n: number, form: Form): Loaded {
  return (MESSAGES[n] as (typeof MESSAGES)[0]).offered[form];
}

/** The fragments that are those of messages, byte for byte. */
function takenIn(fragments: readonly Fragment[]): number[] {
  const bodies = new Map(fragments.map(({ body }) => [sha256(body), body]));
  return MESSAGES.flatMap(({ offered }, n) =>
    bodies.has(sha256(offered.over.takeover?.deflated ?? new Uint8Array())) ? [n] : [],
  );
}

describe("a job that ships", () => {
  it.each(JOBS)("%s gets the same of what was taken over", (_what, fields, taken) => {
    const to = job(1, fields);
    expect(takesOver(to)).toBe(taken.length > 0);
    expect(MESSAGES.some(({ offered }) => "takeover" in offered.anew)).toBe(false);
    // By number: a failure would show megabytes.
    const numbers = fc.shuffledSubarray(MESSAGES.map((_, n) => n));
    const forms = fc.array(fc.constantFrom<Form>("over", "anew"), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(numbers, forms, (some, formOf) => {
        const made = (form: (n: number) => Form) =>
          prepare(
            to,
            some.map((n) => offeredOf(n, form(n))),
          );
        const anew = facts(
          to,
          made(() => "anew"),
        );
        const over = made(() => "over");
        expect(facts(to, over)).toEqual(anew);
        expect(takenIn(over.fragments)).toEqual(taken.filter((n) => some.includes(n)));
        expect(
          facts(
            to,
            made((n) => formOf[n] as Form),
          ),
        ).toEqual(anew);
      }),
      // All of them first: a few runs are of few messages.
      { numRuns: taken.length > 0 ? 5 : 2, examples: [[MESSAGES.map((_, n) => n), MESSAGES.map(formByTurns)]] },
    );
  });

  it("all records gets those of a message in order, in memory of its own", () => {
    const [{ offered }] = MESSAGES as [(typeof MESSAGES)[0]];
    const [fragment] = prepare(job(1), [offered.over]).fragments as [Fragment];
    expect(textOf(fragment)).toBe(offered.over.records.map(({ whole }) => `${whole.line}\n`).join(""));
    expect(fragment.body.buffer.byteLength).toBe(fragment.body.length);
    expect(fragment.body.buffer).not.toBe(offered.over.takeover?.deflated.buffer);
  });

  it("less than all of a message makes anew what is left", () => {
    const { offered } = MESSAGES[0] as (typeof MESSAGES)[0];
    const some = { ...offered.over, records: offered.over.records.slice(1) };
    const { fragments, received } = prepare(job(1), [some]);
    expect([received, fragments.map(({ records }) => records), takenIn(fragments)]).toEqual([89, [89], []]);
  });
});

describe("a message whose functions have logging off", () => {
  const jobs = [job(1), job(2, { filter: FILTER }), job(3, { output: { ...NDJSON, type: "parquet" } })];
  const off = [{ scriptName: "till", windows: [{ fromMs: NOON, untilMs: NOON + 2 }] }];

  it("is compressed anew for the queue handler, and others beside it are not", () => {
    const group = MESSAGES.map(({ offered }) => offered.over);
    const { prepared } = prepareAll(group, { jobs, optOuts: off });
    const [first] = prepared;
    // Messages 0 to 2 were taken in while it was off.
    expect(takenIn(first?.fragments ?? [])).toEqual([3, 6, 7]);
    const lines = (first?.fragments ?? []).map(textOf).join("").split("\n").slice(0, -1);
    const tills = lines.filter((line) => (JSON.parse(line) as TraceRecord).ScriptName === "till");
    const all = group
      .slice(3)
      .flatMap(({ records }) => records)
      .filter(({ whole }) => whole.ScriptName === "till");
    expect(tills.length).toBe(all.length);
    expect(prepared.map(({ jobs: [only] }) => only?.id)).toEqual([1, 2, 3]);
  });

  it("is so for a reader, which takes the others over", () => {
    const { over, offered } = MESSAGES[0] as (typeof MESSAGES)[0];
    const { id: part } = offered.over.message;
    const read = (off: { [part: string]: string[] }) => {
      const all = loadOffered({ body: over, parts: [part], off }, [KEY]);
      if (typeof all === "string") throw new Error(all);
      return all.map((each) => ["takeover" in each, each.records.length]);
    };
    expect([read({}), read({ [part]: ["till"] })]).toEqual([[[true, 90]], [[false, 45]]]);
  });
});
