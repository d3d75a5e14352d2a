/** A replay to a receiver, whatever breaks: src/operate/replay/parts.ts. */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { CopyOutcome } from "../../../src/operate/replay/copy.ts";
import { type Receiving, type Refused, sendParts } from "../../../src/operate/replay/parts.ts";
import type { Piece } from "../../../src/operate/replay/rows.ts";
import type { OpenDestination, WriteOutcome } from "../../../src/ship/destinations/destination.ts";

/** The instance dies. */
class Death extends Error {}

/** What becomes of a request, after which the rest of them succeed. */
type Chance = "judged" | "judged, its answer lost" | "unavailable" | "dies before" | "dies after";

const chance = fc.constantFrom<Chance>("judged", "judged, its answer lost", "unavailable", "dies before", "dies after");

/** How a receiver says that it will not take some records of a request. */
type Manner = "as a whole" | "each" | "each, and fails on the last" | "how many";

interface Case {
  records: number;
  most: number;
  refused: ReadonlySet<number>;
  manner: Manner;
  chances: Chance[];
  /** At these stores of its progress the instance dies, before or after it. */
  deaths: (null | "before" | "after")[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  records: fc.integer({ min: 1, max: 24 }),
  most: fc.integer({ min: 1, max: 6 }),
  refused: fc.array(fc.nat(23), { maxLength: 6 }).map((numbers) => new Set(numbers)),
  manner: fc.constantFrom<Manner>("as a whole", "each", "each, and fails on the last", "how many"),
  chances: fc.array(chance, { maxLength: 12 }),
  deaths: fc.array(fc.constantFrom(null, null, "before" as const, "after" as const), { maxLength: 8 }),
});

const UNAVAILABLE: WriteOutcome = {
  kind: "failed",
  error: { kind: "busy", words: "HTTP 503", retryAfterS: null, cause: 503 },
};

/** Runs until the piece has an end, as a replay does. */
async function ended({ records, most, refused, manner, chances, deaths }: Case) {
  const lines = Array.from({ length: records }, (_, n) => `{"n":${n}}\n`).join("");
  const bytes = new Uint8Array(gzipSync(lines));
  const piece: Piece = {
    ...{ number: 1, key: "logs/a.log.gz", day: 0, part: "", name: "b.log.gz", bytes: bytes.length },
    ...{ rawBytes: lines.length, records, sha256: createHash("sha256").update(bytes).digest("hex"), md5: "" },
    ...{ contentType: "application/x-ndjson", firstEventMs: 0, lastEventMs: 0, attempts: 0, doubtful: false },
    ...{ sent: 0, refused: 0, refusedWords: "" },
  };
  const source: Pick<OpenDestination, "read"> = {
    read: async () => {
      const body = new Response(bytes).body as ReadableStream<Uint8Array>;
      return { ok: true, body, bytes: bytes.length, sha256: null };
    },
  };
  const taken = new Set<number>();
  const ids = new Map<string, string>();

  const judge = (numbers: readonly number[]): WriteOutcome => {
    const bad = numbers.flatMap((n, record) => (refused.has(n) ? [{ record, words: `no ${n}` }] : []));
    if (bad.length === 0 || manner !== "as a whole") for (const n of numbers) if (!refused.has(n)) taken.add(n);
    if (bad.length === 0) return { kind: "delivered", verified: false };
    if (manner === "as a whole") return { kind: "divide", records: 1, bytes: 1, why: "no" };
    const rest = { kind: "partly", isSent: true, again: [], error: null, unnamed: null } as const;
    if (manner === "how many") return { ...rest, refused: [], unnamed: { records: bad.length, words: "no" } };
    return { ...rest, refused: bad };
  };
  const target: Receiving["target"] = {
    // Nothing is to blame by itself: it fails by chance.
    probe: async () => "refused",
    async write({ key }, body): Promise<WriteOutcome> {
      const text = new TextDecoder().decode(gunzipSync(body() as Uint8Array));
      expect(ids.get(key) ?? text).toBe(text);
      ids.set(key, text);
      const numbers = text
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { n: number }).n);
      const what = chances.shift() ?? "judged";
      if (what === "dies before") throw new Death();
      if (what === "unavailable") return UNAVAILABLE;
      const outcome = judge(numbers);
      if (what === "dies after") throw new Death();
      if (what === "judged, its answer lost") return UNAVAILABLE;
      const isLast = manner === "each, and fails on the last" && outcome.kind === "partly" && chances.length % 2 === 1;
      return isLast
        ? { ...outcome, error: { kind: "busy", words: "HTTP 503", retryAfterS: null, cause: 503 } }
        : outcome;
    },
  };
  const progress = (sent: number, { records: count, words }: Refused): void => {
    const death = deaths.shift();
    if (death === "before") throw new Death();
    Object.assign(piece, { sent, refused: count, refusedWords: words });
    if (death === "after") throw new Death();
  };
  for (let attempt = 0; attempt < 60; attempt++) {
    const outcome: CopyOutcome | null = await sendParts({ ...piece }, "logs/b.log.gz", source, {
      target,
      limits: { records: most, bytes: 1_000_000 },
      shows: "record",
      progress,
    }).catch((error: unknown) => {
      if (error instanceof Death) return null;
      throw error;
    });
    if (outcome !== null && outcome.kind !== "failed") return { outcome, taken };
  }
  throw new Error("it has no end");
}

it("says of every record that the receiver has it or refused it, whatever was tried again or died in between", async () => {
  await fc.assert(
    fc.asyncProperty(cases, async (each) => {
      const all = Array.from({ length: each.records }, (_, n) => n);
      const bad = all.filter((n) => each.refused.has(n));
      const { outcome, taken } = await ended({ ...each, chances: [...each.chances], deaths: [...each.deaths] });
      expect([...taken].sort((a, b) => a - b)).toEqual(all.filter((n) => !each.refused.has(n)));
      if (bad.length === 0) expect(outcome).toMatchObject({ kind: "delivered" });
      else {
        const words = expect.stringMatching(`\\(${bad.length} of ${each.records} records; the others were sent\\)$`);
        expect(outcome).toMatchObject({ kind: "refused", words });
      }
    }),
    { numRuns: 300 },
  );
});
