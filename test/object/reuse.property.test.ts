/** Messages taken over as they are compressed, and compressed anew: the same records either way. */

import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import * as fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { concat, encodeUtf8 } from "../../src/bytes.ts";
import type { JobConfig } from "../../src/job/config.ts";
import type { Append } from "../../src/object/append.ts";
import { buildAppend, type Offered } from "../../src/object/build.ts";
import type { Fragment } from "../../src/object/encoder.ts";
import { encoderOf } from "../../src/object/encoders.ts";
import { load } from "../../src/object/load.ts";
import { NDJSON } from "../../src/output/format.ts";
import { decodeEnvelope, encodeParts, type Part } from "../../src/queue/message.ts";
import { sealKeyOf } from "../../src/queue/seal.ts";
import { recordLine } from "../../src/record/encode.ts";
import { FIELD_NAMES, type TraceRecord } from "../../src/record/fields.ts";
import { HashSet } from "../../src/sketch/hash-set.ts";
import { id, job, textOf } from "../pipeline/scripted.ts";
import { DAY_MS, NOON, noise, traceRecord } from "../record/samples.ts";

const KEY = sealKeyOf(new Uint8Array(32));
const NO_BLOBS = { get: async () => null };

/** What a message has that decides whether it is taken over. */
interface Kind {
  records: number;
  /** Of the log of each record. */
  bytes: number;
  days: number;
  truncated: boolean;
  /** Outcome of its last record. */
  last: string;
}

function recordsOf(n: number, { records, bytes, days, truncated, last }: Kind): TraceRecord[] {
  return Array.from({ length: records }, (_, i) => {
    const text =
      truncated && i === records - 1 ? noise(20_000, n) : noise(bytes, n * 1_000 + i).replaceAll(/[^a-z]/g, "é");
    return traceRecord({
      Outcome: i === records - 1 ? last : "ok",
      EventTimestampMs: NOON + n * 1_000 + i + (i % days) * DAY_MS,
      ScriptName: i % 2 === 0 ? "shop" : "till",
      Logs: [{ Level: "log", Message: [text], TimestampMs: NOON }],
    });
  });
}

async function offered(n: number, records: readonly TraceRecord[], isOpen: boolean): Promise<Offered> {
  const part: Part = { id: id(n), takenInMs: NOON + n, keyed: false, records: records.length };
  const raw = encodeUtf8(records.map((record) => `${recordLine(record)}\n`).join(""));
  const { buffer: body } = encodeParts([part], raw, {}, { seal: KEY, isOpen });
  const loading = await load({ body, envelope: decodeEnvelope(body), attempts: 1 }, NO_BLOBS, [KEY]);
  if (loading.kind !== "loaded") throw new Error(loading.kind);
  const [loaded] = loading.loaded;
  if (loaded === undefined) throw new Error("no part");
  return loaded;
}

const linesIn = (fragment: Fragment): string[] =>
  textOf(fragment)
    .split("\n")
    .filter((line) => line !== "");

const partName = ({ day, part = "" }: Fragment): string => `${day} ${part}`;

/** What a log gets of an append: by day and part, the lines in any order, and facts of them. */
function facts({ messages, fragments }: Append) {
  const days = Map.groupBy(fragments, partName);
  const summed = [...days].map(([name, group]) => {
    const hashes = new HashSet();
    for (const each of group) hashes.addAll(each.hashes ?? new Uint32Array());
    return {
      name,
      // Not the lines themselves: a failure would show a megabyte.
      lines: createHash("sha256").update(group.flatMap(linesIn).sort().join("\n")).digest("hex"),
      records: group.reduce((sum, { records }) => sum + records, 0),
      rawBytes: group.reduce((sum, { rawBytes }) => sum + rawBytes, 0),
      first: Math.min(...group.map(({ firstEventMs }) => firstEventMs)),
      last: Math.max(...group.map(({ lastEventMs }) => lastEventMs)),
      taken: Math.min(...group.map(({ oldestTakenMs }) => oldestTakenMs)),
      hashes: createHash("sha256").update(hashes.all().sort()).digest("hex"),
    };
  });
  return { messages, days: summed.sort((a, b) => a.name.localeCompare(b.name)) };
}

/** An object of all fragments of one day, as a log puts it together. */
function objectOf(to: JobConfig, fragments: readonly Fragment[]): string {
  const encoder = encoderOf(to.output);
  const assembly = encoder.assemble();
  const bodies = fragments.map(({ body, deflated }) => (deflated ? body : encoder.finish(body)));
  for (const [i, body] of bodies.entries()) assembly.add(body, fragments[i] as Fragment);
  const parts = [assembly.head.bytes, ...bodies, assembly.end().bytes];
  return new TextDecoder().decode(gunzipSync(concat(parts)) as Uint8Array);
}

