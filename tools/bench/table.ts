/** Numbers as text, in columns. */

export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

export type Table = (header: readonly string[], rows: readonly (readonly string[])[]) => string;

/** Columns as wide as their content; the first to the left, numbers to the right. */
export const text: Table = (header, rows) => {
  const widths = header.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  return [line(header), ...rows.map(line)].map((row) => `  ${row}`).join("\n");
};

/** As in docs. */
export const markdown: Table = (header, rows) =>
  [header, header.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

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
