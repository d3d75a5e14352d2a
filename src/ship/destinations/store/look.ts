import { createHash } from "node:crypto";
import { readStream } from "../../../base/streams.ts";
import { isSuccess } from "./answers.ts";
import type { StoreAnswer, StoreClient } from "./client.ts";
import { compare, type SentObject, type Shown } from "./stored.ts";

/** How long the body of an object that is read back may take to come, in ms. */
const READ_BACK_MS = 5 * 60_000;

/** What stands under a key, and the answer that showed it. */
export interface Seen {
  shown: Exclude<Shown, "lookalike">;
  answer: StoreAnswer;
  by: "HEAD" | "GET";
}

/**
 * Asks with HEAD what stands under a key. Where only its bytes tell, they are read back, no more
 * than were sent, and compared by their SHA-256.
 */
export async function look(store: Pick<StoreClient, "head" | "get">, key: string, sent: SentObject): Promise<Seen> {
  const answer = await store.head(key);
  const shown = compare(answer, sent);
  return shown === "lookalike" ? readBack(store, key, sent) : { shown, answer, by: "HEAD" };
}

async function readBack(store: Pick<StoreClient, "get">, key: string, sent: SentObject): Promise<Seen> {
  const { answer, body } = await store.get(key);
  // What the headers of a GET say, HEAD has said.
  if (!isSuccess(answer)) return { shown: unread(compare(answer, sent)), answer, by: "GET" };
  const hash = createHash("sha256");
  let bytes = 0;
  const { end } = await readStream(body, {
    maxBytes: sent.bytes,
    ms: READ_BACK_MS,
    keeps: false,
    each: (piece) => {
      hash.update(piece);
      bytes += piece.length;
    },
  });
  if (end === "late" || end === "broken") {
    const cause = end === "late" ? "timeout" : "connection failed";
    return { shown: "unknown", answer: { kind: "unreachable", cause }, by: "GET" };
  }
  const isSame = end === "whole" && bytes === sent.bytes && hash.digest("hex") === sent.sha256;
  return { shown: isSame ? "same" : "different", answer, by: "GET" };
}

/** An answer without a body tells of none or of a refusal. */
function unread(shown: Shown): Seen["shown"] {
  return shown === "absent" || shown === "hidden" ? shown : "unknown";
}
