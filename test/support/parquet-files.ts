/** Parquet objects as logs make them, read by a library: not by what reads them in the service. */
import { gunzipSync } from "node:zlib";
import { type FileMetaData, type MetadataOptions, parquetMetadata, parquetReadObjects } from "hyparquet";
import { concat, encodeUtf8 } from "../../src/base/bytes.ts";
import { deflateFragment } from "../../src/base/deflate.ts";
import type { Encoder } from "../../src/formats/object/encoder.ts";
import { encoderOf } from "../../src/formats/object/encoders.ts";
import { contentOf, GZIP_HEADER, gzipTrailer } from "../../src/formats/object/gzip.ts";
import { NDJSON, type OutputFormat } from "../../src/formats/output/format.ts";

export const PARQUET: OutputFormat = { ...NDJSON, type: "parquet" };

/** An object of these groups of lines, each of which ends with a line feed. */
export function fileOf(groups: readonly (readonly string[])[], encoder: Encoder = encoderOf(PARQUET)): Uint8Array {
  const assembly = encoder.assemble();
  const bodies = groups.map((lines) => {
    const raw = encodeUtf8(lines.join(""));
    const body = encoder.finish(raw);
    assembly.add(body, contentOf(raw));
    return body;
  });
  return concat([assembly.head.bytes, ...bodies, assembly.end().bytes]);
}

/** What the service itself reads in an object, in pieces of this size. @param fields null: all. */
export async function linesIn(
  file: Uint8Array,
  step = 65_536,
  fields: ReadonlySet<string> | null = null,
): Promise<string> {
  async function* pieces() {
    for (let at = 0; at < file.length; at += step) yield file.slice(at, at + step);
  }
  const parts: Uint8Array[] = [];
  for await (const part of encoderOf(PARQUET).kind.decode(pieces(), fields)) parts.push(part.slice());
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(concat(parts));
}

export function metadataOf(file: Uint8Array, parsers: MetadataOptions["parsers"] = {}): FileMetaData {
  return parquetMetadata(file, { parsers });
}

/** Columns of JSON that are declared as text. */
const JSON_TEXTS: ReadonlySet<string> = new Set(["Exceptions", "Fields", "LogErrors", "Logs"]);

/** The records or rows of an object as those of NDJSON, as hyparquet reads them. */
export async function recordsIn(file: Uint8Array): Promise<Record<string, unknown>[]> {
  return (await rowsIn(file)).map(({ RayID: _, ...row }) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(name, value)])),
  );
}

function plain(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Date) return value.getTime();
  return JSON_TEXTS.has(name) ? JSON.parse(value as string) : value;
}

/** The rows of an object, as hyparquet reads them. */
export function rowsIn(file: Uint8Array, parsers: MetadataOptions["parsers"] = {}): Promise<Record<string, unknown>[]> {
  const compressors = { GZIP: (packed: Uint8Array) => new Uint8Array(gunzipSync(packed)) };
  return parquetReadObjects({ file: file.slice().buffer as ArrayBuffer, compressors, parsers });
}

/**
 * An object of Parquet as one of NDJSON, by another reader of Parquet than ours; any other as it
 * is.
 */
export async function asMember<T extends { key: string; bytes: Uint8Array }>(object: T): Promise<T> {
  const { key, bytes } = object;
  if (!key.endsWith(".parquet")) return object;
  const raw = encodeUtf8((await recordsIn(bytes)).map((record) => `${JSON.stringify(record)}\n`).join(""));
  const member = concat([GZIP_HEADER, deflateFragment(raw), gzipTrailer(contentOf(raw))]);
  return { ...object, key: key.replace(/\.parquet$/, ".log.gz"), bytes: member };
}
