import type { FC } from "hono/jsx";

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

/** A time in UTC, to the second. @param at in ms since the epoch, or RFC 3339. */
export const Time: FC<{ at: number | string; short?: boolean }> = ({ at, short }) => {
  const iso = new Date(at).toISOString();
  const text = short === true ? iso.slice(11, 19) : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
  return (
    <time datetime={iso} title={iso}>
      {text} UTC
    </time>
  );
};

/** ` Since 3 min ago.`; nothing, where it is not known. */
export const Since: FC<{ at: string | null; nowMs: number }> = ({ at, nowMs }) =>
  at === null ? null : (
    <span class="quiet">
      {" "}
      Since <Ago at={at} nowMs={nowMs} />.
    </span>
  );

/** `3 min ago`, or `in 3 min`, with the time on hover; the key `t` shows it in place. */
export const Ago: FC<{ at: number | string; nowMs: number }> = ({ at, nowMs }) => {
  const ms = nowMs - new Date(at).getTime();
  const iso = new Date(at).toISOString();
  const text = Math.abs(ms) < 2_000 ? "just now" : ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`;
  return (
    <time datetime={iso} title={iso} data-ago={text}>
      {text}
    </time>
  );
};
