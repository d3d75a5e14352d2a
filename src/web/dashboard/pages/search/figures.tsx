import type { FC } from "hono/jsx";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../../base/time.ts";
import { count, plural, stamp } from "../../../../base/words.ts";
import type { Facet } from "../../../../operate/search/count/facets.ts";
import { groupText, soFarWords } from "../../../../operate/search/words.ts";
import { Bars, type Series } from "../../parts/chart.tsx";
import { Foreign, visible } from "../../parts/foreign.tsx";
import type { FunctionVersionView } from "../../views/account.ts";
import { marksOf } from "../functions/health.tsx";
import { type Asked, exactly, FACETS, searchPath, withValue } from "./address.ts";
import { ENDS, type Sums } from "./sums.ts";

/** Bars of the histogram, at most; those at its ends may be cut. */
const BARS_MAX = 60;

/** Slots of a count, from the shortest. */
const SLOTS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => ({ every: `${n}s`, ms: n * 1_000 })),
  ...[1, 2, 3, 5, 10, 15, 30].map((n) => ({ every: `${n}m`, ms: n * MINUTE_MS })),
  ...[1, 2, 3, 6, 12].map((n) => ({ every: `${n}h`, ms: n * HOUR_MS })),
] as const;

/** Values of a facet that are shown. */
const VALUES_SHOWN = 8;

/** Of a search that is longer, in characters, values have no links: each repeats it. */
const LINK_MAX = 1_000;

export interface Span {
  sinceMs: number;
  untilMs: number;
}

/** The slots that a time is counted by, and how much of it each of its bars shows. */
export function slotsOf({ sinceMs, untilMs }: Span): { every: string; barMs: number } {
  const spanMs = untilMs - sinceMs;
  const slot = SLOTS.find(({ ms }) => spanMs <= BARS_MAX * ms);
  if (slot !== undefined) return { every: slot.every, barMs: slot.ms };
  return { every: "1d", barMs: DAY_MS * Math.ceil(spanMs / DAY_MS / BARS_MAX) };
}

/**
 * How many records, in large, and over time. @param versions of the Worker that is asked for.
 * @param isDraft it is soon replaced: without links and
 * table. @param isWhole all is counted.
 */
export const Histogram: FC<{
  sums: Sums;
  span: Span;
  asked: Asked;
  versions: readonly FunctionVersionView[];
  isDraft: boolean;
  isWhole: boolean;
}> = ({ sums, span: { sinceMs, untilMs }, asked, versions, isDraft, isWhole }) => {
  const { barMs } = slotsOf({ sinceMs, untilMs });
  const firstMs = Math.floor(sinceMs / barMs) * barMs;
  const bars = Array.from({ length: Math.ceil((untilMs - firstMs) / barMs) }, (_, i) => {
    const [fromMs, toMs] = [firstMs + i * barMs, firstMs + (i + 1) * barMs];
    return { fromMs: Math.max(sinceMs, fromMs), toMs: Math.min(untilMs, toMs), values: [0, 0, 0] };
  });
  for (const [at, ends] of sums.slots) {
    const bar = bars[Math.floor((at - firstMs) / barMs)];
    if (bar !== undefined) bar.values = bar.values.map((sum, end) => sum + (ends[end] ?? 0));
  }
  const { atMs, ends, total } = sums;
  const isOldest = asked.order === "oldest";
  const isKnown = ({ fromMs, toMs }: Bar): boolean =>
    isWhole || (atMs !== null && (isOldest ? toMs <= atMs : fromMs >= atMs));
  const tones: readonly Series["tone"][] = ["bar", "bad", "faint"];
  // Since when something goes on.
  const beginning = bars.find(({ values }) => values.some((value) => value > 0));
  const begins = beginning && isWhole ? ` The first: ${stamp(beginning.fromMs, barMs)} UTC.` : "";
  const [, failed, other] = ends;
  return (
    <>
      <p class="total">
        <strong>{count(total)}</strong> {total === 1 ? "record" : "records"}
        {!isWhole && <span class="quiet">{soFarWords(atMs, isOldest ? "oldest" : "newest")}</span>}
      </p>
      <Bars
        id="over-time"
        title="Over time"
        sentence={`${plural(total, "record")} from ${stamp(sinceMs, barMs)} to ${stamp(untilMs, barMs)} UTC, ${count(failed)} failed, ${count(other)} with another outcome.${begins}`}
        buckets={bars.map(({ fromMs, toMs, values }) => {
          const label = stamp(fromMs, barMs);
          const isEmpty = values.every((value) => value === 0);
          const href = isEmpty || isDraft ? undefined : searchPath({ ...asked, ...exactly(fromMs, toMs), cursor: "" });
          return { label, short: label.slice(5), href };
        })}
        series={ENDS.map((name, end) => ({
          name: `${name} ${count(ends[end] ?? 0)}`,
          tone: tones[end] ?? "bar",
          values: bars.map(({ values }) => values[end] ?? 0),
        }))}
        format={count}
        range={{
          href: searchPath({ ...asked, last: "", since: "", until: "", at: "", zone: "", cursor: "" }),
          times: [sinceMs, firstMs, barMs, untilMs],
        }}
        unknown={bars.map((bar) => !isKnown(bar))}
        marks={marksOf(
          versions.map(({ first_seen: at, ...rest }) => ({ ...rest, at })),
          bars.map(({ fromMs }) => fromMs),
          untilMs,
        )}
        hasTable={!isDraft}
      />
    </>
  );
};

