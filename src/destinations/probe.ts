import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { keyBelow, PROBE_DAY } from "../delivery/keys.ts";
import type { ObjectStore, StoreAnswer } from "./object-store.ts";

/**
 * Writes the small object that shows a destination to be writable: `<path with {DATE} → 00010101>/test.txt.gz`, where readers of the vendor's
 * objects expect it. Its bytes never change, so it may be written again and again.
 */
export function writeProbe(store: Pick<ObjectStore, "put">, path: string): Promise<StoreAnswer> {
  const body = gzipSync('{"content":"test","filename":"test.txt"}');
  return store.put({
    key: keyBelow(path, PROBE_DAY, "test.txt.gz"),
    body: new Uint8Array(body),
    bytes: body.length,
    sha256: createHash("sha256").update(body).digest("hex"),
    contentType: "application/gzip",
    conditional: false,
  });
}

/** A failed answer in words: status and code, nothing else of what the store said. */
export function answerWords(answer: StoreAnswer): string {
  if (answer.kind === "unreachable") return answer.cause === "timeout" ? "no answer in time" : "connection failed";
  return answer.code === null ? `HTTP ${answer.status}` : `HTTP ${answer.status} ${answer.code}`;
}
