import { Buffer } from "node:buffer";
import * as z from "zod";
import { concat, encodeUtf8, parsedJson } from "../../base/bytes.ts";
import { missing } from "../../base/errors.ts";
import {
  ERRORS_MAX_ENTRIES,
  MODULE_NAME_MAX,
  UPLOAD_MAX_BYTES,
  UPLOAD_METADATA_MAX_BYTES,
  UPLOAD_METADATA_MAX_DEPTH,
  UPLOAD_PACE,
  UPLOAD_PARTS_MAX,
  UPLOAD_STREAMED_MAX_BYTES,
} from "../../base/limits.ts";
import { within } from "../../base/platform.ts";
import { behind, type Pieces, piecesOf } from "../../base/streams.ts";
import { whyNotJson } from "../../formats/filter/json-fault.ts";
import { isDeeperThan } from "../../formats/record/record.ts";
import { type Body, type BodyFault, decodeUtf8, readBody } from "../../ship/intake/body.ts";
import type { FormRest, Module, Upload } from "./module.ts";
import { ONE_NAME } from "./tail-consumers.ts";

/** What is wrong with an upload: one status, and all faults found. */
export interface UploadFault {
  status: BodyFault["status"];
  messages: readonly string[];
}

export type UploadRead = { ok: true; upload: Upload } | { ok: false; fault: UploadFault };

/** An entry of `tail_consumers`. Other properties are kept. */
const Consumer = z.looseObject({ service: z.string() });

/** The part `metadata`, as far as it is checked here. The platform checks the rest. */
export const UploadMetadata = z
  .looseObject({
    main_module: z.string().min(1),
    logship: z.boolean().optional(),
    logpush: z.boolean().optional(),
    tail_consumers: z.array(Consumer).max(100).nullish(),
  })
  .refine(...ONE_NAME);

/**
 * Reads the multipart form of an upload: a part `metadata`, as a field or a file, and one file part
 * for each module.
 *
 * The runtime's parser reads it, after bytes and parts have been bounded. It keeps the type and
 * filename of files, in their order. Of a field it keeps only the text, with U+FFFD for what is not
 * UTF-8. It does not decode `filename*`, `%22` or `Content-Transfer-Encoding`, as RFC 7578 asks,
 * and refuses a form without an end.
 * @param streamedBytes length of a body that goes on as it comes: its metadata is read, and not the
 *   rest.
 */
export async function readUpload(request: Request, streamedBytes?: number): Promise<UploadRead> {
  const boundary = boundaryOf(request.headers.get("content-type"));
  if (!boundary.ok) return refused(boundary.message, boundary.status);
  if (streamedBytes !== undefined && request.body !== null) {
    const pieces = piecesOf(request.body, (read, late) => within(UPLOAD_PACE.silenceMs, read(), late), true);
    const late = refused("the metadata did not arrive in time; repeat the request", 408);
    const read = await within(UPLOAD_PACE.silenceMs, readFirst(pieces, streamedBytes, boundary.value), late);
    // Of one that is silent, the read that is under way ends by itself.
    if (!read.ok) void pieces.return().catch(() => {});
    return read;
  }
  const body: Body = await readBody(request, UPLOAD_MAX_BYTES, UPLOAD_PACE);
  if (!body.ok) return refused(body.fault.message, body.fault.status);
  if (body.bytes.length === 0) return refused("there is no multipart form: the body is empty");
  if (hasTooManyParts(body.bytes, boundary.value)) return refused(`the form has more than ${UPLOAD_PARTS_MAX} parts`);
  const form = await parse(body.bytes, boundary.value);
  if (form === null)
    return refused(
      `the multipart form cannot be read: each part needs Content-Disposition: form-data with a quoted name, and the last is followed by --${MARK}--`,
    );
  return uploadOf([...form]);
}

/** The platform checks the other parts, of which none may be another `metadata`. */
async function readFirst(pieces: Pieces, bytes: number, boundary: string): Promise<UploadRead> {
  if (bytes > UPLOAD_STREAMED_MAX_BYTES)
    return refused(`the body is larger than ${UPLOAD_STREAMED_MAX_BYTES} bytes`, 413);
  let head = new Uint8Array();
  let end = -1;
  while (end === -1 && head.length <= 2 * UPLOAD_METADATA_MAX_BYTES) {
    const { value } = await pieces.next().catch(() => ({ value: undefined }));
    if (value === undefined) return refused("the body broke off, or nothing of it came; repeat the request", 408);
    head = concat([head, value as Uint8Array<ArrayBuffer>]);
    end = Buffer.from(head.buffer).indexOf(`\r\n--${boundary}`);
  }
  const first = concat([head.slice(0, Math.max(end, 0)), encodeUtf8(`\r\n--${boundary}--\r\n`)]);
  const [part, ...others] = (await parse(first, boundary)) ?? [];
  // Lines that end otherwise would hide other parts in the first one.
  if (part?.[0] !== "metadata" || others.length > 0)
    return refused(`a form of more than ${UPLOAD_MAX_BYTES} bytes must begin with the part "metadata"`);
  const read = await readMetadata(part[1]);
  if (!read.ok) return { ok: false, fault: { status: 400, messages: read.messages } };
  let fault: string | null = null;
  const checked = withoutMetadata(behind(head.slice(end), pieces), boundary, (words) => {
    fault = words;
  });
  const leave = (): void => void pieces.return().catch(() => {});
  const rest: FormRest = { boundary, bytes: bytes - end, pieces: checked, fault: () => fault, leave };
  return { ok: true, upload: { ...uploadFrom(read), modules: [], rest } };
}

