/** What tests send to destinations, and what stores answer. */
import { createHash } from "node:crypto";
import type { FixedObject } from "../../../src/ship/destinations/destination.ts";
import type { StoreAnswer } from "../../../src/ship/destinations/store/client.ts";

export const KEY = "logs/20261120/a=b c+d.log.gz";

/** An object of these bytes. */
export function fixed(bytes: Uint8Array, fields: Partial<FixedObject> = {}): FixedObject {
  const hash = (name: string): string => createHash(name).update(bytes).digest("hex");
  const sums = { sha256: hash("sha256"), md5: hash("md5") };
  const size = { bytes: bytes.length, records: 1, rawBytes: bytes.length };
  return { key: KEY, contentType: "application/x-ndjson", ...sums, ...size, ...fields };
}

type Answer = Extract<StoreAnswer, { kind: "answer" }>;

/** An answer of a store that shows nothing but what is named. */
export function answer(status: number, fields: Partial<Answer> = {}): Answer {
  return { kind: "answer", status, code: null, retryAfterS: null, etag: null, bytes: null, sha256: null, ...fields };
}

/** A body of these pieces; it notes how many were asked for, and how often it was let go. */
export function bodyOf(pieces: readonly Uint8Array[], then: "end" | "hang" | "break" = "end") {
  const queue = pieces.map((piece) => piece.slice());
  const seen = { pulled: 0, cancelled: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        seen.pulled += 1;
        const piece = queue.shift();
        if (piece !== undefined) controller.enqueue(piece);
        else if (then === "end") controller.close();
        else if (then === "break") controller.error(new Error("gone"));
        else return new Promise(() => {});
        return undefined;
      },
      cancel() {
        seen.cancelled += 1;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen };
}
