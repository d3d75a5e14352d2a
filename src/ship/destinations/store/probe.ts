import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { encodeUtf8 } from "../../../base/bytes.ts";
import { type Platform, within } from "../../../base/platform.ts";
import { keyBelow, PROBE_DAY, probeKey } from "../../../formats/object/keys.ts";
import type { Failure } from "../failure.ts";
import { answerWords, classify, forbidsOverwriting, isSuccess, isThere, mayMeanHeader } from "./answers.ts";
import type { StoreAnswer, StoreClient } from "./client.ts";
import { look, type Seen } from "./look.ts";
import { inManner, isConditional, LEFT_OUT, mannersFrom } from "./manner.ts";
import { confirms, damageWords, type SentObject } from "./stored.ts";

/** `leaveOut`: the manner in which the store took it; manner.ts. */
export type Probed = { kind: "written"; leaveOut: number } | { kind: "failed"; failure: Failure };

/**
 * How long a store may take for such an object, in ms: for one PUT, for a look at it, and for all
 * together, which ends before the request that waits for it does (`ANSWER_MS` of src/web/app.ts),
 * whose own error says less. What the store does later is harmless.
 */
const PUT_WAIT_MS = 20_000;
const LOOK_WAIT_MS = 10_000;
const ALL_WAIT_MS = 30_000;
const LATE: StoreAnswer = { kind: "unreachable", cause: "timeout" };
const LATE_LOOK: Seen = { shown: "unknown", answer: LATE, by: "HEAD" };

/** Least time between two PUTs of a key, in ms. https://docs.cloud.google.com/storage/quotas */
const ONE_KEY_MS = 1_000;

/** For probes: Google answers 429 to a second PUT of a key within a second. */
export function spaced(store: StoreClient, { now, sleep }: Pick<Platform, "now" | "sleep">): StoreClient {
  const ended = new Map<string, number>();
  return {
    head: (key) => store.head(key),
    get: (key) => store.get(key),
    put: async (request) => {
      const leftMs = (ended.get(request.key) ?? Number.NEGATIVE_INFINITY) + ONE_KEY_MS - now();
      if (leftMs > 0) await sleep(Math.min(leftMs, ONE_KEY_MS));
      const answer = await store.put(request);
      // What is refused for a header was not written.
      if (!mayMeanHeader(answer)) ended.set(request.key, now());
      return answer;
    },
  };
}

/**
 * Writes the small object that shows a destination to be writable:
 * `<path with {DATE} → 00010101>/test.txt.gz`, where readers of the vendor's objects expect it. Its
 * bytes never change, so it may be written again and again. Where the store forbids that, another
 * object beside it shows the same: `test-<time>.txt.gz`.
 * @param from the manner that is tried first.
 */
export function writeProbe(store: StoreClient, path: string, nowMs: number, from = 0): Promise<Probed> {
  const spareKey = keyBelow(path, PROBE_DAY, `test-${nowMs.toString(16)}.txt.gz`);
  return writeSmall(store, { ...probeObject(path, PROBE_TEXT), spareKey }, from);
}

const PROBE_TEXT = '{"content":"test","filename":"test.txt"}';

function probeObject(path: string, text: string): SmallObject {
  const body = new Uint8Array(gzipSync(text));
  return { key: probeKey(path), spareKey: null, body, contentType: "application/gzip" };
}

/**
 * Tries whether a store heeds the condition of a PUT: some take a second object under a key, and
 * say 200. The probe's object is created again, which is to be refused. If it is taken, it was not
 * there, or the store heeds nothing: other bytes that read the same are sent, which are to be
 * refused. So one request is enough where the probe has been written, and two are everywhere.
 * @returns the answer that is neither, if there is one.
 */
export async function tryCondition(
  store: StoreClient,
  path: string,
  leaveOut: number,
): Promise<"honoured" | "ignored" | StoreAnswer> {
  for (const text of [PROBE_TEXT, `${PROBE_TEXT}\n`]) {
    const answer = await put(leaveOut, store, probeObject(path, text));
    if (isThere(answer)) return "honoured";
    if (!isSuccess(answer)) return answer;
  }
  return "ignored";
}

/** Writes an object that holds the token, and nothing else. @param key of the whole object. */
export function writeChallenge(store: StoreClient, key: string, token: string): Promise<Probed> {
  return writeSmall(store, { key, spareKey: null, body: encodeUtf8(token), contentType: "text/plain" }, 0);
}

/**
 * Writes once more if the store answers a 5xx or 429, and names no time to come again: that is
 * mostly of the moment, and only the user would try again. Both take no longer than one may.
 */
export async function persistently(write: () => Promise<Probed>): Promise<Probed> {
  let first: Probed | undefined;
  const both = async (): Promise<Probed> => {
    first = await write();
    return isOfMoment(first) ? write() : first;
  };
  return (await within(ALL_WAIT_MS, both(), null)) ?? first ?? { kind: "failed", failure: lateFailure() };
}

