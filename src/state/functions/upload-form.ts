import { concat, encodeUtf8 } from "../../base/bytes.ts";
import { behind, streamOf } from "../../base/streams.ts";
import type { Upload } from "./module.ts";
import type { SentBody } from "./upstream.ts";

/**
 * The form of an upload: `metadata`, then each module. A module's name is both the part's name and
 * its filename, as the platform reads either. RFC 7578.
 * @param modules names without quotes, backslashes or control characters; types are media types or
 *   empty.
 * @param boundary not contained in them: 128 random bits.
 */
export function uploadForm(
  metadata: object,
  { modules, rest }: Pick<Upload, "modules" | "rest">,
  newBoundary: string,
): SentBody {
  const boundary = rest?.boundary ?? newBoundary;
  const first = encodeUtf8(
    `--${boundary}\r\nContent-Disposition: form-data; name="metadata"\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(metadata)}`,
  );
  const contentType = `multipart/form-data; boundary=${rest === undefined ? boundary : `"${boundary}"`}`;
  if (rest !== undefined) {
    const size = new FixedLengthStream(first.length + rest.bytes);
    return { contentType, bytes: streamOf(behind(first, rest.pieces)).pipeThrough(size) };
  }
  const parts = [first, encodeUtf8("\r\n")];
  for (const { name, type, bytes } of modules) {
    const disposition = `Content-Disposition: form-data; name="${name}"; filename="${name}"`;
    parts.push(
      encodeUtf8(`--${boundary}\r\n${disposition}${type === "" ? "" : `\r\nContent-Type: ${type}`}\r\n\r\n`),
      bytes as Uint8Array<ArrayBuffer>,
      encodeUtf8("\r\n"),
    );
  }
  parts.push(encodeUtf8(`--${boundary}--\r\n`));
  return { contentType, bytes: concat(parts) };
}
