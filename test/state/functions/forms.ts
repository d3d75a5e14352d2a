/**
 * Multipart forms as bytes: as curl 7.88 writes them (captured from it), and as other clients
 * might.
 */
import { concat, encodeUtf8 } from "../../../src/base/bytes.ts";

/** curl's form: 24 dashes and 16 hex digits. */
export const BOUNDARY = "------------------------7b8dfb95ee8bf8b1";

export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

export const WORKER = 'export default { fetch() { return new Response("hi"); } };\n';

export interface FormPart {
  name: string;
  /** Absent: a plain field. */
  filename?: string;
  /** Absent: no Content-Type. */
  type?: string;
  content: string | Uint8Array;
}

/** `-F metadata='…'`, or with `;type=application/json`. */
export function field(metadata: unknown, type?: string): FormPart {
  const content = typeof metadata === "string" ? metadata : JSON.stringify(metadata);
  return { name: "metadata", content, ...(type !== undefined && { type }) };
}

/** `-F 'my-worker.js=@./my-worker.js;type=application/javascript+module'`. */
export function module(
  name = "my-worker.js",
  content: string | Uint8Array = WORKER,
  type = "application/javascript+module",
): FormPart {
  return { name, filename: name, type, content };
}

export function form(parts: readonly FormPart[], boundary = BOUNDARY, end = `--${boundary}--\r\n`): Uint8Array {
  const bytes = parts.flatMap(({ name, filename, type, content }) => [
    encodeUtf8(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"`),
    encodeUtf8(filename === undefined ? "" : `; filename="${filename}"`),
    encodeUtf8(`${type === undefined ? "" : `\r\nContent-Type: ${type}`}\r\n\r\n`),
    typeof content === "string" ? encodeUtf8(content) : content,
    encodeUtf8("\r\n"),
  ]);
  return concat([...bytes, encodeUtf8(end)]);
}

/** The curl line of the documentation, as it arrives. @param metadata replaces that of the line. */
export function curlForm(metadata: unknown = { main_module: "my-worker.js", logship: true }): Uint8Array {
  return form([field(metadata, "application/json"), module()]);
}
