import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { encodeUtf8 } from "../bytes.ts";
import { within } from "../platform.ts";
import { keyBelow, PROBE_DAY } from "./keys.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";
import { compare, confirms, damageWords, isSuccess } from "./stored.ts";

/** `not_kept`: the store says that it took the object, and shows that it did not. */
export type ProbeAnswer = StoreAnswer | { kind: "not_kept"; words: string };

type ProbedStore = Pick<ObjectStore, "put" | "head">;

/**
 * How long a store may take over such an object, in ms. Somebody waits for the answer, and both together must end before a request does
 * (`ANSWER_MS` of src/app.ts): that one knows less of what was wrong. What the store does later, does no harm.
 */
const PUT_WAIT_MS = 20_000;
const HEAD_WAIT_MS = 10_000;
const LATE: StoreAnswer = { kind: "unreachable", cause: "timeout" };

/**
 * Writes the small object that shows a destination to be writable: `<path with {DATE} → 00010101>/test.txt.gz`, where readers of the vendor's
 * objects expect it. Its bytes never change, so it may be written again and again.
 */
export function writeProbe(store: ProbedStore, path: string): Promise<ProbeAnswer> {
  const body = new Uint8Array(gzipSync('{"content":"test","filename":"test.txt"}'));
  return writeSmall(store, keyBelow(path, PROBE_DAY, "test.txt.gz"), body, "application/gzip");
}

/** Writes the object that only who can read the destination can read: the token, and nothing else. @param key of the whole object. */
export function writeChallenge(store: ProbedStore, key: string, token: string): Promise<ProbeAnswer> {
  return writeSmall(store, key, encodeUtf8(token), "text/plain");
}

/**
 * One PUT where the store answers with the object's MD5 as ETag. After a 2xx without it, HEAD is asked once: a store that shows nothing, or something
 * else, is `not_kept`; one that will not show anything (write-only credentials), or does not answer, is believed.
 */
async function writeSmall(
  store: ProbedStore,
  key: string,
  body: Uint8Array,
  contentType: string,
): Promise<ProbeAnswer> {
  const bytes = body.length;
  const sha256 = createHash("sha256").update(body).digest("hex");
  const sent = { bytes, sha256, md5: createHash("md5").update(body).digest("hex") };
  const put = store.put({ key, body, bytes, sha256, contentType, conditional: false });
  const answer = await within(PUT_WAIT_MS, put, LATE);
  if (!isSuccess(answer) || confirms(answer, sent)) return answer;
  const head = await within(HEAD_WAIT_MS, store.head(key), LATE);
  switch (compare(head, sent)) {
    case "same":
    case "hidden":
    case "unknown":
      return answer;
    case "absent":
      return { kind: "not_kept", words: `${answerWords(answer)}, but the object is not there` };
    case "damaged":
    case "different":
    case "nameless":
      return { kind: "not_kept", words: damageWords(head, sent) };
  }
}

/** What was wrong, with the store's status and code; null: the object is written. */
export function writeFault(answer: ProbeAnswer): string | null {
  return answer.kind !== "not_kept" && isSuccess(answer)
    ? null
    : `error writing object: error uploading: ${answerWords(answer)}`;
}

/** A failed answer in words: status and code, nothing else of what the store said. */
export function answerWords(answer: ProbeAnswer): string {
  if (answer.kind === "not_kept") return answer.words;
  if (answer.kind === "unreachable") return answer.cause === "timeout" ? "no answer in time" : "connection failed";
  return answer.code === null ? `HTTP ${answer.status}` : `HTTP ${answer.status} ${answer.code}`;
}
