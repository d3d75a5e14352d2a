import { ApiError, CODE } from "../errors.ts";
import type { Upload } from "../functions/types.ts";
import { readUpload } from "../functions/upload.ts";
import { noteBody } from "./body.ts";
import type { AppContext } from "./route.ts";

const STATUS_CODE = { 400: CODE.invalid, 413: CODE.tooLarge, 415: CODE.mediaType } as const;

/**
 * The upload that a request carries. Of its metadata the audit gets what is ours to follow: bindings may hold secrets.
 * @throws ApiError 400, 413, 415 with everything that is wrong with it.
 */
export async function requireUpload(c: AppContext): Promise<Upload> {
  const read = await readUpload(c.req.raw);
  if (!read.ok) {
    const { status, messages } = read.fault;
    throw new ApiError(
      status,
      messages.map((message) => ({ code: STATUS_CODE[status], message })),
    );
  }
  const { mainModule, ships, modules } = read.upload;
  noteBody(c.req.raw, { main_module: mainModule, logship: ships, modules: modules.length });
  return read.upload;
}
