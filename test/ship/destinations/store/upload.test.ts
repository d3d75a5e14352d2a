import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, it } from "vitest";
import { meaningOf } from "../../../../src/ship/destinations/s3/object-store.ts";
import type { PutRequest, StoreAnswer, StoreClient } from "../../../../src/ship/destinations/store/client.ts";
import { CONDITION } from "../../../../src/ship/destinations/store/manner.ts";
import { tryCondition, writeProbe } from "../../../../src/ship/destinations/store/probe.ts";
import { type UploadableObject, uploadObject } from "../../../../src/ship/destinations/store/upload.ts";
import { fixed, answer as storeAnswer } from "../objects.ts";

/** The store is known to heed the condition. */
const HEEDED = CONDITION.believed;

const BYTES = new TextEncoder().encode("1024 bytes, of which a store may keep some.\n".repeat(24)).subarray(0, 1_024);
const object: UploadableObject = { ...fixed(BYTES, { key: "k" }), doubtful: false };
const { md5, sha256 } = object;

function answer(status: number, fields: Partial<Extract<StoreAnswer, { kind: "answer" }>> = {}): StoreAnswer {
  const means = meaningOf(status, fields.code ?? null);
  return storeAnswer(status, { ...fields, ...(means !== undefined && { means }) });
}
const unreachable: StoreAnswer = { kind: "unreachable", cause: "connection failed" };
const timeout: StoreAnswer = { kind: "unreachable", cause: "timeout" };
/**
 * A PUT that was taken whole; one that was taken, by a store whose ETags are not MD5 or that kept
 * something else.
 */
const whole = answer(200, { etag: `"${md5}"` });
const taken = answer(200, { etag: `"${"0".repeat(32)}"` });
const exists = answer(412, { code: "PreconditionFailed" });
/** What HEAD shows: our object, half of it, another one. */
const ours = answer(200, { bytes: 1_024, sha256, etag: '"encrypted"' });
const half = answer(200, { bytes: 512, sha256, etag: `"${"0".repeat(32)}"` });
const foreign = answer(200, { bytes: 1_024, etag: `"${"f".repeat(32)}"` });
const foreignMarked = answer(200, { bytes: 1_024, sha256: "f".repeat(64), etag: `"${"f".repeat(32)}"` });
const foreignShort = answer(200, { bytes: 512, etag: `"${"f".repeat(32)}"` });

const delivered = { kind: "delivered", verified: true };
const unverified = { kind: "delivered", verified: false };
/** What is counted where it is not the status that comes first. */
const CAUSES: Readonly<Record<string, string | number>> = {
  "no answer in time": "timeout",
  "connection failed": "connection_failed",
  "HTTP 200, then no answer in time to HEAD": "timeout",
  "HTTP 200, then HTTP 503 to HEAD": 503,
  "HTTP 200, then HTTP 307 to HEAD": 307,
  "HTTP 200, then connection failed to GET": "connection_failed",
  "HTTP 412 PreconditionFailed, then HTTP 503 to GET": 503,
  "HTTP 412 PreconditionFailed, then connection failed to HEAD": "connection_failed",
  "HTTP 200, but the object is not there": "not_kept",
  "the store keeps 512 of 1024 bytes": "not_kept",
  "the store keeps other bytes than it was sent": "not_kept",
};
const causeOf = (words: string): string | number => CAUSES[words] ?? Number(/^HTTP (\d{3})\b/.exec(words)?.[1]);
const failed = (error: { kind: string; words: string; retryAfterS?: number | null }) => ({
  kind: "failed",
  error: { ...error, cause: causeOf(error.words) },
});
const busy = (words: string, retryAfterS: number | null = null) => failed({ kind: "busy", words, retryAfterS });
const inDoubt = (words: string) => failed({ kind: "unreachable", words });

const keptHalf = busy("the store keeps 512 of 1024 bytes");
const keptOther = busy("the store keeps other bytes than it was sent");
const keptNone = busy("HTTP 200, but the object is not there");
const keyTaken = { kind: "key_taken" };
const misconfigured = (words: string) => failed({ kind: "misconfigured", words });
const refused = (words: string) => failed({ kind: "refused", words });

/** Bodies of answers to GET. */
const bodies = new Map<StoreAnswer, () => ReadableStream<Uint8Array> | null>();
function readBack(body: Uint8Array | "broken"): StoreAnswer {
  const found = answer(200, { bytes: 1_024 });
  const broken = () => new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) });
  bodies.set(found, () => (body === "broken" ? broken() : new Response(body.slice()).body));
  return found;
}

