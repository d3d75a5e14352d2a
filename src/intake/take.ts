import { isValidUtf8 } from "../bytes.ts";
import { EVENTS_MAX_COUNT } from "../limits.ts";
import type { Fault } from "../record/record.ts";
import { NO_UTF8 } from "./body.ts";
import { type FoundEvents, findEvents, type Located, mapEvents } from "./events.ts";
import { type FirstCopy, firstCopy, type Keys, REGISTER_MS } from "./first-copy.ts";
import { keyedIds, randomIds } from "./ids.ts";
import { type PackedMessage, type PackingContext, RecordPacker } from "./packing.ts";
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
  const { bytes, ndjson, idempotencyKey: key } = request;
  const { nowMs, defaultScriptName: settings } = context;
  const found = foundIn(bytes, ndjson);
  if (!found.ok) return found;
  const first = key === null ? null : await firstCopy({ key, body: bytes, settings, nowMs }, context);
  const packing =
    key === null || first === null
      ? { takenInMs: nowMs, idOf: randomIds(), keyed: false }
      : packingOf(key, bytes, first, nowMs);
  const packed = packEvents(found, packing, first?.settings ?? settings);
  if (!packed.ok) return packed;
  await sendMessages(packed.messages, context, first === null ? SEND_MS : SEND_MS - REGISTER_MS);
  return { ok: true, accepted: found.count, unknownKeys: named(packed.unknownKeys) };
}

type Refused = Taken & { ok: false };
type Found = FoundEvents & { ok: true };

function foundIn(bytes: Uint8Array, ndjson: boolean): Found | Refused {
  if (!isValidUtf8(bytes)) return refused(400, "", NO_UTF8);
  const found = findEvents(bytes, ndjson);
  if (found.ok) return found;
  if (found.kind === "not_json") return refused(400, "", "the body is not JSON");
  return refused(413, "", `at most ${EVENTS_MAX_COUNT} events a request`);
}

type PackedEvents = { ok: true; messages: readonly PackedMessage[]; unknownKeys: string[] } | Refused;

/** Checks, maps and packs the events of a body, one at a time. */
function packEvents(found: Found, packing: PackingContext, defaultScriptName: string): PackedEvents {
  const packer = new RecordPacker(packing);
  const takenInMs = packing.first?.takenInMs ?? packing.takenInMs;
  const mapped = mapEvents(found.events, { takenInMs, defaultScriptName, lenient: false }, (line) => packer.add(line));
  if (!mapped.ok) return mapped;
  const packed = packer.finish();
  if (packed.ok) return { ok: true, messages: packed.messages, unknownKeys: mapped.unknownKeys };
  const faults = packed.tooLarge.map((index) => ({
    pointer: pointerAt(found.events, index),
    message: "this event is too large",
  }));
  return { ok: false, status: 413, faults };
}

/** @returns the pointer of the n-th event. */
function pointerAt(events: Iterable<Located>, index: number): string {
  return [...events][index]?.pointer ?? "";
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

function refused(status: 400 | 413, pointer: string, message: string): Taken & { ok: false } {
  return { ok: false, status, faults: [{ pointer, message }] };
}
