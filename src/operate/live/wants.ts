import { utf8Length } from "../../base/bytes.ts";
import { FILTER_MAX_BYTES } from "../../base/limits.ts";
import { compileFilter } from "../../formats/filter/compile.ts";
import { parseFilter } from "../../formats/filter/parse.ts";
import { compileQuery } from "../../formats/query/compile-query.ts";
import { readQuery } from "../../formats/query/meaning.ts";
import { EXTRA_FIELDS, type ExtraField, emptyText, TAKEN_FIELDS } from "../../formats/record/fields.ts";
import type { RecordLine } from "../../formats/record/line.ts";
import { fold } from "../../formats/sketch/terms.ts";

/** Which records a viewer wants; "" for any. */
export interface Wants {
  /** As of a job. */
  filter: string;
  /** In the language of searches. */
  query: string;
}

export interface Wanted {
  /** Whether a new record is wanted. @throws SyntaxError if it is no JSON. */
  fits(record: RecordLine): boolean;
  /** The same of one that was sent before. Never throws. */
  fitsAgain(record: object, source: string): boolean;
}

/** @param extra fields that are on. @returns what is wanted, or the faults of filter or query. */
export function readWants(
  { filter, query }: Wants,
  extra: readonly ExtraField[] = EXTRA_FIELDS,
): { ok: true; wanted: Wanted } | { ok: false; faults: readonly string[] } {
  const bytes = utf8Length(filter);
  if (bytes > FILTER_MAX_BYTES)
    return { ok: false, faults: [`the filter has ${bytes} bytes; at most ${FILTER_MAX_BYTES} are possible`] };
  const parsed = parseFilter(filter, extra);
  if (!parsed.ok) return parsed;
  const read = readQuery(query);
  if (!read.ok) return { ok: false, faults: [read.fault.message] };
  const passes = parsed.filter === null ? () => true : compileFilter(parsed.filter);
  const all = read.question === null ? [] : [read.question];
  const { foldedPart, matches } = compileQuery({ all, sinceMs: -Infinity, untilMs: Infinity });
  return {
    ok: true,
    wanted: {
      fits(record) {
        if (!passes(record)) return false;
        if (read.question === null) return true;
        // Most records need not be parsed.
        if (foldedPart !== "" && !fold(record.withExtra + record.Source).includes(foldedPart)) return false;
        return matches(wholeOf(record));
      },
      fitsAgain: (record, source) =>
        passes({ ...EMPTY, Source: source, ...record } as RecordLine) && matches(withSource(record, source)),
    },
  };
}

/** Extra fields, as a record has them that lacks them. */
const EMPTY = Object.fromEntries(TAKEN_FIELDS.map((name) => [name, JSON.parse(emptyText(name))]));

/** All viewers are offered the same records: each is parsed once. */
const wholes = new WeakMap<RecordLine, object>();

function wholeOf(record: RecordLine): object {
  const whole = wholes.get(record) ?? withSource(JSON.parse(record.withExtra), record.Source);
  wholes.set(record, whole);
  return whole;
}

/** `Source:` finds it; words do not, as few jobs ship it: `tail` would find every record. */
function withSource(record: object, source: string): object {
  return source === "" ? record : Object.defineProperty(record, "Source", { value: source, configurable: true });
}
