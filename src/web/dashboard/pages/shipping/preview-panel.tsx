import type { FC } from "hono/jsx";
import { bytes, count, plural } from "../../../../base/words.ts";
import type { Message } from "../../../api/envelope.ts";
import type { PreviewResult } from "../../../api/preview.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Empty, figures, Notice, Panel, Table } from "../../parts/panel.tsx";
import { Records, recordOfLine } from "../../parts/record.tsx";
import { optionsOf, type ShippingBody } from "./body.ts";

export type PreviewView = PreviewResult;

/** Notes of the API that the panel already says in its own words. */
const SAID = /^(?:the sample is an example|there are no recent events in memory)/;

/** Records shown, and characters of each request. */
const SHOWN = 20;
const SHOWN_CHARACTERS = 4_000;

const REASONS = {
  filtered: "does not match the filter",
  sampled_out: "matches, but not in the sample",
} as const;

/** What a job would ship of some events. */
export const PreviewPanel: FC<{ preview: PreviewView; body: ShippingBody; notes?: readonly Message[] }> = ({
  preview,
  body,
  notes = [],
}) => (
  <Panel id="preview" title={preview.source === "recent" ? "Preview on recent events" : "Preview on given events"}>
    {preview.events === 0 ? (
      <Empty title="No recent events">
        <p>
          The last 200 events are held in memory for a few minutes. Call an <a href="/functions">attached Worker</a> or
          send an event to the API, then preview again.
        </p>
      </Empty>
    ) : (
      <Outcome preview={preview} body={body} />
    )}
    {notes
      .filter(({ message }) => !SAID.test(message))
      .map(({ message }) => (
        <Foreign as="p" class="quiet" text={message} />
      ))}
  </Panel>
);

const Outcome: FC<{ preview: PreviewView; body: ShippingBody }> = ({ preview, body }) => {
  const { kept, filtered, sampled_out, truncated } = preview;
  const rate = optionsOf(body).sample_rate;
  return (
    <>
      <p class="lead">{sentence(preview)}</p>
      <Bar preview={preview} />
      {sampled_out > 0 && (
        <p class="quiet">
          The sample is an example: the job samples other records, at the same rate{rate == null ? "" : ` (${rate})`}.
        </p>
      )}
      {truncated > 0 && (
        <p>
          {plural(truncated, "record")} of {count(kept)} would be truncated: <code>Logs</code> and{" "}
          <code>Exceptions</code> hold 16,384 characters together.
        </p>
      )}
      {filtered + sampled_out > 0 && <NotKept preview={preview} />}
      {kept > 0 && (preview.requests === undefined ? <Written preview={preview} /> : <Requests preview={preview} />)}
    </>
  );
};

export function sentence({ events, kept, filtered, sampled_out }: PreviewView): string {
  if (kept === events) return `All of ${plural(events, "event")} would be shipped.`;
  const why = [
    ...(filtered > 0 ? [`${count(filtered)} would be filtered`] : []),
    ...(sampled_out > 0 ? [`${count(sampled_out)} sampled out`] : []),
  ];
  return `${count(kept)} of ${plural(events, "event")} would be shipped; ${why.join(", and ")}.`;
}

/** The shares as one bar. Zero parts take no room, and other parts stay visible. */
const Bar: FC<{ preview: PreviewView }> = ({ preview }) => {
  const parts = (
    [
      ["kept", preview.kept],
      ["filtered", preview.filtered],
      ["sampled out", preview.sampled_out],
    ] as const
  ).filter(([, value]) => value > 0);
  const widths = parts.map(([, value]) => Math.max(6, (1_000 * value) / preview.events));
  const total = widths.reduce((sum, width) => sum + width, 0);
  return (
    <svg
      class="preview-bar"
      role="img"
      aria-label={parts.map(([name, value]) => `${name}: ${count(value)}`).join(", ")}
      viewBox={`0 0 ${total} 16`}
      preserveAspectRatio="none"
      width="100%"
      height="16"
    >
      {parts.map(([name], i) => (
        <rect
          class={`part-${name.replace(" ", "-")}`}
          x={widths.slice(0, i).reduce((sum, width) => sum + width, 0)}
          y={name === "kept" ? 0 : 5}
          width={widths[i]}
          height={name === "kept" ? 16 : name === "filtered" ? 6 : 3}
        />
      ))}
    </svg>
  );
};

/** Ascending numbers as ranges: `1, 3–7`. */
export function ranges(numbers: readonly number[]): string {
  const spans: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = spans.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else spans.push([number, number]);
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
}

const NotKept: FC<{ preview: PreviewView }> = ({ preview }) => (
  <details>
    <summary>Why {plural(preview.not_kept.length, "event")} would not be shipped</summary>
    <Table
      caption="Events that would not be shipped"
      columns={["Why", figures("Events"), "Which (oldest first)"]}
      rows={(["filtered", "sampled_out"] as const)
        .map((reason) => [reason, preview.not_kept.filter((each) => each.reason === reason)] as const)
        .filter(([, those]) => those.length > 0)
        .map(([reason, those]) => [REASONS[reason], count(those.length), ranges(those.map(({ index }) => index + 1))])}
    />
  </details>
);

/** Requests shown. */
const SHOWN_REQUESTS = 3;

/** What a receiver would get, and what it would not. */
const Requests: FC<{ preview: PreviewView }> = ({ preview: { requests = [], refused = [] } }) => (
  <>
    <h3>Requests</h3>
    <p>
      {requests.length === 0
        ? "Nothing would be sent."
        : `${plural(requests.length, "request")}, compressed with gzip.`}{" "}
      Ids are examples.
    </p>
    {refused.length > 0 && (
      <Notice kind="warn" title={`${plural(refused.length, "record")} would be put on hold`}>
        <ul>
          {[...Map.groupBy(refused, ({ reason }) => reason)].map(([reason, those]) => (
            <li>
              <Foreign text={reason} max={500} />: event {ranges(those.map(({ index }) => index + 1))}
            </li>
          ))}
        </ul>
      </Notice>
    )}
    {requests.slice(0, SHOWN_REQUESTS).map(({ method, url, headers, records, bytes: size, text, complete }, i) => (
      <section class="scroll" tabindex={0} aria-label={`Request ${i + 1}`}>
        <p class="quiet">
          {plural(records, "record")}, {bytes(size)} before compression
        </p>
        <pre>
          <code>
            <Foreign text={`${method} ${url}\n${headerLines(headers)}\n\n${text}`} max={SHOWN_CHARACTERS} />
            {!complete && " …"}
          </code>
        </pre>
      </section>
    ))}
    {requests.length > SHOWN_REQUESTS && (
      <p class="quiet">… and {plural(requests.length - SHOWN_REQUESTS, "more request")}.</p>
    )}
  </>
);

function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

const Written: FC<{ preview: PreviewView }> = ({ preview: { records, kept, objects } }) => {
  const shown = records.slice(0, SHOWN);
  return (
    <>
      <h3>Output</h3>
      <Records label="Output" records={shown.map(({ text }) => ({ record: recordOfLine(text.replace(/\n$/, "")) }))} />
      {kept > shown.length && <p class="quiet">… and {plural(kept - shown.length, "more record")}.</p>}
      <Table
        caption="Objects"
        columns={["Day", "Content type", figures("Records"), figures("Before compression")]}
        rows={objects.map((object) => [object.day, object.content_type, count(object.records), bytes(object.bytes)])}
      />
    </>
  );
};
