import { platform, within } from "../../base/platform.ts";
import { readStream } from "../../base/streams.ts";
import type { ByteRange, OpenDestination, ReadAnswer, Unread } from "./destination.ts";

type Readable = Pick<OpenDestination, "read">;

/**
 * Asks for an object, and waits for the answer up to `ms`. An answer that comes later is let
 * go. @returns null: none came in time.
 */
export async function readWithin(
  store: Readable,
  key: string,
  ms: number,
  range?: ByteRange,
): Promise<ReadAnswer | null> {
  const asked = store.read(key, range);
  const answer = await within(ms, asked, null);
  if (answer === null) asked.then((late) => (late.ok ? late.body.cancel() : undefined)).catch(() => {});
  return answer;
}

export type SmallRead =
  /** `sha256`: as of a {@link ReadAnswer}, of the whole object. */
  | { ok: true; bytes: Uint8Array; sha256: string | null }
  /** `refused`: the answer says why. */
  | { ok: false; why: "refused"; answer: Unread }
  | { ok: false; why: "too large" | "late" | "broken off" };

const BROKEN: unique symbol = Symbol("broken");
const WHY = { longer: "too large", late: "late", broken: "broken off" } as const;

/**
 * Reads a whole object that is known to be small, or a part of one. Never throws.
 * @param maxBytes of a larger one, nothing more is read.
 * @param ms for everything together: answer and body.
 */
export async function readSmall(
  store: Readable,
  key: string,
  { maxBytes, ms, range }: { maxBytes: number; ms: number; range?: ByteRange },
): Promise<SmallRead> {
  const untilMs = platform.now() + ms;
  const answer = await readWithin(store, key, ms, range).catch((): typeof BROKEN => BROKEN);
  if (answer === BROKEN) return { ok: false, why: "broken off" };
  if (answer === null) return { ok: false, why: "late" };
  if (!answer.ok) return { ok: false, why: "refused", answer };
  const { end, bytes } = await readStream(answer.body, { maxBytes, ms: Math.max(0, untilMs - platform.now()) });
  return end === "whole" ? { ok: true, bytes, sha256: answer.sha256 } : { ok: false, why: WHY[end] };
}
