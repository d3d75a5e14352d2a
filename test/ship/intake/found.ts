import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { type FoundEvents, findEvents, type Located } from "../../../src/ship/intake/events.ts";

export type Parsed = { ok: true; events: Located[] } | Extract<FoundEvents, { ok: false }>;

/** The events of a body, as intake finds them. */
export function foundIn(text: string, ndjson: boolean): Parsed {
  const found = findEvents(encodeUtf8(text), ndjson);
  if (!found.ok) return found;
  const events = [...found.events];
  if (events.length !== found.sizes.length) throw new Error(`${events.length} events, not ${found.sizes.length}`);
  return { ok: true, events };
}

/** The same, parsed. */
export function parsedFrom(text: string, ndjson: boolean): Parsed {
  const found = foundIn(text, ndjson);
  if (!found.ok) return found;
  const parsed = (event: Located): Located =>
    "parse" in event ? { pointer: event.pointer, value: event.parse().value } : event;
  return { ok: true, events: found.events.map(parsed) };
}
