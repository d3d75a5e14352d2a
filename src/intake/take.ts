import { free, isValidUtf8 } from "../bytes.ts";
import { whyNotJson } from "../filter/json-fault.ts";
import { API_BODY_MAX_BYTES, EVENTS_MAX_COUNT } from "../limits.ts";
import type { Memory, Share } from "../memory.ts";
import type { Platform } from "../platform.ts";
import type { MessageForm } from "../queue/message.ts";
import type { TakenField } from "../record/fields.ts";
import type { Fault } from "../record/record.ts";
import type { Source } from "../record/source.ts";
import { type Early, earlyParts, KeptEntries } from "./audience.ts";
import { decodeUtf8, markLength, NO_UTF8 } from "./body.ts";
import { type FoundEvents, findEvents, type Located, mapEvents } from "./events.ts";
import { type FirstCopy, firstCopy, type Keys, REGISTER_MS } from "./first-copy.ts";
import { keyedIds, randomIds } from "./ids.ts";
import { type PackedMessage, type PackingContext, RecordPacker } from "./packing.ts";
import { SEND_MS, type Sending, sendMessages } from "./send.ts";

export interface TakeRequest {
  /** What the body takes at most, in bytes. */
  room: number;
  /**
   * Reads the body, decompressed: one event, a JSON array of events, or NDJSON. It is freed when it
   * was packed.
   */
  read(): Promise<Uint8Array>;
  ndjson: boolean;
  /** null: none. With it, repeating the same body changes nothing. */
  idempotencyKey: string | null;
}

export type Taken =
  | { ok: true; accepted: number; unknownKeys: string[] }
  /** Nothing was taken. */
  | { ok: false; status: 400 | 413; faults: Fault[] }
  /** Nothing was taken, and nothing was read: there is no room for it now. */
  | { ok: false; status: 503; message: string };

export interface TakeContext extends Sending {
  memory: Pick<Memory, "take">;
  keys: Keys;
  platform: Pick<Platform, "now" | "sleep">;
  defaultScriptName: string;
  /** As in {@link PackingContext}. */
  form?: MessageForm;
  /** Of the events. */
  source: Source;
  /** Of events, which are taken; absent: none. */
  extraFields?: readonly TakenField[];
  /** The way to live viewers; absent: the consumer alone. */
  early?: Early;
}

/** How many dropped keys an answer names, and how many characters of each. */
const UNKNOWN_KEYS_MAX = 100;
const UNKNOWN_KEY_MAX = 64;

/**
 * Takes events of HTTP and RPC, all or none, once there is room for them.
 * @returns after the queue has taken all of them.
 * @throws SendError if it did not; some may have been taken, so only a request with a key is safe
 *   to repeat. RegisterError if it is unknown what the first copy of such a request was; nothing
 *   was taken then.
 */
export async function takeEvents(request: TakeRequest, context: TakeContext): Promise<Taken> {
  const share = await context.memory.take(request.room);
  if (share === null)
    return { ok: false, status: 503, message: "too much is under way; nothing was taken: repeat the request" };
  try {
    const packed = await readAndPack(request, context, share);
    if (!packed.ok) return packed;
    const { messages, kept, accepted, unknownKeys } = packed;
    share.set(messages.reduce((sum, message) => sum + sizeOf(message), kept?.bytes ?? 0));
    const allMs = request.idempotencyKey === null ? SEND_MS : SEND_MS - REGISTER_MS;
    await sendMessages(messages, context, allMs, freeMessages);
    if (kept?.entries) context.early?.show(earlyParts(messages, kept.entries, context.source));
    return { ok: true, accepted, unknownKeys: named(unknownKeys) };
  } finally {
    share.release();
  }
}

function freeMessages(messages: readonly PackedMessage[]): void {
  for (const { body, blob } of messages) {
    free(body);
    if (blob !== null) free(blob.body);
  }
}