/** A store that gives these answers, in this order, and no more. */
function scripted(answers: readonly StoreAnswer[]) {
  const asked: string[] = [];
  const queue = [...answers];
  const next = async (what: string): Promise<StoreAnswer> => {
    asked.push(what);
    const given = queue.shift();
    if (given === undefined) throw new Error(`unexpected ${what}`);
    return given;
  };
  const put = ({ key, conditional, md5 }: PutRequest) =>
    next(`PUT ${key}${conditional ? " if absent" : ""}${md5 === null ? " without MD5" : ""}`);
  const get: StoreClient["get"] = async (key) => {
    const found = await next(`GET ${key}`);
    return { answer: found, body: bodies.get(found)?.() ?? null };
  };
  return { asked, store: { put, head: (key: string) => next(`HEAD ${key}`), get } };
}

/** What is asked of a store, but for what is known of it. */
function optionsFor(store: StoreClient, path = "{DATE}") {
  return {
    tryCondition: (leaveOut: number) => tryCondition(store, path, leaveOut),
    probe: (from: number) => writeProbe(store, path, 0, from),
  };
}

type Row = readonly [
  what: string,
  answers: readonly StoreAnswer[],
  asked: readonly string[],
  outcome: object,
  changes?: Partial<UploadableObject>,
];

const PUT = "PUT k if absent";
const OVER = "PUT k";
const HEAD = "HEAD k";
const GET = "GET k";
const SPARE = "PUT 00010101/test-0.txt.gz if absent";
const PROBE = "PUT 00010101/test.txt.gz if absent";
const PROBE_HEAD = "HEAD 00010101/test.txt.gz";
const PROBE_OVER = "PUT 00010101/test.txt.gz";
/** The probe of these tests has bytes of its own: any 2xx that HEAD will not show is believed. */
const probed = [answer(200), answer(403)] as const;
const PROBED = [PROBE, PROBE_HEAD] as const;
const PLAIN = " without MD5";

