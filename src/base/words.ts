// How amounts and times are written: on pages, in alerts and findings, and in the terminal.

/** Made once: findings of many functions say many amounts. */
const AMOUNTS = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `12,345`. */
export function count(value: number): string {
  return AMOUNTS.format(value);
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

/** What something took, to three digits: `7 ms`, `0.5 ms`, `1.25 s`, `12.5 s`, `3 min`. */
export function took(ms: number): string {
  if (Math.abs(ms) < 1_000) return `${Number(ms.toPrecision(3))} ms`;
  return Math.abs(ms) < 90_000 ? `${Number((ms / 1_000).toPrecision(3))} s` : duration(ms);
}

/** A number that was measured: `12,345`, `12,345.7`, `0.0123`. */
export function figure(value: number): string {
  if (Number.isInteger(value)) return count(value);
  const digits = Math.abs(value) < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 1 };
  return value.toLocaleString("en", digits);
}

/**
 * `2026-11-20 15:00`, in UTC.
 * @param at in ms since the epoch, or RFC 3339. @param stepMs of times as far apart as this.
 */
export function stamp(at: number | string, stepMs = 60_000): string {
  const length = stepMs >= 60_000 ? 16 : stepMs >= 1_000 ? 19 : 23;
  return new Date(at).toISOString().slice(0, length).replace("T", " ");
}

/** `15:00`, in UTC. @param at as of {@link stamp}. */
export function clock(at: number | string): string {
  return stamp(at).slice(11);
}

/** `2026-11-20 15:00 to 16:00 UTC`; the second day, too, if it is another. As of {@link stamp}. */
export function timeSpan(since: number | string, until: number | string): string {
  const stepMs = new Date(until).getTime() - new Date(since).getTime();
  const [from, to] = [stamp(since, stepMs), stamp(until, stepMs)];
  return `${from} to ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to} UTC`;
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

/** `25 %`, `0.4 %`: of rates that need no more than that. */
export function share(part: number, whole: number): string {
  const percents = whole === 0 ? 0 : (part / whole) * 100;
  return `${percents > 0 && percents < 1 ? Number(percents.toPrecision(1)) : Math.round(percents)} %`;
}
