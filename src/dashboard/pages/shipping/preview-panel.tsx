import type { FC } from "hono/jsx";
import type { PreviewResult } from "../../../api/preview.ts";
import { Foreign } from "../../parts/foreign.tsx";
import { Empty, Panel, Table } from "../../parts/panel.tsx";
import { bytes, count, plural } from "../../parts/values.tsx";
import { optionsOf, type ShippingBody } from "./body.ts";

/** What `POST /preview` answers. */
export type PreviewView = PreviewResult;

/** Records that are shown as they would be written, and characters of each. */
const SHOWN = 20;
const SHOWN_CHARACTERS = 4_000;

const REASONS = {
  filtered: "does not fit the filter",
  sampled_out: "the sample does not keep it; the filter does",
} as const;

/** What a job would make of the events that were asked about. */
export const PreviewPanel: FC<{ preview: PreviewView; body: ShippingBody }> = ({ preview, body }) => (
  <Panel id="preview" title={preview.source === "recent" ? "Preview on recent events" : "Preview on given events"}>
    {preview.events === 0 ? (
      <Empty title="There are no recent events to try this on">
        <p>
          The last 200 events of all functions are held in memory, for minutes at most. Call a function whose events
          come here, wait some seconds, and look again. Nothing else depends on it.
        </p>
      </Empty>
    ) : (
      <Outcome preview={preview} body={body} />
    )}
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
          The sample is an example: a job draws one of its own, with the same share{rate == null ? "" : ` (${rate})`}.
        </p>
      )}
      {truncated > 0 && (
        <p>
          {plural(truncated, "record")} of {count(kept)} would lose some of <code>Logs</code> and{" "}
          <code>Exceptions</code>, which hold 16,384 characters together. The cut is marked.
        </p>
      )}
      {filtered + sampled_out > 0 && <NotKept preview={preview} />}
      {kept > 0 && <Written preview={preview} />}
    </>
  );
};

/** The counts in words. */
export function sentence({ events, kept, filtered, sampled_out }: PreviewView): string {
  if (kept === events) return `All of ${plural(events, "event")} would be shipped.`;
  const why = [
    ...(filtered > 0 ? [`${count(filtered)} would be filtered`] : []),
    ...(sampled_out > 0 ? [`${count(sampled_out)} sampled out`] : []),
  ];
  return `${count(kept)} of ${plural(events, "event")} would be shipped; ${why.join(", and ")}.`;
}

/** Shares of a bar of 1,000. What is not there takes no room, and what is there is never too thin to be seen. */
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

/** Numbers as they are spoken of: `1, 3–7`. They grow. */
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
      columns={[{ label: "Why" }, { label: "Events", figures: true }, { label: "Which, from the oldest" }]}
      rows={(["filtered", "sampled_out"] as const)
        .map((reason) => [reason, preview.not_kept.filter((each) => each.reason === reason)] as const)
        .filter(([, those]) => those.length > 0)
        .map(([reason, those]) => [
          REASONS[reason],
          count(those.length),
          `number ${ranges(those.map(({ index }) => index + 1))}`,
        ])}
    />
  </details>
);

const Written: FC<{ preview: PreviewView }> = ({ preview: { records, kept, objects } }) => {
  const shown = records.slice(0, SHOWN);
  return (
    <>
      <h3>As they would be written</h3>
      <section class="scroll" tabindex={0} aria-label="Records as they would be written">
        <pre>
          <code>
            {shown.map(({ text }) => (
              <>
                <Foreign text={text.replace(/\n$/, "")} max={SHOWN_CHARACTERS} />
                {"\n"}
              </>
            ))}
          </code>
        </pre>
      </section>
      {kept > shown.length && <p class="quiet">… and {plural(kept - shown.length, "more record")}.</p>}
      <Table
        caption="Objects that these records would make"
        columns={[
          { label: "Day" },
          { label: "Content type" },
          { label: "Records", figures: true },
          { label: "Before compression", figures: true },
        ]}
        rows={objects.map((object) => [object.day, object.content_type, count(object.records), bytes(object.bytes)])}
      />
    </>
  );
};
