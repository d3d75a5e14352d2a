import type { FC } from "hono/jsx";
import { Foreign } from "./foreign.tsx";
import { State } from "./panel.tsx";
import { summaryOf, wholeOf } from "./record-summary.ts";
import { Time } from "./values.tsx";

/** Characters of a record that are shown in full. */
const WHOLE_MAX = 20_000;

/**
 * A record as one row, which opens: when, how it ended, which function, what called it, and the first thing that it said; then all of it. It may be anything:
 * a text that is no JSON is shown as it stands.
 */
export const RecordRow: FC<{
  record: unknown;
  /** Its place in whatever it is shown from. */
  number?: number;
  /** Only its beginning is here. */
  truncated?: boolean;
}> = ({ record, number, truncated }) => {
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
        {script !== "" && (
          <span class="record-script">
            <Foreign text={script} />
          </span>
        )}{" "}
        {event !== "" && (
          <span class="mono">
            <Foreign text={event} />
          </span>
        )}
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
        {isText && (
          <span class="mono">
            <Foreign text={record.slice(0, 300)} />
          </span>
        )}
        {!isText && atMs === null && outcome === "" && script === "" && event === "" && line === "" && (
          <span class="mono">
            <Foreign text={wholeOf(record).slice(0, 300)} />
          </span>
        )}
        {truncated === true && <span class="quiet"> (cut: too long to show)</span>}
      </summary>
      <pre class="whole">
        <Foreign text={wholeOf(record)} max={WHOLE_MAX} />
      </pre>
    </details>
  );
};

/** Records one below the other. @param label what these are, for whoever does not see the heading above. */
export const Records: FC<{
  label: string;
  records: readonly { record: unknown; number?: number; truncated?: boolean }[];
}> = ({ label, records }) => (
  <ol class="records" aria-label={label}>
    {records.map((each) => (
      <li>
        <RecordRow {...each} />
      </li>
    ))}
  </ol>
);

/** A line of an object as what it says: JSON, or the text that it is. */
export function recordOfLine(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : text;
  } catch {
    return text;
  }
}
