import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { encodeUtf8 } from "../../bytes.ts";
import { within } from "../../platform.ts";
import { keyBelow, PROBE_DAY } from "../keys.ts";
import * as answers from "./answers.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";
import { compare, confirms, damageWords } from "./stored.ts";

/** `not_kept`: the store says that it took the object, and shows that it did not. */
export type ProbeAnswer = StoreAnswer | { kind: "not_kept"; words: string };

type ProbedStore = Pick<ObjectStore, "put" | "head">;

/**
 * How long a store may take for such an object, in ms. Both together end before the request that
 * waits for them does (`ANSWER_MS` of src/app.ts), whose own error says less. What the store does
 * later is harmless.
 */
const PUT_WAIT_MS = 20_000;
const HEAD_WAIT_MS = 10_000;
const LATE: StoreAnswer = { kind: "unreachable", cause: "timeout" };

/**
 * Writes the small object that shows a destination to be writable:
 * `<path with {DATE} → 00010101>/test.txt.gz`, where readers of the vendor's objects expect it. Its
 * bytes never change, so it may be written again and again.
 */
export function writeProbe(store: ProbedStore, path: string): Promise<ProbeAnswer> {
  const body = new Uint8Array(gzipSync('{"content":"test","filename":"test.txt"}'));
  return writeSmall(store, keyBelow(path, PROBE_DAY, "test.txt.gz"), body, "application/gzip");
}

/** Writes an object that holds the token, and nothing else. @param key of the whole object. */
export function writeChallenge(store: ProbedStore, key: string, token: string): Promise<ProbeAnswer> {
  return writeSmall(store, key, encodeUtf8(token), "text/plain");
}

/**
 * One PUT where the store answers with the object's MD5 as ETag. After a 2xx without it, HEAD is
 * asked once: a store that shows nothing, or something else, is `not_kept`; one that shows nothing
 * to these credentials, or does not answer, is believed.
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
  if (!answers.isSuccess(answer) || confirms(answer, sent)) return answer;
  const head = await within(HEAD_WAIT_MS, store.head(key), LATE);
  switch (compare(head, sent)) {
    case "same":
    case "hidden":
    case "unknown":
      return answer;
    case "absent":
      return { kind: "not_kept", words: `${answers.answerWords(answer)}, but the object is not there` };
    case "damaged":
    case "different":
    case "nameless":
      return { kind: "not_kept", words: damageWords(head, sent) };
  }
}

/** What was wrong, with the store's status and code; null: the object is written. */
export function writeFault(answer: ProbeAnswer): string | null {
  return answer.kind !== "not_kept" && answers.isSuccess(answer)
    ? null
    : `error writing object: error uploading: ${answerWords(answer)}`;
}

export function answerWords(answer: ProbeAnswer): string {
  return answer.kind === "not_kept" ? answer.words : answers.answerWords(answer);
}
