import type { FC } from "hono/jsx";

const WIDTH = 120;
const HEIGHT = 24;

/**
 * Amounts as bars, oldest first, relative to the largest. A value above 0 is always visible.
 * @param label in place of the drawing.
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