/** Most bytes of a part's header, its boundary included: a name has at most 1,024 characters. */
const PART_HEAD_MAX_BYTES = 8_192;

/** A header that names a part, or its file, `metadata`, or a part in code (RFC 2231). */
const NAMES_METADATA = /name\*?\s*=\s*(?:[\w-]*'[\w-]*')?"?metadata"?\s*(?:;|\r|\n|$)|(?<!file)name\*/i;

/**
 * The pieces, up to another part `metadata`, of which the platform might choose either. Each byte
 * is looked at once or twice.
 * @param refuse is told why the pieces break off.
 */
async function* withoutMetadata(pieces: Pieces, boundary: string, refuse: (why: string) => void): Pieces {
  const mark = `\n--${boundary}`;
  const blank = /\n\r?\n/g;
  let tail = "";
  for await (const piece of pieces) {
    const seen = tail + Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString("latin1");
    // A mark, or the header behind it, may go on in the next piece.
    let kept = Math.max(0, seen.length - mark.length);
    for (let at = seen.indexOf(mark); at !== -1; ) {
      blank.lastIndex = at + 1;
      const end = blank.exec(seen)?.index;
      const isLong = (end ?? seen.length) - at > PART_HEAD_MAX_BYTES;
      if (isLong || (end !== undefined && NAMES_METADATA.test(seen.slice(at, end)))) {
        const why = isLong ? `a part's header has more than ${PART_HEAD_MAX_BYTES} bytes` : OTHER_METADATA;
        refuse(why);
        throw new Error(why);
      }
      if (end === undefined) kept = at;
      at = end === undefined ? -1 : seen.indexOf(mark, end + 1);
    }
    tail = seen.slice(kept);
    yield piece;
  }
}

const OTHER_METADATA = 'only the first part may be named "metadata", and no part\'s name may be encoded';

/** Stands for the boundary in messages: text from the caller is not repeated. */
const MARK = "<boundary>";

type Boundary = { ok: true; value: string } | { ok: false; status: 400 | 415; message: string };

/** RFC 2046, 5.1.1. */
const BOUNDARY = /^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/;

function boundaryOf(contentType: string | null): Boundary {
  if (contentType === null)
    return { ok: false, status: 400, message: "there is no multipart form: Content-Type is missing" };
  const [type = "", ...parameters] = contentType.split(";");
  if (type.trim().toLowerCase() !== "multipart/form-data")
    return { ok: false, status: 415, message: "Content-Type must be multipart/form-data" };
  const given = parameters
    .map((parameter) => /^\s*boundary\s*=\s*(?:"([^"]*)"|([^\s"]*))\s*$/i.exec(parameter))
    .filter((match) => match !== null)
    .map(([, quoted, plain]) => quoted ?? plain ?? "");
  const [value = ""] = given;
  if (given.length !== 1 || !BOUNDARY.test(value))
    return { ok: false, status: 400, message: "Content-Type: multipart/form-data needs one boundary" };
  return { ok: true, value };
}

/**
 * Counts lines that begin with the boundary, which is cheap. No line of a part can: the part would
 * end there.
 */
function hasTooManyParts(bytes: Uint8Array, boundary: string): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const mark = `\n--${boundary}`;
  // One for each part: nothing precedes the first boundary, and the last one ends the form.
  let found = 0;
  for (let at = all.indexOf(mark); at !== -1; at = all.indexOf(mark, at + mark.length)) {
    found += 1;
    if (found > UPLOAD_PARTS_MAX) return true;
  }
  return false;
}

/**
 * null: not a form. The header is written anew, so that the parser uses the boundary that was
 * counted.
 */
async function parse(bytes: Uint8Array, boundary: string): Promise<FormData | null> {
  const headers = { "content-type": `multipart/form-data; boundary="${boundary}"` };
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, { headers }).formData();
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
}

type Part = [name: string, value: string | File];

