import type { FC, PropsWithChildren } from "hono/jsx";

const WIDTH = 96;
const HEIGHT = 20;

/**
 * Amounts as bars, oldest first, relative to the largest. A value above 0 is always visible.
 * @param marked the part of each that is bad. @param children in words, in place of the drawing.
 */
export const Sparkline: FC<PropsWithChildren<{ values: readonly number[]; marked: readonly number[] }>> = ({
  values,
  marked,
  children,
}) => {
  const most = Math.max(...values, 1);
  return (
    <svg class="sparkline" role="img" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`}>
      <title>{children}</title>
      <path class="tone-faint" d={`M0 ${HEIGHT - 1}h${WIDTH}v1H0z`} />
      <path class="tone-bar" d={bars(values, most)} />
      <path class="tone-bad" d={bars(marked, most)} />
    </svg>
  );
};

/** One path: a bar each takes many times as much. */
function bars(values: readonly number[], most: number): string {
  const step = WIDTH / Math.max(values.length, 1);
  return values
    .map((value, i) => {
      const high = value <= 0 ? 0 : Math.max(2, Math.round((value / most) * HEIGHT));
      return high === 0 ? "" : `M${i * step} ${HEIGHT}v-${high}h${Math.max(step - 1, 0.5)}v${high}z`;
    })
    .join("");
}