const KINDS: Kind[] = [
  { records: 90, bytes: 2_000, days: 1, truncated: false, last: "ok" },
  { records: 90, bytes: 2_000, days: 2, truncated: false, last: "ok" },
  { records: 90, bytes: 2_000, days: 1, truncated: true, last: "ok" },
  { records: 90, bytes: 2_000, days: 1, truncated: false, last: "exception" },
  { records: 3, bytes: 2_000, days: 1, truncated: false, last: "ok" },
  { records: 1_001, bytes: 20, days: 1, truncated: false, last: "ok" },
  { records: 1_000, bytes: 20, days: 1, truncated: false, last: "ok" },
];

const JOBS: [string, Partial<JobConfig>, taken: readonly number[]][] = [
  ["all fields of all records", {}, [0, 3, 6]],
  ["all fields, named in order", { output: { ...NDJSON, fieldNames: [...FIELD_NAMES] } }, [0, 3, 6]],
  ["fields in another order", { output: { ...NDJSON, fieldNames: [...FIELD_NAMES].reverse() } }, []],
  [
    "what its filter keeps",
    { filter: JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } }) },
    [0, 6],
  ],
  ["a sample", { sampleRate: 0.5 }, []],
  ["escaped texts", { output: { ...NDJSON, escapeDollarBrace: true } }, []],
  ["rows with a delimiter", { output: { ...NDJSON, recordSuffix: "}", recordDelimiter: "\n" } }, []],
  ["rows of a batch", { output: { ...NDJSON, batchPrefix: "[", batchSuffix: "]" } }, []],
  ["hours apart", { path: "{DATE}/{HOUR}", floor: 3 }, [0, 3, 6]],
  ["scripts apart", { path: "{DATE}/{SCRIPT}", floor: 3 }, []],
  ["no sketches", { sketches: false }, [0, 3, 6]],
  ["whole texts", { output: { ...NDJSON, truncate: false } }, [0, 3, 6]],
  ["a row for each log line", { output: { ...NDJSON, rows: "log" } }, []],
];

describe("a job that ships", () => {
  let messages: { open: Offered; closed: Offered }[] = [];
  beforeAll(async () => {
    messages = await Promise.all(
      KINDS.map(async (kind, n) => {
        const records = recordsOf(n, kind);
        return { open: await offered(n, records, true), closed: await offered(n, records, false) };
      }),
    );
  });

  it.each(JOBS)("%s gets the same of what was taken over", (_what, fields, taken) => {
    const to = job(1, fields);
    const bodies = new Set(messages.map(({ open }) => open.finished?.fragment("", false).body));
    expect(KINDS.flatMap((_, n) => (messages[n]?.open.finished === undefined ? [] : [n]))).toEqual([0, 3, 6]);
    expect(messages.every(({ closed }) => closed.finished === undefined)).toBe(true);
    fc.assert(
      fc.property(fc.shuffledSubarray(messages.map((_, n) => n)), fc.nat(6), (some, without) => {
        const of = (form: "open" | "closed") =>
          buildAppend(
            to,
            some.map((n) => messages[n]?.[form] as Offered),
            new Set([id(without)]),
            0,
          );
        const [open, closed] = [of("open"), of("closed")];
        expect(facts(open)).toEqual(facts(closed));
        const over = open.fragments.filter(({ body }) => bodies.has(body as Uint8Array<ArrayBuffer>));
        expect(over.length).toBe(some.filter((n) => n !== without && taken.includes(n)).length);
        // Small ones come last: a log puts neighbours of one form into a row.
        const forms = open.fragments.map(({ deflated }) => deflated);
        expect(forms).toEqual(forms.toSorted().reverse());
        const { recordDelimiter, batchPrefix } = to.output;
        if (recordDelimiter !== "" || batchPrefix !== "") return;
        for (const group of Map.groupBy(open.fragments, partName).values())
          expect(objectOf(to, group) === group.map(textOf).join("")).toBe(true);
      }),
      { numRuns: 10 },
    );
  });

  it("all records gets a body of its own memory, and shares it with other jobs", () => {
    const [message] = messages;
    if (message === undefined) throw new Error("no message");
    const [first, second] = [job(1), job(2, { sketches: false })].map(
      (to) => buildAppend(to, [message.open], new Set(), 0).fragments[0] as Fragment,
    ) as [Fragment, Fragment];
    expect(second.body).toBe(first.body);
    expect(first.body.buffer.byteLength).toBe(first.body.length);
    expect([first.hashes === undefined, second.hashes === undefined]).toEqual([false, true]);
  });

  it("less than all of a message does not take it over", () => {
    const { open } = messages[0] as { open: Offered };
    const some = { ...open, records: open.records.slice(1) };
    const [fragment] = buildAppend(job(1), [some], new Set(), 0).fragments;
    expect([fragment?.records, fragment?.body === open.finished?.fragment("", false).body]).toEqual([89, false]);
  });
});
