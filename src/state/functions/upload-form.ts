import { concat, encodeUtf8 } from "../../base/bytes.ts";
import type { Module } from "./module.ts";

/** A multipart form, ready to send. */
export interface FormBody {
  contentType: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/**
 * The form of an upload: `metadata`, then each module. A module's name is both the part's name and
 * its filename, as the platform reads either. RFC 7578.
 * @param modules names without quotes, backslashes or control characters; types are media types or
 *   empty.
 * @param boundary not contained in them: 128 random bits.
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
