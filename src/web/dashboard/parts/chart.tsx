import type { FC, PropsWithChildren } from "hono/jsx";
import { Empty, figures, type Kind, MARKS, Table } from "./panel.tsx";

export interface Series {
  name: string;
  /** Beside states: `bar`, `second` and `third` tell apart; `faint` is in the background. */
  tone: Kind | "bar" | "second" | "third" | "faint";
  /** One per bucket, at least 0. */
  values: readonly number[];
}

export interface Bucket {
  /** In the table: `2026-11-20 12:00`. */
  label: string;
  /** Below the chart, for the first and the last bucket. */
  short: string;
  /** Where its bar, and its row of the table, lead. */
  href?: string | undefined;
}

export interface BarsProps {
  /** Unique on the page. */
  id: string;
  title: string;
  /** What the chart shows, for a reader without it. */
  sentence: string;
  buckets: readonly Bucket[];
  /** From bottom to top. */
  series: readonly Series[];
  format: (value: number) => string;
  /** The table, if it differs from the series. */
  table?: { columns: readonly string[]; rows: readonly (readonly string[])[] };
  /** Default: true. */
  hasTable?: boolean;
  /** The sentence, and the words of marks, stand elsewhere on the page. */
  isSaid?: boolean;
  /** By bucket: its value may still grow. */
  unknown?: readonly boolean[];
  /** What happened in a bucket: a line at its beginning, and words below the chart. */
  marks?: readonly { bucket: number; words: string }[];
  /**
   * Neighbouring bars can be chosen, which leads to this address with their time.
   * @param times when the chart begins, its first bar, how long a bar is, and when the chart ends,
   *   in ms.
   */
  range?: { href: string; times: readonly [sinceMs: number, firstMs: number, stepMs: number, untilMs: number] };
}

/** The drawing is stretched to the available space. */
const HEIGHT = 100;
const STEP = 10;
const GAP = 2;

/** The parts of a stack, measured from the top. A value above 0 is at least one unit high. */
export function stack(values: readonly number[], most: number): { y: number; height: number }[] {
  let from = HEIGHT;
  return values.map((value) => {
    const height = value > 0 && most > 0 ? Math.max(1, (value / most) * HEIGHT) : 0;
    from = Math.max(0, from - height);
    return { y: from, height };
  });
}

/**
 * Bars over time, one stack per bucket, with a sentence and a table. The drawing holds no text, so
 * that it can be stretched.
 */
export const Bars: FC<BarsProps> = ({
  id,
  title,
  sentence,
  buckets,
  series,
  format,
  table,
  hasTable = true,
  isSaid = false,
  unknown,
  marks = [],
  range,
}) => {
  const totals = buckets.map((_, i) => series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
  const most = Math.max(0, ...totals);
  const isLinked = buckets.some(({ href }) => href !== undefined);
  const { columns, rows } = table ?? {
    columns: series.map(({ name }) => name),
    rows: buckets.map((_, i) => series.map(({ values }) => format(values[i] ?? 0))),
  };
  return (
    <figure class="chart" aria-labelledby={`${id}-title`} data-range={range?.href} data-times={range?.times.join(" ")}>
      <figcaption>
        <h3 id={`${id}-title`}>{title}</h3>
        {series.length > 1 && (
          <p class="legend">
            {series.map(({ name, tone }) => (
              <span>
                <Swatch tone={tone} /> {name}
              </span>
            ))}
          </p>
        )}
      </figcaption>
      {most === 0 ? (
        <Empty title={sentence} />
      ) : (
        <>
          <p class="quiet axis">{format(most)}</p>
          <svg
            role="img"
            aria-label={sentence}
            aria-hidden={isLinked ? "true" : undefined}
            viewBox={`0 0 ${Math.max(1, buckets.length) * STEP - GAP} ${HEIGHT}`}
            preserveAspectRatio="none"
          >
            {buckets.map(({ label, href }, i) => (
              <Bar href={href} x={i * STEP} class={unknown?.[i] ? "unknown" : undefined}>
                <title>{`${label} UTC: ${columns.map((name, at) => `${name} ${rows[i]?.[at] ?? ""}`).join(", ")}`}</title>
                {stack(
                  series.map(({ values }) => values[i] ?? 0),
                  most,
                ).map(({ y, height }, at) =>
                  height === 0 ? null : (
                    <rect
                      class={`tone-${series[at]?.tone}`}
                      x={i * STEP}
                      y={y.toFixed(2)}
                      width={STEP - GAP}
                      height={height.toFixed(2)}
                    />
                  ),
                )}
              </Bar>
            ))}
            {marks.map(({ bucket, words }) => (
              <rect class="tone-mark" x={bucket * STEP - GAP} y="0" width={GAP} height={HEIGHT}>
                <title>{words}</title>
              </rect>
            ))}
          </svg>
          <p class="quiet axis ends">
            <span>{buckets[0]?.short}</span>
            <span>{buckets.at(-1)?.short} UTC</span>
          </p>
          <p class={isSaid ? "unseen" : undefined}>{sentence}</p>
          {!isSaid && <Marks of={marks} />}
          {hasTable && (
            <details>
              <summary>
                As a table<span class="unseen">: {title}</span>
              </summary>
              <Table
                caption={title}
                columns={["From (UTC)", ...columns.map(figures)]}
                rows={buckets.map(({ label, href }, i) => [
                  href === undefined ? label : <a href={href}>{label}</a>,
                  ...(rows[i] ?? []),
                ])}
              />
            </details>
          )}
        </>
      )}
    </figure>
  );
};

/** What happened, in words. */
export const Marks: FC<{ of: NonNullable<BarsProps["marks"]> }> = ({ of }) =>
  of.length === 0 ? null : (
    <p class="quiet">
      <span class="tone-mark" aria-hidden="true">
        ▏
      </span>{" "}
      {of.map(({ words }) => words).join(", ")}
    </p>
  );

/**
 * A link is for pointers, over the whole height, as a bar may be one pixel high: for the keyboard
 * and for screen readers the table has the same ones.
 */
const Bar: FC<PropsWithChildren<{ href: string | undefined; x: number; class: string | undefined }>> = ({
  href,
  x,
  children,
  ...more
}) =>
  href === undefined ? (
    <g {...more}>{children}</g>
  ) : (
    <a href={href} tabindex={-1} {...more}>
      {children}
      <rect class="fill-none" x={x} y="0" width={STEP - GAP} height={HEIGHT} />
    </a>
  );

const Swatch: FC<{ tone: Series["tone"] }> = ({ tone }) => (
  <span class={`tone-${tone}`} aria-hidden="true">
    {Object.hasOwn(MARKS, tone) ? MARKS[tone as Kind] : "■"}
  </span>
);

/** A share as a line; the number is shown beside it. @param share from 0 to 1. */
export const Share: FC<{ share: number; tone?: Series["tone"] }> = ({ share, tone = "bar" }) => {
  const width = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0)) * 100;
  return (
    <svg class="share" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class={`tone-${tone}`} x="0" y="0" width={width.toFixed(2)} height="1" />
    </svg>
  );
};
