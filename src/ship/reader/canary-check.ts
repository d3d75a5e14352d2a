import { createHash } from "node:crypto";
import { readStream, type StreamRead } from "../../base/streams.ts";
import type { OpenDestination, Unread } from "../destinations/destination.ts";
import type { Failure } from "../destinations/failure.ts";
import type { CanaryObject } from "./canary-object.ts";

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
      /** It may pass in a moment. */
      passing: boolean;
      /** The store asked for this much patience. */
      retryAfterMs: number;
    };

type Trouble = Exclude<CanaryFinding, { state: "ok" }>;

/**
 * Most that is read of what stands under the key, in bytes: a canary is one record and the texts
 * around it, of 4,096 characters each.
 */
const READ_MAX_BYTES = 262_144;

/** How long its body may take to come, in ms. */
const BODY_WAIT_MS = 30_000;

const UNREADABLE_WORDS =
  "these credentials may not read it: write-only credentials cannot have a canary; allow them to read (GetObject), or switch it off";

/**
 * Writes a canary over the one before it. @returns what was wrong; null: the store says that it
 * took it.
 */
export async function writeCanary(
  store: Pick<OpenDestination, "overwrite">,
  key: string,
  { body, sha256, contentType }: CanaryObject,
): Promise<Trouble | null> {
  const error: Failure | null = await store.overwrite({ key, bytes: body.length, sha256, contentType }, body);
  if (error === null) return null;
  const passing = error.kind === "busy" || error.kind === "unreachable";
  return trouble("failed", notWritten(error.words), passing, "retryAfterS" in error ? error.retryAfterS : null);
}

/** How it is said that one could not be written. */
export function notWritten(why: string): string {
  return `the canary could not be written: ${why}`;
}

/** Reads a canary back, and compares all of its bytes. */
export async function readCanary(
  store: Pick<OpenDestination, "read">,
  key: string,
  sent: SentCanary,
): Promise<CanaryFinding> {
  const answer = await store.read(key);
  if (!answer.ok) return unread(answer);
  const found = await readStream(answer.body, { maxBytes: READ_MAX_BYTES, ms: BODY_WAIT_MS });
  return compared(found, answer.sha256, sent);
}

function unread({ why, words, retryAfterS }: Unread): Trouble {
  switch (why) {
    case "empty":
      return trouble("damaged", "the canary was written, and no bytes come back");
    case "gone":
    case "no_bucket":
      return trouble("missing", `the canary was written, and is not there: ${words}`);
    case "forbidden":
      return trouble("unreadable", `the canary was written, and not read: ${words}; ${UNREADABLE_WORDS}`, false);
    default: {
      const passing = why === "busy" || why === "unreachable";
      return trouble("unreadable", `the canary was written, and cannot be read: ${words}`, passing, retryAfterS);
    }
  }
}

/** @param storedSha256 the checksum beside what was found. */
function compared({ end, bytes: found }: StreamRead, storedSha256: string | null, sent: SentCanary): CanaryFinding {
  if (end === "late") return trouble("unreadable", "the canary was written, and does not come back in time");
  if (end === "broken") return trouble("unreadable", "the canary was written, and breaks off when it is read");
  if (end === "longer")
    return trouble("damaged", `the canary was written with ${sent.bytes} bytes, and far more come back`);
  const sha256 = createHash("sha256").update(found).digest("hex");
  if (sha256 === sent.sha256) return { state: "ok" };
  // A whole canary of ours: beside its own checksum, or the one that was there before.
  if (sha256 === sent.beforeSha256 || sha256 === storedSha256)
    return trouble("missing", "the canary was written, and an older one comes back");
  const words = `the canary was written with ${sent.bytes} bytes, and other bytes come back, ${found.length} of them`;
  return trouble("damaged", words);
}

function trouble(state: Trouble["state"], why: string, passing = true, retryAfterS: number | null = null): Trouble {
  return { state, why, passing, retryAfterMs: (retryAfterS ?? 0) * 1_000 };
}
