// How amounts are written: on pages, in alerts and findings, and in the terminal.

/** `12,345`. */
export function count(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 0 });
}

/** `1 record`, `2 records`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `1.2 MB`: powers of ten, as object stores bill. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let [amount, unit] = [value, 0];
  while (amount >= 999.5 && unit < units.length - 1) [amount, unit] = [amount / 1000, unit + 1];
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

/** `850 ms`, `12 s`, `3 min`, `2 h 5 min`, `4 d`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const s = Math.round(ms / 1_000);
  if (s < 90) return `${s} s`;
  const min = Math.round(s / 60);
  if (min < 90) return `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 48) return min % 60 === 0 || h >= 10 ? `${h} h` : `${h} h ${min % 60} min`;
  return `${Math.round(h / 24)} d`;
}

/** `$1.23`, `$0.0042`, `< $0.0001`. */
export function dollars(value: number): string {
  if (value > 0 && value < 0.0001) return "< $0.0001";
  if (value !== 0 && Math.abs(value) < 0.01) return `$${value.toPrecision(2)}`;
  return `$${value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** `November 2026`. @param month `2026-11`. */
export function monthInWords(month: string): string {
  const at = new Date(`${month}-01T00:00:00Z`);
  return at.toLocaleString("en", { month: "long", year: "numeric", timeZone: "UTC" });
}

/** `12.3 %`. Only nothing is 0 %, and only all is 100 %. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  const share = (part / whole) * 100;
  if (part < whole && share >= 99.95) return "> 99.9 %";
  return share < 0.1 ? "< 0.1 %" : `${share.toFixed(share >= 99.95 ? 0 : 1)} %`;
}