function sizeOf({ body, blob }: PackedMessage): number {
  return body.length + (blob?.body.length ?? 0);
}

/** The body ends with this call: nothing holds it while its messages are sent. */
async function readAndPack(request: TakeRequest, context: TakeContext, share: Share): Promise<PackedEvents> {
  const bytes = await request.read();
  share.set(bytes.length);
  try {
    return await packBody(bytes, request, context);
  } finally {
    free(bytes);
  }
}

async function packBody(
  bytes: Uint8Array,
  { ndjson, idempotencyKey: key }: TakeRequest,
  context: TakeContext,
): Promise<PackedEvents> {
  const { defaultScriptName: settings, source, form, extraFields } = context;
  const kept = context.early?.mayWatch() ? new KeptEntries() : null;
  const written = { source, ...(form && { form }) };
  const nowMs = context.platform.now();
  const found = foundIn(bytes, ndjson);
  if (!found.ok) return found;
  if (key === null)
    return packEvents(
      found,
      { takenInMs: nowMs, ...written, idOf: randomIds(), keyed: false },
      settings,
      extraFields,
      kept,
    );
  const first = await firstCopy({ key, body: bytes, settings, nowMs }, context);
  const packing = { ...packingOf(key, bytes, first, nowMs), ...written };
  // Of a repeat, only the ledger knows whether it is new.
  const keptOfFirst = first.takenInMs < packing.takenInMs ? null : kept;
  return packEvents(found, packing, first.settings, extraFields, keptOfFirst);
}

type Refused = Taken & { ok: false; status: 400 | 413 };
type Found = FoundEvents & { ok: true };

function foundIn(bytes: Uint8Array, ndjson: boolean): Found | Refused {
  if (!isValidUtf8(bytes)) return refused(400, "", NO_UTF8);
  const found = findEvents(bytes, ndjson);
  if (found.ok) return found;
  if (found.kind === "not_json") return refused(400, "", notJson(bytes));
  return refused(413, "", `at most ${EVENTS_MAX_COUNT} events a request`);
}

/** Says where, of a body that is small enough to be searched beside everything else. */
function notJson(bytes: Uint8Array): string {
  const text = bytes.length <= API_BODY_MAX_BYTES ? decodeUtf8(bytes) : null;
  return `the body is not JSON${text?.ok === true ? `: ${whyNotJson(text.value, markLength(bytes))}` : ""}`;
}

type PackedEvents =
  | {
      ok: true;
      messages: readonly PackedMessage[];
      /** Their records, for live viewers; null: these are not shown early. */
      kept: KeptEntries | null;
      accepted: number;
      unknownKeys: string[];
    }
  | Refused;

/** Checks, maps and packs the events of a body, one at a time. @param kept is added to. */
function packEvents(
  found: Found,
  packing: PackingContext,
  defaultScriptName: string,
  extraFields: TakeContext["extraFields"],
  kept: KeptEntries | null,
): PackedEvents {
  const packer = new RecordPacker(packing);
  const takenInMs = packing.first?.takenInMs ?? packing.takenInMs;
  const context = { takenInMs, defaultScriptName, lenient: false, ...(extraFields && { extraFields }) };
  const mapped = mapEvents(found.events, context, (entry) => {
    packer.add(entry);
    kept?.add(entry);
  });
  if (!mapped.ok) return mapped;
  const packed = packer.finish();
  const { unknownKeys } = mapped;
  if (packed.ok) return { ok: true, messages: packed.messages, kept, accepted: found.count, unknownKeys };
  const message =
    extraFields !== undefined && packing.keyed
      ? "this event is too large, or too many extra fields are beside it in a request with a key: send fewer at once"
      : "this event is too large";
  const faults = packed.tooLarge.map((index) => ({ pointer: pointerAt(found.events, index), message }));
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

function refused(status: 400 | 413, pointer: string, message: string): Refused {
  return { ok: false, status, faults: [{ pointer, message }] };
}
