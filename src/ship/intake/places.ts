import { createHash } from "node:crypto";
import { SENT_PLACES_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, type Platform } from "../../base/platform.ts";
import { dayOf, HOUR_MS, hourOf, MINUTE_MS } from "../../base/time.ts";
import type { Source } from "../../formats/record/source.ts";
import { traceLog } from "../log/trace-log.ts";

/** How long the log may take to answer, in ms; without an answer, the events are taken. */
const ASK_MS = 2_000;

/** Places that an isolate remembers at most. */
const KNOWN_MAX = 20_000;

/** What a refused sender is told. */
export const TOO_MANY_PLACES = `within an hour, a sender may name ${SENT_PLACES_MAX} functions and far-away days (other than yesterday, today and tomorrow, UTC; each counts once a minute); nothing was taken. Send events in the order of their days, under fixed names, and repeat this request in the next hour`;

/** What of an event may be an object of its own: its function, and a far day, each minute. */
export function placesOf(scriptName: string, day: number, nowMs: number): string[] {
  const isFar = Math.abs(day - dayOf(nowMs)) > 1;
  return [`/${scriptName}`, ...(isFar ? [`${day} ${Math.floor(nowMs / MINUTE_MS)}`] : [])];
}

/** Asks the log whether a sender may name what it has not named to this isolate in this hour. */
export class KnownPlaces {
  #hour = 0;
  readonly #known = new Set<string>();

  /** @returns how many seconds the sender is to wait; null: none. */
  async waitS(
    source: Source,
    places: ReadonlySet<string>,
    { TRACE_LOG }: Pick<Env, "TRACE_LOG">,
    { now }: Pick<Platform, "now">,
  ): Promise<number | null> {
    const hour = hourOf(now());
    if (hour !== this.#hour || this.#known.size > KNOWN_MAX) this.#known.clear();
    this.#hour = hour;
    const fresh = [...places].map(short).filter((place) => !this.#known.has(`${source} ${place}`));
    if (fresh.length === 0) return null;
    try {
      // Of more of them, one too many says as much.
      const asked = fresh.slice(0, SENT_PLACES_MAX + 1);
      const isRoom = await answered("the log", ASK_MS, traceLog(TRACE_LOG, 0).admit(source, asked));
      if (!isRoom) return Math.ceil(((hour + 1) * HOUR_MS - now()) / 1_000);
      for (const place of fresh) this.#known.add(`${source} ${place}`);
    } catch (error) {
      log.warn("the log does not say whether a sender names too much", { error: errorText(error) });
    }
    return null;
  }
}

/** A name may be as long as an event. */
function short(place: string): string {
  return place.length <= 128 ? place : createHash("sha256").update(place).digest("base64");
}

/** Of this isolate. */
export const isolatePlaces = new KnownPlaces();
