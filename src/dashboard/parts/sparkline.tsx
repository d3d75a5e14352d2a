import type { FC } from "hono/jsx";

const WIDTH = 120;
const HEIGHT = 24;

/**
 * Amounts as bars, the oldest first. A bar is as high as its share of the highest; what is not nothing is seen.
 * @param label what it says, in words: whoever does not see it has that instead.
 */
export const Sparkline: FC<{ values: readonly number[]; label: string }> = ({ values, label }) => {
  const most = Math.max(...values, 1);
  const step = WIDTH / Math.max(values.length, 1);
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={label}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    >
      <title>{label}</title>
      <rect class="floor" x="0" y={HEIGHT - 1} width={WIDTH} height="1" />
      {values.map((value, i) => {
        if (value <= 0) return null;
        const high = Math.max(1.5, (value / most) * (HEIGHT - 1));
        return (
          <rect
            class="bar"
            x={round(i * step)}
            y={round(HEIGHT - high)}
            width={round(Math.max(step - 1, 0.5))}
            height={round(high)}
          />
        );
      })}
    </svg>
  );
};

function round(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}
