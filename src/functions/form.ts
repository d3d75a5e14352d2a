import { concat, encodeUtf8 } from "../bytes.ts";
import type { Module } from "./types.ts";

/** A multipart form, ready to be sent. */
export interface FormBody {
  contentType: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The form of an upload: `metadata`, then each module under its own name, which is both that of its part and its filename, as the platform's readers
 * look at either. RFC 7578.
 * @param modules of which the names hold neither quotes, backslashes nor control characters, and the types are media types, or empty.
 * @param boundary that stands nowhere in them: 128 bits of chance.
 */
export function uploadForm(metadata: object, modules: readonly Module[], boundary: string): FormBody {
  const parts = [
    encodeUtf8(
      `--${boundary}\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(metadata)}\r\n`,
    ),
  ];
  for (const { name, type, bytes } of modules) {
    const disposition = `Content-Disposition: form-data; name="${name}"; filename="${name}"`;
    parts.push(
      encodeUtf8(`--${boundary}\r\n${disposition}${type === "" ? "" : `\r\nContent-Type: ${type}`}\r\n\r\n`),
      bytes as Uint8Array<ArrayBuffer>,
      encodeUtf8("\r\n"),
    );
  }
  parts.push(encodeUtf8(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: concat(parts) };
}
