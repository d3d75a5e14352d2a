import { raw } from "hono/html";
import type { FC } from "hono/jsx";
import { parsedJson } from "../../../base/bytes.ts";
import { Foreign } from "./foreign.tsx";
import { type DetailsProps, RecordDetails } from "./record-details.tsx";
import { type Json, rowOf, wholeOf } from "./record-summary.ts";

/** Longest line shown of what is no record, in characters. */
const WHOLE_MAX = 20_000;

interface RowProps extends Omit<DetailsProps, "record"> {
  /** Any value. Text that is no JSON is shown as it is. */
  record: unknown;
  /** Its line in the object. */
  number?: number | undefined;
  /** Only its beginning is present. */
  truncated?: boolean | undefined;
  isOpen?: boolean | undefined;
}

/** A record as a row that opens to show all of it; of those on a page, one at a time. */
export const RecordRow: FC<RowProps> = ({ record, number, truncated, isOpen, ...more }) => {
  const text = typeof record === "object" && record !== null ? null : wholeOf(record);
  return (
    <details class="record" name="record" open={isOpen}>
      <summary>
        {raw(rowOf(text ?? record, more.source ?? ""))}
        {(number !== undefined || truncated) && (
          <span class="record-number quiet">
            {number} {truncated && "(truncated)"}
          </span>
        )}
      </summary>
      {text === null ? (
        <RecordDetails {...more} record={record as Json} />
      ) : (
        <div id={more.id}>
          <Foreign as="pre" class="text" text={text} max={WHOLE_MAX} />
        </div>
      )}
    </details>
  );
};

/** A list of records. @param label for screen readers. */
export const Records: FC<{ label: string; records: readonly Omit<RowProps, "id">[] }> = ({ label, records }) => (
  <ol class="records" aria-label={label}>
    {records.map((each, i) => (
      <li>
        <RecordRow id={each.number === undefined ? `record-${i + 1}` : `line-${each.number}`} {...each} />
      </li>
    ))}
  </ol>
);

/** Parses a line of an object; a line that is no JSON object stays text. */
export function recordOfLine(text: string): unknown {
  const value = parsedJson(text);
  return typeof value === "object" && value !== null ? value : text;
}
