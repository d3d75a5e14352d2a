import { ApiError, CODE } from "../errors.ts";
import { UPLOAD_SLOT_MS, UPLOAD_SMALL_MAX_BYTES, UPLOADS_AT_ONCE } from "../limits.ts";
import type { Platform } from "../platform.ts";
import type { Handler } from "./route.ts";

/**
 * Who may upload at the same moment in one isolate. A large upload is a third of its memory, and with a platform behind anybody may send one, known or not: it
 * is the platform that judges, once all of it is here. Beyond its memory an isolate is ended, with the events that it has gathered.
 */
export class UploadSlots {
  /** When they were taken. Whoever hangs up is not heard of again, so a slot frees itself. */
  readonly #taken = new Map<symbol, number>();

  /** @returns what frees it; null: there is none. */
  take(nowMs: number): (() => void) | null {
    for (const [slot, atMs] of this.#taken) if (Math.abs(nowMs - atMs) >= UPLOAD_SLOT_MS) this.#taken.delete(slot);
    if (this.#taken.size >= UPLOADS_AT_ONCE) return null;
    const slot = Symbol();
    this.#taken.set(slot, nowMs);
    return () => this.#taken.delete(slot);
  }
}

const slots = new UploadSlots();

/** Has uploads that are large, or may be, take a slot. @throws ApiError 429 if there is none. */
export function inSlot(handle: Handler): Handler {
  return async (c, config, platform: Platform) => {
    if (isSmall(c.req.raw.headers)) return handle(c, config, platform);
    const free = slots.take(platform.now());
    if (free === null)
      throw new ApiError(
        429,
        [{ code: CODE.tooMany, message: "other large uploads are under way; the request may be repeated" }],
        { "Retry-After": "5" },
      );
    try {
      return await handle(c, config, platform);
    } finally {
      free();
    }
  };
}

/** It says how large it is, and that is how large it stays. */
function isSmall(headers: Headers): boolean {
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const length = headers.get("content-length") ?? "";
  return encoding === "identity" && /^\d{1,9}$/.test(length) && Number(length) <= UPLOAD_SMALL_MAX_BYTES;
}