function isOfMoment(probed: Probed): boolean {
  if (probed.kind === "written" || probed.failure.kind !== "busy") return false;
  const { cause, retryAfterS } = probed.failure;
  return typeof cause === "number" && (cause >= 500 || cause === 429) && retryAfterS === null;
}

interface SmallObject {
  key: string;
  /** Where it goes if it may not be written to its own key. */
  spareKey: string | null;
  body: Uint8Array;
  contentType: string;
}

/** What one manner of writing came to. `answer`: the one that decided. */
type Written = { ok: true } | { ok: false; answer: StoreAnswer; failure: Failure };

/** Tries one manner after another, until the store takes one, or refuses for another reason. */
async function writeSmall(store: StoreClient, object: SmallObject, from: number): Promise<Probed> {
  const all = async (): Promise<Probed> => {
    let first: Failure | null = null;
    for (const leaveOut of mannersFrom(from)) {
      const written = await writeIn(leaveOut, store, object);
      if (written.ok) return { kind: "written", leaveOut };
      if (!mayMeanHeader(written.answer)) return { kind: "failed", failure: written.failure };
      first ??= written.failure;
    }
    return { kind: "failed", failure: first ?? lateFailure() };
  };
  return within(ALL_WAIT_MS, all(), { kind: "failed", failure: lateFailure() });
}

/**
 * Creates the object. If it is there, it is written over, which proves more than the refusal. Where
 * that is forbidden:
 *
 * - After the condition was refused, it has to be the same object: a store looks at the
 *   condition only after it has let these credentials write.
 * - Otherwise it is written under its spare key: credentials that may only read get that 403, too.
 */
async function writeIn(leaveOut: number, store: StoreClient, object: SmallObject): Promise<Written> {
  const { key, spareKey } = object;
  const first = await put(leaveOut, store, object);
  const isOccupied = isConditional(leaveOut) && isThere(first);
  const answer = isOccupied ? await put(leaveOut | LEFT_OUT.condition, store, object) : first;
  if (isSuccess(answer)) return kept(answer, store, object, key);
  const isForbidden = forbidsOverwriting(answer);
  if (!isForbidden && !(isOccupied && mayMeanHeader(answer))) return failed(answer);
  const { shown } = await within(LOOK_WAIT_MS, look(store, key, sentOf(object)), LATE_LOOK);
  if (shown === "absent") return failed(answer);
  const isOurs = shown === "same" || (isOccupied && (shown === "hidden" || shown === "unknown"));
  if (isForbidden && isOurs && (isOccupied || spareKey === null)) return { ok: true };
  if (spareKey === null) return failed(answer);
  const spare = await put(leaveOut, store, object, spareKey);
  return isSuccess(spare) ? kept(spare, store, object, spareKey) : failed(answer);
}

function put(leaveOut: number, store: StoreClient, object: SmallObject, key = object.key): Promise<StoreAnswer> {
  const { body, contentType } = object;
  const { bytes, sha256, md5 } = sentOf(object);
  const request = { key, body, bytes, sha256, contentType, ...inManner(leaveOut, md5) };
  return within(PUT_WAIT_MS, store.put(request), LATE);
}

/**
 * After a 2xx with the object's MD5 as ETag nothing is asked. After another one, the object is
 * looked at once: a store that shows nothing, or something else, does not keep it; one that shows
 * nothing to these credentials, or does not answer, is believed.
 */
async function kept(answer: StoreAnswer, store: StoreClient, object: SmallObject, key: string): Promise<Written> {
  const sent = sentOf(object);
  if (confirms(answer, sent)) return { ok: true };
  const seen = await within(LOOK_WAIT_MS, look(store, key, sent), LATE_LOOK);
  switch (seen.shown) {
    case "same":
    case "hidden":
    case "unknown":
      return { ok: true };
    case "absent":
      return { ok: false, answer, failure: notKept(`${answerWords(answer)}, but the object is not there`) };
    case "damaged":
    case "different":
    case "nameless":
      return { ok: false, answer, failure: notKept(damageWords(seen.answer, sent)) };
  }
}

function failed(answer: StoreAnswer): Written {
  return { ok: false, answer, failure: classify(answer) ?? notKept(answerWords(answer)) };
}

function lateFailure(): Failure {
  return { kind: "unreachable", words: answerWords(LATE), cause: "timeout" };
}

/** The store says that it took an object, and shows that it did not. */
export function notKept(words: string): Failure {
  return { kind: "busy", words, retryAfterS: null, cause: "not_kept" };
}

/** What was wrong, with the store's status and code; null: the object is written. */
export function writeFault(probed: Probed): string | null {
  return probed.kind === "written" ? null : `error writing object: error uploading: ${probed.failure.words}`;
}

function sentOf({ body }: SmallObject): SentObject {
  const hash = (name: string): string => createHash(name).update(body).digest("hex");
  return { bytes: body.length, sha256: hash("sha256"), md5: hash("md5") };
}