const TABLES: Record<string, readonly Row[]> = {
  "an upload": [
    ["taken whole", [whole], [PUT], delivered],
    ["taken whole, with another 2xx", [answer(201, { etag: `W/"${md5.toUpperCase()}"` })], [PUT], delivered],
    ["no conditions known", [answer(501), answer(404), whole], [PUT, HEAD, OVER], { ...delivered, leaveOut: 1 }],
    ["busy, for as long as it says", [answer(503, { retryAfterS: 7 })], [PUT], busy("HTTP 503", 7)],
    ["no answer", [timeout], [PUT], inDoubt("no answer in time")],
  ],
  "after a 2xx without our MD5, HEAD": [
    ["shows our checksum and length: an encrypting store", [taken, ours], [PUT, HEAD], delivered],
    ["shows our MD5", [answer(204), answer(200, { bytes: 1_024, etag: md5 })], [PUT, HEAD], delivered],
    ["is refused with 401", [taken, answer(401)], [PUT, HEAD], unverified],
    ["is refused with 403", [answer(200), answer(403)], [PUT, HEAD], unverified],
    ["is refused with 405", [taken, answer(405)], [PUT, HEAD], unverified],
    ["shows our length and nothing else", [answer(200), answer(200, { bytes: 1_024 })], [PUT, HEAD], unverified],
    ["finds nothing", [answer(200), answer(404)], [PUT, HEAD], keptNone],
    ["has no answer", [taken, timeout], [PUT, HEAD], inDoubt("HTTP 200, then no answer in time to HEAD")],
    [
      "cannot be answered now",
      [taken, answer(503, { retryAfterS: 30 })],
      [PUT, HEAD],
      busy("HTTP 200, then HTTP 503 to HEAD", 30),
    ],
    ["is redirected", [taken, answer(307)], [PUT, HEAD], busy("HTTP 200, then HTTP 307 to HEAD")],
    ["shows half: sent over it", [taken, half, whole], [PUT, HEAD, OVER], delivered],
    ["shows half, then ours", [taken, half, taken, ours], [PUT, HEAD, OVER, HEAD], delivered],
    ["shows half, twice", [taken, half, taken, half], [PUT, HEAD, OVER, HEAD], keptHalf],
    ["shows half without our checksum", [taken, foreignShort, whole], [PUT, HEAD, OVER], delivered],
    [
      "shows another MD5, and our bytes come back: its ETags are of its own making",
      [taken, foreign, readBack(BYTES)],
      [PUT, HEAD, GET],
      delivered,
    ],
    [
      "shows another MD5, and other bytes come back, twice",
      [taken, foreign, readBack(BYTES.toReversed()), taken, foreign, readBack(BYTES.toReversed())],
      [PUT, HEAD, GET, OVER, HEAD, GET],
      keptOther,
    ],
    ["shows another MD5, and nothing may be read back", [taken, foreign, answer(403)], [PUT, HEAD, GET], unverified],
    [
      "shows another MD5, and what is read back breaks off",
      [taken, foreign, readBack("broken")],
      [PUT, HEAD, GET],
      inDoubt("HTTP 200, then connection failed to GET"),
    ],
    [
      "shows the checksum of something else, twice",
      [taken, foreignMarked, taken, foreignMarked],
      [PUT, HEAD, OVER, HEAD],
      keptOther,
    ],
    [
      "shows half, and what is sent over it has no answer",
      [taken, half, unreachable],
      [PUT, HEAD, OVER],
      inDoubt("connection failed"),
    ],
    [
      "shows half, and then 412 comes without having been asked for",
      [taken, half, exists],
      [PUT, HEAD, OVER],
      busy("HTTP 412 PreconditionFailed"),
    ],
  ],
  "after 412, HEAD": [
    ["shows our checksum", [exists, ours], [PUT, HEAD], delivered],
    ["shows our MD5", [exists, answer(200, { bytes: 1_024, etag: `"${md5}"` })], [PUT, HEAD], delivered],
    ...[BYTES.toReversed(), BYTES.subarray(1), new Uint8Array([...BYTES, 0])].map(
      (other): Row => [
        `shows another MD5, and ${other.length} other bytes come back`,
        [exists, foreign, readBack(other)],
        [PUT, HEAD, GET],
        keyTaken,
      ],
    ),
    ["shows another MD5, and our bytes come back", [exists, foreign, readBack(BYTES)], [PUT, HEAD, GET], delivered],
    [
      "shows another MD5, and it is gone",
      [exists, foreign, answer(404)],
      [PUT, HEAD, GET],
      busy("HTTP 412 PreconditionFailed, but the object is not there"),
    ],
    [
      "shows another MD5, and it cannot be read now",
      [exists, foreign, answer(503)],
      [PUT, HEAD, GET],
      busy("HTTP 412 PreconditionFailed, then HTTP 503 to GET"),
    ],
    ["shows another of another length", [exists, foreignShort], [PUT, HEAD], keyTaken],
    [
      "shows another's checksum",
      [exists, answer(200, { bytes: 1_024, sha256: "0".repeat(64) })],
      [PUT, HEAD],
      keyTaken,
    ],
    ["is refused", [exists, answer(403)], [PUT, HEAD], unverified],
    [
      "shows our length and nothing else",
      [exists, answer(200, { bytes: 1_024, etag: '"0x8D"' })],
      [PUT, HEAD],
      unverified,
    ],
    [
      "finds nothing",
      [exists, answer(404)],
      [PUT, HEAD],
      busy("HTTP 412 PreconditionFailed, but the object is not there"),
    ],
    [
      "has no answer",
      [exists, unreachable],
      [PUT, HEAD],
      inDoubt("HTTP 412 PreconditionFailed, then connection failed to HEAD"),
    ],
    ["shows half of ours: sent over it", [exists, half, whole], [PUT, HEAD, OVER], delivered],
  ],
  "where it may be there already, HEAD": [
    ["shows it", [ours], [HEAD], delivered, { doubtful: true }],
    ["finds nothing", [answer(404), whole], [HEAD, PUT], delivered, { doubtful: true }],
    ["is refused", [answer(403), whole], [HEAD, PUT], delivered, { doubtful: true }],
    [
      "is refused, and it is there",
      [answer(403), exists, answer(403)],
      [HEAD, PUT, HEAD],
      unverified,
      { doubtful: true },
    ],
    ["has no answer", [timeout, whole], [HEAD, PUT], delivered, { doubtful: true }],
    ["shows another", [foreign, readBack(BYTES.toReversed())], [HEAD, GET], keyTaken, { doubtful: true }],
    ["shows another MD5, and it is ours", [foreign, readBack(BYTES)], [HEAD, GET], delivered, { doubtful: true }],
    ["shows half: sent over it, without the condition", [half, whole], [HEAD, OVER], delivered, { doubtful: true }],
  ],
  "a refusal": [
    [
      "of a large object that is cut off, and the credentials are wrong",
      [unreachable, answer(403, { code: "AccessDenied" }), answer(403), answer(403)],
      [PUT, PROBE, PROBE_HEAD, SPARE],
      misconfigured("HTTP 403 AccessDenied"),
      { bytes: 100_000 },
    ],
    [
      "of a large object that is cut off, and the store is well",
      [unreachable, ...probed],
      [PUT, ...PROBED],
      inDoubt("connection failed"),
      { bytes: 100_000 },
    ],
    ["of this object, while others are taken", [answer(413), ...probed], [PUT, ...PROBED], refused("HTTP 413")],
    [
      "of everything",
      [answer(400), answer(400, { code: "Nope" }), answer(400), answer(400), answer(400)],
      [PUT, PROBE, PROBE_OVER, `${PROBE}${PLAIN}`, `${PROBE_OVER}${PLAIN}`],
      misconfigured("HTTP 400 Nope"),
    ],
    [
      "of the condition, by a store that takes the same of a probe",
      [answer(400), exists, whole, answer(403), answer(404), whole],
      [PUT, PROBE, PROBE_OVER, PROBE_HEAD, HEAD, OVER],
      { ...delivered, leaveOut: 1 },
    ],
    ...[400, 405, 422, 501].map(
      (status): Row => [
        `of every condition, with ${status}`,
        status === 501
          ? [answer(status), answer(404), whole]
          : [answer(status), answer(status), ...probed, answer(404), whole],
        status === 501 ? [PUT, HEAD, OVER] : [PUT, PROBE, PROBE_OVER, PROBE_HEAD, HEAD, OVER],
        { ...delivered, leaveOut: 1 },
      ],
    ),
    [
      "of Content-MD5",
      [answer(400), answer(400), answer(400), ...probed, answer(404), whole],
      [PUT, PROBE, PROBE_OVER, `${PROBE}${PLAIN}`, PROBE_HEAD, HEAD, `${PUT}${PLAIN}`],
      { ...delivered, leaveOut: 2 + HEEDED },
    ],
    [
      "of this object, in every manner",
      [answer(400), ...probed, answer(404), answer(400), answer(404), answer(400)],
      [PUT, ...PROBED, HEAD, OVER, HEAD, `${OVER}${PLAIN}`],
      refused("HTTP 400"),
    ],
    [
      "of its condition, though the object was taken: nothing is learned from that",
      [answer(400), ...probed, ours],
      [PUT, ...PROBED, HEAD],
      delivered,
    ],
    [
      "of its condition, and another object is there: it stays",
      [answer(400), ...probed, foreignMarked],
      [PUT, ...PROBED, HEAD],
      keyTaken,
    ],
    [
      "of its condition, and then no answer",
      [answer(400), ...probed, answer(404), unreachable],
      [PUT, ...PROBED, HEAD, OVER],
      inDoubt("connection failed"),
    ],
    [
      "of an object that is too large, with 400",
      [answer(400, { code: "EntityTooLarge" }), ...probed],
      [PUT, ...PROBED],
      refused("HTTP 400 EntityTooLarge"),
    ],
    ["of this object, and then the store is busy", [answer(400), answer(503)], [PUT, PROBE], busy("HTTP 503")],
    [
      "by a store that says 200 to others, and does not keep them: that one sets nothing aside",
      [answer(400), answer(200), answer(404)],
      [PUT, ...PROBED],
      keptNone,
    ],
    ...[100, 304, 401, 403, 404].map(
      (status): Row => [`with ${status}`, [answer(status)], [PUT], misconfigured(`HTTP ${status}`)],
    ),
    ...[408, 409, 425, 429, 500, 502, 599, 600, 999].map(
      (status): Row => [`with ${status}`, [answer(status)], [PUT], busy(`HTTP ${status}`)],
    ),
  ],
};