interface Bar {
  fromMs: number;
  toMs: number;
}

/** Values by name, with how many records have which: each leads to those, and to others. */
export const Facets: FC<{ facets: readonly Facet[]; asked: Asked }> = ({ facets, asked }) => (
  <section class="panel facets" id="facets" aria-labelledby="facets-title">
    <details open>
      <summary>
        <h2 id="facets-title">Values</h2>
      </summary>
      {facets.length === 0 && <p class="quiet">The most frequent ones stand here when the records are counted.</p>}
      {facets.map((facet) => (
        <FacetList facet={facet} asked={asked} />
      ))}
    </details>
  </section>
);

const FacetList: FC<{ facet: Facet; asked: Asked }> = ({ facet: { name, values, other, overflow }, asked }) => {
  const isPinned = !FACETS.some((facet) => facet === name);
  const pins = asked.pins.split(",").filter((pin) => pin !== name);
  const rest = values.slice(VALUES_SHOWN).reduce((sum, { records }) => sum + records, other);
  const isLong = asked.q.length + asked.filter.length > LINK_MAX;
  const known = values.filter(({ value }) => value !== null).length;
  return (
    <div class="facet">
      <h3>
        <Foreign text={name} max={100} />{" "}
        {known > VALUES_SHOWN && (
          <span class="quiet">
            {other > 0 || overflow ? "over " : ""}
            {plural(known, "value")}
          </span>
        )}{" "}
        {isPinned && (
          <a class="unpin" href={searchPath({ ...asked, pins: pins.join(), cursor: "" })}>
            Unpin<span class="unseen"> {visible(name.slice(0, 100))}</span>
          </a>
        )}
      </h3>
      <ul>
        {values.slice(0, VALUES_SHOWN).map(({ value, records }) => {
          const text = groupText(value);
          const shown = value === null ? <i>none</i> : <Foreign text={text} max={80} />;
          const [is, isNot] = [false, true].map((isAgainst) =>
            isLong ? null : withValue(asked, name, value, isAgainst),
          );
          return (
            <li>
              {is ? <a href={searchPath(is)}>{shown}</a> : <span>{shown}</span>}
              <span class="figures">{count(records)}</span>
              {isNot && (
                <a href={searchPath(isNot)} title="only without this value">
                  ≠<span class="unseen">{` not ${name} ${visible(text.slice(0, 80))}`}</span>
                </a>
              )}
            </li>
          );
        })}
      </ul>
      {rest > 0 && <p class="quiet">others {count(rest)}</p>}
      {overflow && <p class="quiet">Too many values: each may have more.</p>}
    </div>
  );
};
