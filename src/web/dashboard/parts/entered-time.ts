import { MINUTE_MS } from "../../../base/time.ts";
import { stamp } from "../../../base/words.ts";

/** To the minute, in the form's format. @param round `Math.ceil`: no earlier than that. */
export function minuteOf(ms: number, round = Math.floor): string {
  return stamp(round(ms / MINUTE_MS) * MINUTE_MS);
}

/** Converts an entered time for the API. No zone means UTC. Invalid text is the API's to refuse. */
export function timeEntered(text: string): string {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?$/.exec(text.trim()) ?? [];
  if (day === undefined) return text.trim();
  return `${day}T${time === undefined ? "00:00:00" : time.length === 5 ? `${time}:00` : time}Z`;
}