describe.each(Object.entries(TABLES))("%s", (_title, rows) => {
  it.for(rows)("%s", async ([_what, answers, expectedAsked, expected, changes], { expect }) => {
    const { asked, store } = scripted(answers);
    const outcome = await uploadObject({ ...object, ...changes }, () => BYTES, store, {
      ...optionsFor(store),
      leaveOut: HEEDED,
    });
    expect(outcome).toEqual(expected);
    expect(asked).toEqual(expectedAsked);
  });
});

describe("to a store whose manner is not known, or known to be another", () => {
  const IGNORED = CONDITION.ignored;
  const absent = answer(404);
  it.for<
    readonly [
      what: string,
      known: number,
      answers: readonly StoreAnswer[],
      asked: readonly string[],
      outcome: object,
      changes?: Partial<UploadableObject>,
    ]
  >([
    ["refuses the probe", 0, [exists, whole], [PROBE, PUT], { ...delivered, leaveOut: HEEDED }],
    ["takes it, not another", 0, [whole, exists, whole], [PROBE, PROBE, PUT], { ...delivered, leaveOut: HEEDED }],
    [
      "takes both: it ignores the condition",
      0,
      [whole, whole, absent, whole],
      [PROBE, PROBE, HEAD, PUT],
      { ...delivered, leaveOut: IGNORED },
    ],
    ...[403, 409].map(
      (status) =>
        [
          `knows none, and forbids with ${status} to write over what an attempt that died has left`,
          1,
          [answer(status), ours],
          [OVER, HEAD],
          delivered,
        ] as const,
    ),
    ["knows none, and refuses what is not there", 1, [answer(403), absent], [OVER, HEAD], misconfigured("HTTP 403")],
    ["knows none, and forbids to write over another object", 1, [answer(403), foreignMarked], [OVER, HEAD], keyTaken],
    ["knows none, and refuses what it does not show", 1, [answer(409), answer(403)], [OVER, HEAD], busy("HTTP 409")],
    ["ignores it, and has another object there", IGNORED, [foreignMarked], [HEAD], keyTaken],
    ["ignores it, and has the object", IGNORED, [ours], [HEAD], delivered],
    [
      "takes both, and then fails: it is remembered",
      0,
      [whole, whole, absent, answer(503)],
      [PROBE, PROBE, HEAD, PUT],
      { ...busy("HTTP 503"), leaveOut: IGNORED },
    ],
    ["does not answer now: it is tried again", 0, [answer(503), absent, whole], [PROBE, HEAD, PUT], delivered],
    [
      "refuses the probe and takes the object",
      0,
      [answer(403), absent, whole],
      [PROBE, HEAD, PUT],
      { ...delivered, leaveOut: IGNORED },
    ],
    [
      "refuses both: nothing is remembered",
      0,
      [answer(403), answer(403), answer(403)],
      [PROBE, HEAD, PUT],
      misconfigured("HTTP 403"),
    ],
    ["answers 501 to the probe", 0, [answer(501), absent, whole], [PROBE, HEAD, OVER], { ...delivered, leaveOut: 1 }],
    ["answers 501 to the probe, and has the object", 0, [answer(501), ours], [PROBE, HEAD], delivered],
    [
      "wants no digest: the condition is tried again in that manner",
      0,
      [answer(400), absent, answer(400), answer(400), answer(400), whole, answer(403), absent, whole],
      [PROBE, HEAD, PUT, PROBE, PROBE_OVER, `${PROBE}${PLAIN}`, PROBE_HEAD, HEAD, `${PUT}${PLAIN}`],
      { ...delivered, leaveOut: 2 },
    ],
    [
      "takes no digest",
      2,
      [exists, whole],
      [`${PROBE}${PLAIN}`, `${PUT}${PLAIN}`],
      { ...delivered, leaveOut: 2 + HEEDED },
    ],
    ["knows no condition: half of it is sent over", 1, [taken, half, whole], [OVER, HEAD, OVER], delivered],
    ["knows none, and says 412", 1, [exists, absent], [OVER, HEAD], busy("HTTP 412 PreconditionFailed")],
    [
      "knows none, and takes the probe in no manner",
      1,
      Array.from({ length: 5 }, () => answer(501)),
      [OVER, PROBE_OVER, PROBE, `${PROBE}${PLAIN}`, `${PROBE_OVER}${PLAIN}`],
      misconfigured("HTTP 501"),
    ],
    [
      "has come to know the condition, and wants a digest",
      1,
      [answer(400), answer(400), whole, answer(403), absent, whole],
      [OVER, PROBE_OVER, PROBE, PROBE_HEAD, HEAD, PUT],
      { ...delivered, leaveOut: 0 },
    ],
    ["has lost an answer", 0, [exists, ours], [PROBE, HEAD], { ...delivered, leaveOut: HEEDED }, { doubtful: true }],
  ])("that %s", async ([_what, leaveOut, answers, expectedAsked, expected, changes], { expect }) => {
    const { asked, store } = scripted(answers);
    const options = { ...optionsFor(store), leaveOut };
    expect(await uploadObject({ ...object, ...changes }, () => BYTES, store, options)).toEqual(expected);
    expect(asked).toEqual(expectedAsked);
  });
});

