import { EVENTS_MAX_COUNT } from "../limits.ts";
import type { Fault } from "../record/record.ts";
import { decodeUtf8 } from "./body.ts";
import { acceptEvents, parseEvents } from "./events.ts";
import { type FirstCopy, firstCopy, type Keys, REGISTER_MS } from "./first-copy.ts";
import { keyedIds, randomIds } from "./ids.ts";
import { type PackingContext, packRecords } from "./packing.ts";
import { SEND_MS, type Sending, sendMessages } from "./send.ts";

export interface TakeRequest {
  /** The decompressed body: one event, a JSON array of events, or NDJSON. */
  bytes: Uint8Array;
  ndjson: boolean;
  /** null: none. With it, repeating the same body changes nothing. */
  idempotencyKey: string | null;
}

export type Taken =
  | { ok: true; accepted: number; unknownKeys: string[] }
  /** Nothing was taken. */
  | { ok: false; status: 400 | 413; faults: Fault[] };

export interface TakeContext extends Sending {
  keys: Keys;
  defaultScriptName: string;
  nowMs: number;
}

/** How many dropped keys an answer names, and how many characters of each. */
const UNKNOWN_KEYS_MAX = 100;
const UNKNOWN_KEY_MAX = 64;

/**
 * Takes events of HTTP and RPC, all or none.
 * @returns after the queue has taken all of them.
 * @throws SendError if it did not; some may have been taken, so only a request with a key is safe
 *   to repeat. RegisterError if it is unknown what the first copy of such a request was; nothing
 *   was taken then.
 */
export async function takeEvents(request: TakeRequest, context: TakeContext): Promise<Taken> {
  const text = decodeUtf8(request.bytes);
  if (!text.ok) return refused(400, "", text.why);
  const parsed = parseEvents(text.value, request.ndjson);
  if (!parsed.ok && parsed.kind === "not_json") return refused(400, "", "the body is not JSON");
  if (!parsed.ok) return refused(413, "", `at most ${EVENTS_MAX_COUNT} events a request`);
  const key = request.idempotencyKey;
  const { nowMs } = context;
  const settings = context.defaultScriptName;
  const first = key === null ? null : await firstCopy({ key, body: request.bytes, settings, nowMs }, context);
  const events = acceptEvents(parsed.events, {
    takenInMs: first?.takenInMs ?? nowMs,
    defaultScriptName: first?.settings ?? settings,
    lenient: false,
  });
  if (!events.ok) return { ok: false, status: events.status, faults: events.faults };
  const packing =
    key === null || first === null
      ? { takenInMs: nowMs, idOf: randomIds(), keyed: false }
      : packingOf(key, request.bytes, first, nowMs);
  const packed = packRecords(events.lines, packing);
  if (!packed.ok) {
    const faults = packed.tooLarge.map((index) => ({
      pointer: parsed.events[index]?.pointer ?? "",
      message: "this event is too large",
    }));
    return { ok: false, status: 413, faults };
  }
  await sendMessages(packed.messages, context, first === null ? SEND_MS : SEND_MS - REGISTER_MS);
  return { ok: true, accepted: events.lines.length, unknownKeys: named(events.unknownKeys) };
}

/** A copy is taken in when it comes, but never before the first one, whatever clocks say. */
function packingOf(key: string, body: Uint8Array, first: FirstCopy, nowMs: number): PackingContext {
  const takenInMs = Math.max(nowMs, first.takenInMs);
  return { takenInMs, idOf: keyedIds(key, body, first.settings), keyed: true, first };
}

/** The dropped keys that an answer names. */
export function named(keys: readonly string[]): string[] {
  return keys.slice(0, UNKNOWN_KEYS_MAX).map((key) => key.slice(0, UNKNOWN_KEY_MAX));
}

function refused(status: 400 | 413, pointer: string, message: string): Taken {
  return { ok: false, status, faults: [{ pointer, message }] };
}
