import type { OutputFormat } from "../output/format.ts";
import type { Encoder, EncoderKind } from "./encoder.ts";
import { gzipText } from "./gzip-text.ts";
import { parquet } from "./parquet/parquet.ts";

/** Every kind of object. A new kind is a file and a line here. */
export const ENCODERS: readonly EncoderKind[] = [gzipText, parquet];

export function encoderKindOf({ type }: Pick<OutputFormat, "type">): EncoderKind {
  const kind = ENCODERS.find(({ types }) => types.includes(type));
  if (kind === undefined) throw new Error(`no encoder for ${type}`);
  return kind;
}

/** @throws Error as {@link EncoderKind.open}. */
export function encoderOf(output: OutputFormat): Encoder {
  return encoderKindOf(output).open(output);
}

/** The kind of an object that was written. @param name its key, or the end of it. */
export function decoderOf(name: string): EncoderKind {
  return ENCODERS.find(({ suffix }) => name.endsWith(suffix)) ?? gzipText;
}

/** The same of one that has no key yet. @param contentType what its encoder says. */
export function decoderOfType(contentType: string): EncoderKind {
  return ENCODERS.find(({ fileType }) => fileType === contentType) ?? gzipText;
}
