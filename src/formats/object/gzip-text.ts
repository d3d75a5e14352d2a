import { gunzipSync } from "node:zlib";
import { concat, encodeUtf8, toHex } from "../../base/bytes.ts";
import { deflateFragment } from "../../base/deflate.ts";
import { inflated } from "../../base/streams.ts";
import { batchTexts, contentType, type OutputFormat, recordLayout, unplain, writtenFields } from "../output/format.ts";
import { InvocationRenderer, rowsUnitsAtMost } from "../output/rows.ts";
import { isTakenField } from "../record/fields.ts";
import type { RecordLine } from "../record/line.ts";
import { SOURCE_MAX_UNITS } from "../record/source.ts";
import type { Assembly, Encoder, EncoderKind, Gatherer } from "./encoder.ts";
import { DEFLATED, FragmentBuilder, gathererOf } from "./fragment.ts";
import { contentOf, joinContents, memberHead, memberTail, storedBlocks } from "./gzip.ts";

/**
 * NDJSON or CSV in one gzip member. Fragments are deflated once and taken over as they are:
 * docs/delivery.md.
 */
export const gzipText: EncoderKind = {
  types: ["ndjson", "csv"],
  suffix: ".log.gz",
  canarySuffix: ".canary.gz",
  fileType: "application/gzip",
  fileName: "gzip file",
  linesType: (contentType) => contentType,
  decode: inflated,
  open: (output) => new GzipText(output),
};

class GzipText extends InvocationRenderer implements Encoder {
  readonly kind = gzipText;
  readonly contentType: string;
  readonly aroundBytes: number;
  readonly seam: Encoder["seam"];
  readonly sizes = DEFLATED.sizes;
  readonly #texts: ReturnType<typeof batchTexts>;
  /**
   * What the format adds to a record, with the delimiter and the source, in UTF-16 units; how often
   * a field is written at most; it has other extra fields.
   */
  readonly #added: { units: number; repeats: number; hasExtra: boolean };

  constructor(output: OutputFormat) {
    super(output);
    this.#texts = batchTexts(output);
    const { prefix, delimiter, suffix } = this.#texts;
    this.contentType = contentType(output);
    this.aroundBytes = prefix.length + suffix.length;
    this.seam = { finished: storedBlocks(delimiter), raw: delimiter, content: contentOf(delimiter) };
    const layout = recordLayout(output);
    const added = layout.texts.join("");
    // A template may repeat a field; nothing else writes a field twice.
    const repeats = [...Map.groupBy(layout.fields, (field) => field).values()].map(({ length }) => length);
    const sources = layout.fields.filter((field) => field === "Source").length;
    const hasExtra = layout.fields.some(isTakenField);
    this.#added = {
      units: added.length + output.recordDelimiter.length + sources * SOURCE_MAX_UNITS,
      repeats: Math.max(1, ...repeats),
      hasExtra,
    };
  }

  unitsAtMost({ bytes, extra, exceptionsAndLogsLength: own }: RecordLine): number {
    const { units, repeats, hasExtra } = this.#added;
    const extraUnits = hasExtra ? extra.length : 0;
    if (!this.hasRows) return units + repeats * (bytes + extraUnits);
    return rowsUnitsAtMost(own, units + repeats * (bytes - own + extraUnits), repeats);
  }

  storedAtMost(finishedBytes: number, rawBytes: number): number {
    const bytes = finishedBytes + rawBytes;
    // Stored blocks and flushes add less than a thousandth to fragments that are worth deflating.
    return bytes + Math.ceil(bytes / 1_000) + 1_000;
  }

  gather(partOf?: (record: RecordLine) => string, isSketched = false): Gatherer {
    const isSearched = unplain(this.format).length === 0;
    const written = writtenFields(this.format);
    const builder = new FragmentBuilder(this.#texts.delimiter, isSketched && isSearched, DEFLATED, written);
    return gathererOf(builder, this, partOf);
  }

  finish(raw: Uint8Array): Uint8Array<ArrayBuffer> {
    return deflateFragment(raw);
  }

  assemble(): Assembly {
    const { prefix, suffix } = this.#texts;
    let content = contentOf(prefix);
    return {
      head: { bytes: memberHead(prefix), content },
      add: (_body, added) => {
        content = joinContents([content, added]);
      },
      end: () => memberTail(suffix, content),
    };
  }

  single(record: RecordLine, variant: number): Uint8Array<ArrayBuffer> {
    const { prefix, suffix } = this.#texts;
    const raw = encodeUtf8(this.text(record));
    const member = this.assemble();
    member.add(raw, contentOf(raw));
    const { bytes: tail } = member.end();
    const object = concat([member.head.bytes, emptyBlocks(variant), deflateFragment(raw), tail]);
    if (toHex(gunzipSync(object)) !== toHex(concat([prefix, raw, suffix])))
      throw new Error("an object does not read as it was written");
    return object;
  }
}

/**
 * Stored blocks of no bytes, none of which is the last: no reader sees them. RFC 1951, section
 * 3.2.4.
 */
function emptyBlocks(count: number): Uint8Array {
  return concat(Array.from({ length: count }, () => Uint8Array.of(0, 0, 0, 0xff, 0xff)));
}
