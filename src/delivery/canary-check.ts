import { createHash } from "node:crypto";
import { concat } from "../bytes.ts";
import type { ObjectStore, StoreAnswer } from "../destinations/object-store.ts";
import { answerWords } from "../destinations/probe.ts";
import { within } from "../platform.ts";
import type { CanaryObject } from "./canary-object.ts";
import { classify } from "./upload.ts";

/** What is known of a canary that was written. */
export interface SentCanary {
  /** Hex. */
  sha256: string;
  bytes: number;
  /** Of the one that stood there before; null: unknown. */
  beforeSha256: string | null;
}

/** What one try came to. */
export type CanaryFinding =
  | { state: "ok" }
  | {
      state: "failed" | "missing" | "damaged" | "unreadable";
      /** In words: of the store's own, its status and code alone. */
      why: string;
      /** It may be otherwise in a moment. */
      passing: boolean;
      /** The store asked to be left alone so long. */
      retryAfterMs: number;
    };

type Trouble = Exclude<CanaryFinding, { state: "ok" }>;

/** What is read of whatever stands under the key, in bytes: a canary is one record and the texts around it, of 4,096 characters each. */
const READ_MAX_BYTES = 262_144;

/** How long its body may take to come, in ms. */
const BODY_WAIT_MS = 30_000;

const UNREADABLE_WORDS =
  "these credentials may not read it: write-only credentials cannot have a canary; allow them to read (GetObject), or switch it off";

/** Writes a canary over the one before it. @returns what was wrong; null: the store says that it took it. */
export async function writeCanary(
  store: Pick<ObjectStore, "put">,
  key: string,
  { body, sha256, contentType }: CanaryObject,
): Promise<Trouble | null> {
  const answer = await store.put({ key, body, bytes: body.length, sha256, contentType, conditional: false });
  const error = classify(answer);
  if (error === null) return null;
  const passing = error.kind === "busy" || error.kind === "unreachable";
  return { ...trouble("failed", notWritten(error.words), passing), retryAfterMs: retryAfterMs(answer) };
}

/** How it is said that one could not be written. */
export function notWritten(why: string): string {
  return `the canary could not be written: ${why}`;
}

/** Reads a canary back, and compares all of its bytes. */
export async function readCanary(
  store: Pick<ObjectStore, "get">,
  key: string,
  sent: SentCanary,
): Promise<CanaryFinding> {
  const { answer, body } = await store.get(key);
  if (body !== null) return compared(await read(body), answer, sent);
  const words = answerWords(answer);
  const wrong = classify(answer);
  // A success without a body: nothing is there of what was sent.
  if (wrong === null) return trouble("damaged", "the canary was written, and no bytes come back", true);
  const status = answer.kind === "answer" ? answer.status : null;
  if (status === 404 || status === 410) return trouble("missing", `the canary was written, and is not there: ${words}`);
  if (status === 401 || status === 403)
    return trouble("unreadable", `the canary was written, and not read: ${words}; ${UNREADABLE_WORDS}`, false);
  const passing = wrong.kind === "busy" || wrong.kind === "unreachable";
  const unread = trouble("unreadable", `the canary was written, and cannot be read: ${words}`, passing);
  return { ...unread, retryAfterMs: retryAfterMs(answer) };
}

function compared(
  found: Uint8Array | "longer" | "broken" | "late",
  answer: StoreAnswer,
  sent: SentCanary,
): CanaryFinding {
  if (found === "late") return trouble("unreadable", "the canary was written, and does not come back in time");
  if (found === "broken") return trouble("unreadable", "the canary was written, and breaks off when it is read");
  if (found === "longer")
    return trouble("damaged", `the canary was written with ${sent.bytes} bytes, and far more come back`);
  const sha256 = createHash("sha256").update(found).digest("hex");
  if (sha256 === sent.sha256) return { state: "ok" };
  // One of ours that is whole: beside its own checksum, or the very one that stood there before.
  const older = sha256 === sent.beforeSha256 || (answer.kind === "answer" && answer.sha256 === sha256);
  if (older) return trouble("missing", "the canary was written, and an older one comes back");
  const words = `the canary was written with ${sent.bytes} bytes, and other bytes come back, ${found.length} of them`;
  return trouble("damaged", words);
}

/** All of a body, as long as it ends in time and is not too long; whatever comes of it later does no harm. */
async function read(body: ReadableStream<Uint8Array>): Promise<Uint8Array | "longer" | "broken" | "late"> {
  const reader = body.getReader();
  const all = async (): Promise<Uint8Array | "longer" | "broken"> => {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return concat(pieces);
        bytes += value.length;
        if (bytes > READ_MAX_BYTES) return "longer";
        pieces.push(value);
      }
    } catch {
      return "broken";
    }
  };
  const found = await within(BODY_WAIT_MS, all(), "late" as const);
  // Not waited for: a body that hangs may hang here as well. One that is at its end takes it for nothing.
  reader.cancel().catch(() => {});
  return found;
}

function trouble(state: Trouble["state"], why: string, passing = true): Trouble {
  return { state, why, passing, retryAfterMs: 0 };
}

function retryAfterMs(answer: StoreAnswer): number {
  return answer.kind === "answer" ? (answer.retryAfterS ?? 0) * 1_000 : 0;
}
