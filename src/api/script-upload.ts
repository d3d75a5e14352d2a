import { ApiError } from "../errors.ts";
import type { Upload } from "../functions/types.ts";
import { readUpload } from "../functions/upload.ts";
import { BODY_CODE, noteBody } from "./body.ts";
import type { AppContext } from "./route.ts";

/**
 * The upload in a request. The audit keeps only a summary of its metadata: bindings may hold
 * secrets.
 * @throws ApiError 400, 413, 415 with everything that is wrong with it.
 */
export async function requireUpload(c: AppContext): Promise<Upload> {
  const read = await readUpload(c.req.raw);
  if (!read.ok) {
    const { status, messages } = read.fault;
    const entries = messages.map((message) => ({ code: BODY_CODE[status], message }));
    throw new ApiError(status, entries);
  }
  const { mainModule, ships, modules } = read.upload;
  noteBody(c.req.raw, { main_module: mainModule, logship: ships, modules: modules.length });
  return read.upload;
}
