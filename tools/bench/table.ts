/** Numbers as text, in columns. */

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** As docs have it, with columns as wide as their content; numbers to the right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, i) => Math.max(4, name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(" | ")} |`;
  return [header, header.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map(line).join("\n");
}

/** Three digits that count. */
export function amount(value: number): string {
  if (value >= 1e9) return `${amount(value / 1e9)}e9`;
  if (value >= 1e6) return `${amount(value / 1e6)}e6`;
  if (value >= 100) return count(value);
  return `${Number(value.toPrecision(value >= 1 ? 3 : 2))}`;
}

export function bytesText(value: number): string {
  const unit = value >= 1e9 ? 1e9 : value >= 1e6 ? 1e6 : value >= 1e3 ? 1e3 : 1;
  return `${amount(value / unit)} ${{ 1e9: "GB", 1e6: "MB", 1e3: "kB", 1: "B" }[unit]}`;
}

export function dollars(value: number): string {
  return `$${value.toFixed(value < 0.1 ? 4 : 2)}`;
}

/** The middle one; between two, half of both. @throws if there is none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new Error("there is no median of nothing");
  return (low + high) / 2;
}

/** A quarter of the values is below the first, and a quarter above the second. */
export function quartiles(values: readonly number[]): [low: number, high: number] {
  const sorted = values.toSorted((a, b) => a - b);
  const half = Math.ceil(sorted.length / 2);
  return [median(sorted.slice(0, half)), median(sorted.slice(-half))];
}
