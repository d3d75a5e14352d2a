import type { FC } from "hono/jsx";
import { parsedJson } from "../../../base/bytes.ts";
import { Foreign } from "./foreign.tsx";
import { State } from "./panel.tsx";
import { Thrown } from "./record-details.tsx";
import { summaryOf, wholeOf } from "./record-summary.ts";
import { Time } from "./values.tsx";

/** Longest record shown in full, in characters. */
const WHOLE_MAX = 20_000;

/**
 * A record as a row that opens to show all of it. Any value works; text that is no JSON is shown as
 * it is.
 */
export const RecordRow: FC<{
  record: unknown;
  /** Its line in the object. */
  number?: number;
  /** Where it came from; absent, or empty: unknown. */
  source?: string | undefined;
  /** Only its beginning is present. */
  truncated?: boolean;
}> = ({ record, number, source = "", truncated }) => {
  const isText = typeof record === "string";
  const { atMs, outcome, kind, script, event, line, lineKind, more } = summaryOf(record);
  return (
    <details class="record">
      <summary>
        {number !== undefined && <span class="record-number quiet">{number}</span>}{" "}
        {atMs !== null && <Time at={atMs} />}{" "}
        {outcome !== "" && (
          <State kind={kind}>
            <Foreign text={outcome} />
          </State>
        )}{" "}
        {script !== "" && <Foreign as="span" class="record-script" text={script} />}{" "}
        {source !== "" && <Foreign as="span" class="quiet" text={source} />}{" "}
        {event !== "" && <Foreign as="span" class="mono" text={event} />}
        {line !== "" && (
          <span class="record-line">
            {lineKind === "quiet" ? (
              <Foreign text={line} />
            ) : (
              <span class={`state ${lineKind}`}>
                <Foreign text={line} />
              </span>
            )}
            {more > 0 && <span class="quiet"> +{more}</span>}
          </span>
        )}
        {isText && <Foreign as="span" class="mono" text={record.slice(0, 300)} />}
        {!isText && atMs === null && outcome === "" && script === "" && event === "" && line === "" && (
          <Foreign as="span" class="mono" text={wholeOf(record).slice(0, 300)} />
        )}
        {truncated === true && <span class="quiet"> (truncated)</span>}
      </summary>
      {typeof record === "object" && record !== null && <Thrown record={record as Record<string, unknown>} />}
      <Foreign as="pre" class="whole" text={wholeOf(record)} max={WHOLE_MAX} />
    </details>
  );
};

/** A list of records. @param label for screen readers. */
export const Records: FC<{
  label: string;
  records: readonly { record: unknown; number?: number; source?: string | undefined; truncated?: boolean }[];
}> = ({ label, records }) => (
  <ol class="records" aria-label={label}>
    {records.map((each) => (
      <li id={each.number === undefined ? undefined : `line-${each.number}`}>
        <RecordRow {...each} />
      </li>
    ))}
  </ol>
);

/** Parses a line of an object; a line that is no JSON object stays text. */
export function recordOfLine(text: string): unknown {
  const value = parsedJson(text);
  return typeof value === "object" && value !== null ? value : text;
}
