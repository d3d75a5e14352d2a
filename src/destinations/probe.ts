import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { keyBelow, PROBE_DAY } from "../delivery/keys.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";
import { compare, confirms, damageWords, isSuccess } from "./stored.ts";

/** `not_kept`: the store says that it took the probe, and shows that it did not. */
export type ProbeAnswer = StoreAnswer | { kind: "not_kept"; words: string };

/**
 * Writes the small object that shows a destination to be writable: `<path with {DATE} → 00010101>/test.txt.gz`, where readers of the vendor's
 * objects expect it. Its bytes never change, so it may be written again and again.
 *
 * One PUT where the store answers with the object's MD5 as ETag. After a 2xx without it, HEAD is asked once: a store that shows nothing, or something
 * else, is `not_kept`; one that will not show anything (write-only credentials), or does not answer, is believed.
 */
export async function writeProbe(store: Pick<ObjectStore, "put" | "head">, path: string): Promise<ProbeAnswer> {
  const body = gzipSync('{"content":"test","filename":"test.txt"}');
  const probe = {
    key: keyBelow(path, PROBE_DAY, "test.txt.gz"),
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
  };
  const sent = { ...probe, md5: createHash("md5").update(body).digest("hex") };
  const contentType = "application/gzip";
  const answer = await store.put({ ...probe, body: new Uint8Array(body), contentType, conditional: false });
  if (!isSuccess(answer) || confirms(answer, sent)) return answer;
  const head = await store.head(probe.key);
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

/** A failed answer in words: status and code, nothing else of what the store said. */
export function answerWords(answer: ProbeAnswer): string {
  if (answer.kind === "not_kept") return answer.words;
  if (answer.kind === "unreachable") return answer.cause === "timeout" ? "no answer in time" : "connection failed";
  return answer.code === null ? `HTTP ${answer.status}` : `HTTP ${answer.status} ${answer.code}`;
}
