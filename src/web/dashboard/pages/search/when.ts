import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../../base/time.ts";

/** What a search around a moment takes in before it, and after it, in ms. */
const AROUND_MS = 15 * MINUTE_MS;

const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const UNIT_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** `2h ago`, `30 min`, `3 days ago`. */
const BACK = /^(\d{1,5}) ?(m|min|minutes?|h|hours?|d|days?)(?: ago)?$/i;

/** A day, a time of it, or both: `yesterday 15:00`, `11-23 15:07:21.000`, `3pm +01:00`. */
const WRITTEN = new RegExp(
  [
    /^(?:(?:(?<year>\d{4})-)?(?<month>\d\d)-(?<date>\d\d)|(?<word>today|yesterday|(?:sun|mon|tue|tues|wed|wednes|thu|thurs|fri|sat|satur)(?:day)?))?/,
    /(?:(?:^|[ T]|, )(?<hour>\d{1,2})(?::(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9}))?)?)? ?(?<half>am|pm)?)?/,
    /(?: ?(?<named>z|utc|[+-]\d\d:?\d\d))?$/,
  ]
    .map(({ source }) => source)
    .join(""),
  "i",
);

/** A time that a person wrote, in ms since the epoch. `endMs`: of a day without a time of it. */
interface Written {
  ms: number;
  endMs: number | null;
}

/**
 * The time from `since` to `until`; a day belongs to it whole.
 * @param backMs how long before its end it begins, where `since` is "".
 * @throws RangeError with the text, if it is no time, or the zone is none.
 */
export function between(since: string, until: string, backMs: number, zone: string, nowMs: number): [number, number] {
  const end = until === "" ? { ms: nowMs, endMs: null } : read(until, zone, nowMs);
  const endMs = end.endMs ?? end.ms;
  return [since === "" ? endMs - backMs : read(since, zone, nowMs).ms, endMs];
}

/** Half an hour around a moment, or a whole day. @throws RangeError as {@link between}. */
export function around(text: string, zone: string, nowMs: number): [number, number] {
  const { ms, endMs } = read(text, zone, nowMs);
  return endMs === null ? [ms - AROUND_MS, ms + AROUND_MS] : [ms, endMs];
}

/**
 * Of a day that is not named, or not with its year, the latest on which the time is past.
 * @param zone of a text that names none: a name of the IANA database; "": UTC.
 */
function read(text: string, zone: string, nowMs: number): Written {
  if (text.toLowerCase() === "now") return { ms: nowMs, endMs: null };
  const [, amount, unit = ""] = BACK.exec(text) ?? [];
  if (amount !== undefined)
    return { ms: nowMs - Number(amount) * (UNIT_MS[unit.charAt(0).toLowerCase()] ?? 0), endMs: null };
  const parts = WRITTEN.exec(text)?.groups;
  if (parts === undefined || text === "") throw new RangeError(text);
  const shifts = shiftsIn(parts.named ?? (zone || "UTC"));
  const toMs = (wallMs: number): number => wallMs - shifts(wallMs - shifts(wallMs));
  const today = Math.floor((nowMs + shifts(nowMs)) / DAY_MS) * DAY_MS;
  const clockMs = parts.hour === undefined ? 0 : clockOf(parts);
  const days = daysOf(parts, today).filter((day) => !Number.isNaN(day + clockMs));
  const day = days.find((each) => toMs(each + clockMs) <= nowMs) ?? days[0];
  if (day === undefined) throw new RangeError(text);
  return { ms: toMs(day + clockMs), endMs: parts.hour === undefined ? toMs(day + DAY_MS) : null };
}

type Parts = Readonly<Record<string, string | undefined>>;

/** Days that may be meant, the latest first: their midnights, as if UTC. NaN: no such day. */
function daysOf({ year, month, date, word }: Parts, today: number): number[] {
  if (month !== undefined) {
    const years = year === undefined ? [0, 1].map((back) => new Date(today).getUTCFullYear() - back) : [Number(year)];
    return years.map((each) => {
      const day = new Date(Date.UTC(each, Number(month) - 1, Number(date)));
      return day.getUTCMonth() + 1 === Number(month) ? day.getTime() : Number.NaN;
    });
  }
  if (word === undefined) return [today, today - DAY_MS];
  const name = word.toLowerCase();
  if (name === "today") return [today];
  if (name === "yesterday") return [today - DAY_MS];
  const back = (new Date(today).getUTCDay() - WEEKDAYS.indexOf(name.slice(0, 3)) + 7) % 7;
  return [today - back * DAY_MS, today - (back + 7) * DAY_MS];
}

/** Since midnight, in ms. NaN: no such time of a day. */
function clockOf({ hour, minute = "0", second = "0", fraction = "", half }: Parts): number {
  const isHalf = half !== undefined;
  const hours = isHalf ? (Number(hour) % 12) + (half.toLowerCase() === "pm" ? 12 : 0) : Number(hour);
  if (Number(hour) > (isHalf ? 12 : 23) || Number(minute) > 59 || Number(second) > 59) return Number.NaN;
  return (
    hours * HOUR_MS + Number(minute) * MINUTE_MS + Number(second) * 1_000 + Number(fraction.padEnd(3, "0").slice(0, 3))
  );
}

/**
 * How far the clocks of a zone are ahead of UTC at a time, in ms.
 * @throws RangeError if there is no such zone.
 */
function shiftsIn(zone: string): (ms: number) => number {
  if (/^(?:z|utc)$/i.test(zone)) return () => 0;
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  const fixed = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS * (sign === "-" ? -1 : 1);
  if (sign !== undefined) return () => fixed;
  let clock: Intl.DateTimeFormat;
  try {
    clock = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
  } catch {
    throw new RangeError(zone);
  }
  return (ms) => {
    const name = clock.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value ?? "";
    return shiftsIn(name.replace("GMT", "").slice(0, 6) || "UTC")(ms);
  };
}