/** What becomes of a PUT: what is kept of it, and what is said. */
const FATES = [
  "kept",
  "half",
  "nothing",
  "kept, no answer",
  "half, no answer",
  "reset",
  "kept, 503",
  "half, 503",
] as const;

describe("over any history of faults", () => {
  it("what is called delivered is there once and whole, another's object stays, and it ends once the faults do", async ({
    expect,
  }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...FATES), { maxLength: 8 }),
        fc.record({
          keepsMeta: fc.boolean(),
          conditions: fc.constantFrom("heeded", "ignored", "unknown"),
          // What stands there is not written over, and refused with this status.
          locked: fc.constantFrom(null, 403, 409),
          occupied: fc.boolean(),
          forgets: fc.boolean(),
          // At this attempt the destination gets other keys.
          rotatedAt: fc.nat(4),
        }),
        async (history, { keepsMeta, conditions, locked, occupied, forgets, rotatedAt }) => {
          // Without a condition another's object is only seen where it may not be written over.
          fc.pre(conditions !== "unknown" || !occupied || locked !== null);
          const another = { body: BYTES.toReversed(), sha256: null };
          const bucket = new Map<string, { body: Uint8Array; sha256: string | null }>();
          if (occupied) bucket.set("k1", another);
          const left = [...history];
          const head = async (key: string): Promise<StoreAnswer> => {
            const stored = bucket.get(key);
            if (stored === undefined) return answer(404);
            // Metadata marks an object as ours; where there is none, the ETag must do.
            const etag = `"${keepsMeta ? "e".repeat(32) : createHash("md5").update(stored.body).digest("hex")}"`;
            return answer(200, { bytes: stored.body.length, sha256: stored.sha256, etag });
          };
          const put = async ({ key, conditional }: PutRequest): Promise<StoreAnswer> => {
            if (conditions === "unknown" && conditional) return answer(501);
            if (conditions === "heeded" && conditional && bucket.has(key)) return exists;
            if (locked !== null && bucket.has(key)) return answer(locked, { code: "AccessDenied" });
            const drawn = left.shift() ?? "kept";
            // Half of it would stay for good.
            const fate = locked !== null && drawn.startsWith("half") ? "kept, 503" : drawn;
            if (fate === "reset") return unreachable;
            if (fate === "nothing") return answer(200);
            const body = fate.startsWith("half") ? BYTES.subarray(0, 512) : BYTES;
            bucket.set(key, { body, sha256: keepsMeta ? sha256 : null });
            if (fate.endsWith("no answer")) return timeout;
            return fate.endsWith("503") ? answer(503) : await head(key);
          };
          const get: StoreClient["get"] = async (key) => {
            const found = await head(key);
            const stored = bucket.get(key)?.body;
            return { answer: found, body: stored === undefined ? null : new Response(stored.slice()).body };
          };
          let [doubtful, leaveOut] = [false, 0];
          let number = 1;
          for (let attempt = 0; ; attempt++) {
            expect(attempt).toBeLessThanOrEqual(2 * history.length + 1);
            if (attempt === rotatedAt) leaveOut = 0;
            const now = { ...object, key: `k${number}`, doubtful };
            const store = { put, head, get };
            const outcome = await uploadObject(now, () => BYTES, store, { ...optionsFor(store, ""), leaveOut });
            if ("leaveOut" in outcome) leaveOut = outcome.leaveOut ?? leaveOut;
            if (outcome.kind === "delivered") {
              expect(outcome.verified).toBe(true);
              break;
            }
            if (outcome.kind === "key_taken") {
              number += 1;
              doubtful = false;
            } else if (outcome.kind === "failed") {
              // A process that dies forgets what it was about to note.
              doubtful = !forgets && (doubtful || outcome.error.kind === "unreachable");
            }
          }
          expect(bucket.get(`k${number}`)?.body).toEqual(BYTES);
          if (occupied) expect(bucket.get("k1")).toBe(another);
          const isOther = (key: string) => key !== `k${number}` && key !== "test.txt.gz";
          const rest = [...bucket].filter(([key, stored]) => isOther(key) && stored !== another);
          // Half an object without metadata cannot be told from another's, and is left there; all
          // else is written over.
          expect(rest.filter(([, { body }]) => keepsMeta || body.length === BYTES.length)).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });
});
