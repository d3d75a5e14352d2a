import type { FC } from "hono/jsx";
import { duration, stamp } from "../../../base/words.ts";

/** A time in UTC, to the second, or as far apart. @param at in ms since the epoch, or RFC 3339. */
export const Time: FC<{ at: number | string; short?: boolean; stepMs?: number }> = ({ at, short, stepMs = 1_000 }) => {
  const iso = new Date(at).toISOString();
  const text = stamp(at, stepMs).slice(short === true ? 11 : 0);
  return (
    <time datetime={iso} title={iso}>
      {text} UTC
    </time>
  );
};

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