async function uploadOf(parts: readonly Part[]): Promise<UploadRead> {
  const metadataParts = parts.filter(([name]) => name === "metadata");
  const files = parts.filter((part): part is [string, File] => part[0] !== "metadata" && typeof part[1] !== "string");
  const faults: string[] = [];
  for (const [name, value] of parts) {
    if (name !== "metadata" && typeof value === "string")
      faults.push(`the part ${quoted(name)} is neither metadata nor a file: a module needs a filename`);
  }
  if (metadataParts.length > 1) faults.push('two parts are named "metadata"');
  const sent = metadataParts[0]?.[1];
  const read = sent === undefined ? MISSING : await readMetadata(sent);
  if (!read.ok) faults.push(...read.messages);
  const mainModule = read.ok ? read.metadata.main_module : null;
  const named = namesOf(files, mainModule);
  faults.push(...nameFaults(named));
  for (const [, file] of files) {
    if (!MEDIA_TYPE.test(mediaTypeOf(file)))
      faults.push(`the file part ${quoted(file.name)}: its Content-Type is not a media type`);
  }
  if (mainModule !== null && !named.includes(mainModule))
    faults.push(`metadata.main_module: there is no file part named ${quoted(mainModule)}`);
  else if (files.length === 0) faults.push("there is no file part: each module is one, named by its filename");
  if (faults.length > 0 || !read.ok)
    return { ok: false, fault: { status: 400, messages: faults.slice(0, ERRORS_MAX_ENTRIES) } };
  const modules: Module[] = [];
  for (const [i, [, file]] of files.entries())
    modules.push({ name: named[i] ?? "", type: mediaTypeOf(file), bytes: new Uint8Array(await file.arrayBuffer()) });
  return { ok: true, upload: { ...uploadFrom(read), modules } };
}

type MetadataRead =
  | { ok: true; raw: { readonly [key: string]: unknown }; metadata: z.infer<typeof UploadMetadata> }
  | { ok: false; messages: readonly string[] };

function uploadFrom({ raw, metadata }: MetadataRead & { ok: true }): Omit<Upload, "modules"> {
  return { metadata: raw, mainModule: metadata.main_module, ships: metadata.logship ?? metadata.logpush ?? false };
}

const MISSING: MetadataRead = { ok: false, messages: ['there is no part named "metadata"'] };

async function readMetadata(part: string | File): Promise<MetadataRead> {
  const fault = (...messages: string[]): MetadataRead => ({ ok: false, messages });
  if ((typeof part === "string" ? part.length : part.size) > UPLOAD_METADATA_MAX_BYTES)
    return fault(`metadata: larger than ${UPLOAD_METADATA_MAX_BYTES} bytes`);
  const text =
    typeof part === "string"
      ? ({ ok: true, value: part } as const)
      : decodeUtf8(new Uint8Array(await part.arrayBuffer()));
  if (!text.ok) return fault("metadata: not valid UTF-8");
  const raw = parsedJson(text.value);
  if (raw === undefined) return fault(`metadata: not JSON: ${whyNotJson(text.value)}`);
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return fault("metadata: must be a JSON object");
  if (isDeeperThan(raw, UPLOAD_METADATA_MAX_DEPTH))
    return fault(`metadata: nested too deeply: at most ${UPLOAD_METADATA_MAX_DEPTH} levels`);
  const parsed = UploadMetadata.safeParse(raw, { error: missing });
  if (parsed.success) return { ok: true, raw: raw as { readonly [key: string]: unknown }, metadata: parsed.data };
  return fault(...parsed.error.issues.map(({ path, message }) => `${["metadata", ...path].join(".")}: ${message}`));
}

/**
 * Names of the modules: their filenames, unless `main_module` is the name of a part and no
 * filename. That is the meaning of `-F 'main.js=@dist/out.js'`, which has the filename `out.js`.
 */
function namesOf(files: readonly [string, File][], mainModule: string | null): string[] {
  const filenames = files.map(([, file]) => file.name);
  const partNames = files.map(([name]) => name);
  if (mainModule === null || filenames.includes(mainModule) || !partNames.includes(mainModule)) return filenames;
  return partNames;
}

function nameFaults(names: readonly string[]): string[] {
  const seen = new Set<string>();
  const faults: string[] = [];
  for (const name of names) {
    // Quotes and backslashes in the header of a part are written, and read, in more than one way.
    if (name.length > MODULE_NAME_MAX || /[\p{Cc}"\\]/u.test(name) || !name.isWellFormed())
      faults.push(
        `the file part ${quoted(name)}: a name has at most ${MODULE_NAME_MAX} characters, and neither quotes, backslashes nor control characters`,
      );
    // Forwarded, it would be a second part of that name, and the platform would choose one of them.
    if (name === "metadata") faults.push('a module cannot be named "metadata"');
    if (seen.has(name)) faults.push(`two file parts are named ${quoted(name)}`);
    seen.add(name);
  }
  return [...new Set(faults)];
}

/** RFC 9110, 8.3.1, in lower case; may be empty. */
const MEDIA_TYPE = /^(?:[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127})?$/;

function mediaTypeOf({ type }: File): string {
  return type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 64).toWellFormed());
}

function refused(message: string, status: BodyFault["status"] = 400): UploadRead {
  return { ok: false, fault: { status, messages: [message] } };
}
