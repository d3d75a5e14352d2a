import { ApiError, CODE, oneError, unavailable } from "../../base/errors.ts";
import {
  UPLOAD_MAX_BYTES,
  UPLOAD_METADATA_MAX_BYTES,
  UPLOAD_SLOT_MS,
  UPLOAD_SMALL_MAX_BYTES,
  UPLOADS_AT_ONCE,
} from "../../base/limits.ts";
import { isolateMemory, type Share } from "../../base/memory.ts";
import { bodyRoom } from "../../ship/intake/body.ts";
import type { Upload } from "../../state/functions/module.ts";
import { readUpload } from "../../state/functions/upload.ts";
import { BODY_CODE, noteBody } from "./body.ts";
import type { AppContext, Handler } from "./route.ts";

/**
 * Bounds how many large uploads one isolate takes at once, as each uses a third of its memory. An
 * isolate that runs out of memory is ended, with the events that it has gathered.
 */
export class UploadSlots {
  /**
   * When each slot was taken. A slot frees itself after a time: the end of an aborted upload is not
   * reported.
   */
  readonly #taken = new Map<symbol, number>();

  /** @returns a function that frees the slot; null: none is free. */
  take(nowMs: number): (() => void) | null {
    for (const [slot, atMs] of this.#taken) if (Math.abs(nowMs - atMs) >= UPLOAD_SLOT_MS) this.#taken.delete(slot);
    if (this.#taken.size >= UPLOADS_AT_ONCE) return null;
    const slot = Symbol();
    this.#taken.set(slot, nowMs);
    return () => this.#taken.delete(slot);
  }
}

const slots = new UploadSlots();

/**
 * Reads the upload, once; call it when it is known who sends it.
 * @throws ApiError 429 if no slot is free, 503 if there is no memory, and as {@link requireUpload}.
 */
export type ReadUpload = () => Promise<Upload>;

type UploadHandler = (...args: [...Parameters<Handler>, read: ReadUpload]) => Promise<Response>;

/**
 * Uploads that are large, or may be, take a slot and wait for memory before they are read.
 * @param streams larger ones go on as they come, and are not held.
 */
export function inSlot(handle: UploadHandler, streams = false): Handler {
  return async (c, config, platform) => {
    let end = (): void => {};
    const read = async (): Promise<Upload> => {
      const length = lengthOf(c.req.raw.headers);
      if (length <= UPLOAD_SMALL_MAX_BYTES) return requireUpload(c);
      if (streams && length > UPLOAD_MAX_BYTES) {
        const share = await room(2 * UPLOAD_METADATA_MAX_BYTES);
        end = share.release;
        const upload = await requireUpload(c, length);
        share.set(UPLOAD_METADATA_MAX_BYTES);
        end = () => {
          share.release();
          upload.rest?.leave();
        };
        return upload;
      }
      const free = slots.take(platform.now());
      if (free === null)
        throw oneError(429, CODE.tooMany, "other large uploads are in progress; repeat the request", {
          "Retry-After": "5",
        });
      end = free;
      const bytes = bodyRoom(c.req.raw, UPLOAD_MAX_BYTES);
      const share = await room(bytes);
      end = () => {
        share.release();
        free();
      };
      const upload = await requireUpload(c);
      // It is alive: what follows may take as long again.
      share.set(bytes);
      return upload;
    };
    try {
      return await handle(c, config, platform, read);
    } finally {
      end();
    }
  };
}

/** @throws ApiError 503 if there is no memory. */
async function room(bytes: number): Promise<Share> {
  const share = await isolateMemory.take(bytes);
  if (share === null) throw unavailable("too many requests are being processed; repeat the request");
  return share;
}

/** NaN: unknown before it is read, as of a compressed body. */
function lengthOf(headers: Headers): number {
  const encoding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  const length = headers.get("content-length") ?? "";
  return encoding === "identity" && /^\d{1,15}$/.test(length) ? Number(length) : Number.NaN;
}

/**
 * The upload in a request. The audit keeps only a summary of its metadata: bindings may hold
 * secrets.
 * @throws ApiError 400, 413, 415 with everything that is wrong with it.
 */
async function requireUpload(c: AppContext, streamedBytes?: number): Promise<Upload> {
  const read = await readUpload(c.req.raw, streamedBytes);
  if (!read.ok) {
    const { status, messages } = read.fault;
    const entries = messages.map((message) => ({ code: BODY_CODE[status], message }));
    throw new ApiError(status, entries);
  }
  const { mainModule, ships, modules, rest } = read.upload;
  const size = rest === undefined ? { modules: modules.length } : { bytes: streamedBytes };
  noteBody(c.req.raw, { main_module: mainModule, logship: ships, ...size });
  return read.upload;
}
