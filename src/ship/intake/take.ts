import { free, isValidUtf8, decodeUtf8 as textOf } from "../../base/bytes.ts";
import type { Fault } from "../../base/errors.ts";
import { API_BODY_MAX_BYTES, EVENTS_MAX_COUNT } from "../../base/limits.ts";
import type { Memory, Share } from "../../base/memory.ts";
import type { Platform } from "../../base/platform.ts";
import type { IntakeConfig } from "../../config.ts";
import { whyNotJson } from "../../formats/filter/json-fault.ts";
import type { Source } from "../../formats/record/source.ts";
import { decodeUtf8, markLength, NO_UTF8 } from "./body.ts";
import { type AcceptedEvents, type FoundEvents, findEvents, type Located, mapEvents } from "./events.ts";
import { cutsOf, keyedIds, randomIds } from "./ids.ts";
import type { KeyShards } from "./key-shards.ts";
import { type PackedMessage, type PackingContext, RecordPacker } from "./packing.ts";
import { TOO_MANY_PLACES } from "./places.ts";
import { REQUEST_DEADLINES, type Sending, sendMessages } from "./send.ts";
import { type Early, earlyParts, KeptEntries } from "./viewers.ts";

export interface TakeRequest {
  /** What the body takes at most, in bytes. */
  room: number;
  /**
   * Reads the body, decompressed: events one after the other, an array of them, or NDJSON. It is
   * freed when it was packed.
   */
  read(): Promise<Uint8Array>;
  ndjson: boolean;
  /** null: none. With it, repeating the same body changes nothing. */
  idempotencyKey: string | null;
}

export type Taken =
  | ({ ok: true; accepted: number } & Omit<AcceptedEvents, "lines">)
  /** Nothing was taken. */
  | { ok: false; status: 400 | 413; faults: Fault[] }
  /** Nothing was taken, and nothing was read: there is no room for it now. */
  | { ok: false; status: 503; message: string }
  /** Nothing was taken: the sender names too much. */
  | { ok: false; status: 429; message: string; retryAfterS: number };

export interface TakeContext
  extends Sending,
    Pick<PackingContext, "forTakeover">,
    Pick<IntakeConfig, "defaultScriptName" | "extraFields" | "shards"> {
  /** Asked for a request with a key. */
  keyShards(): Promise<KeyShards>;
  memory: Pick<Memory, "take">;
  platform: Pick<Platform, "now" | "sleep">;
  /** Of the events. */
  source: Source;
  /** The way to live viewers; absent: the consumer alone. */
  early?: Early;
  /** How many seconds the sender is to wait before it names these; absent, or null: none. */
  waitS?: (places: ReadonlySet<string>) => Promise<number | null>;
}

/** How many dropped keys an answer names, and how many characters of each. */
const UNKNOWN_KEYS_MAX = 100;
const UNKNOWN_KEY_MAX = 64;

/**
 * Takes events of HTTP and RPC, all or none, once there is room for them.
 * @returns after the queue or the log has taken all of them.
 * @throws SendError if neither did; some may have been taken, so only a request with a key is safe
 *   to repeat.
 */
export async function takeEvents(request: TakeRequest, context: TakeContext): Promise<Taken> {
  const isKeyed = request.idempotencyKey !== null;
  const keyShards = isKeyed ? await context.keyShards() : null;
  if (keyShards?.ok === false) return { ok: false, status: 503, message: keyShards.why };
  const share = await context.memory.take(request.room);
  if (share === null)
    return { ok: false, status: 503, message: "too much is under way; nothing was taken: repeat the request" };
  try {
    const packed = await readAndPack(request, context, share, keyShards?.shards ?? null);
    if (!packed.ok) return packed;
    const { messages, kept, accepted, unknownKeys, oddTimes, places } = packed;
    const retryAfterS = await context.waitS?.(places);
    if (retryAfterS) return { ok: false, status: 429, message: TOO_MANY_PLACES, retryAfterS };
    share.set(messages.reduce((sum, { body }) => sum + body.length, kept?.bytes ?? 0));
    const fresh = await sendMessages(messages, context, REQUEST_DEADLINES, freeMessages);
    const parts = kept?.entries ? earlyParts(messages, kept.entries, context.source) : [];
    // Whether the rest of a request with a key is new, only the consumer learns.
    const shown = isKeyed ? parts.filter(({ id }) => fresh.has(id)) : parts;
    if (shown.length > 0) context.early?.show(shown);
    return { ok: true, accepted, unknownKeys: named(unknownKeys), ...(oddTimes && { oddTimes }) };
  } finally {
    share.release();
  }
}

function freeMessages(messages: readonly PackedMessage[]): void {
  for (const { body } of messages) free(body);
}

/** The body ends with this call: nothing holds it while its messages are sent. */
async function readAndPack(
  request: TakeRequest,
  context: TakeContext,
  share: Share,
  keyShards: number | null,
): Promise<PackedEvents> {
  const bytes = await request.read();
  share.set(bytes.length);
  try {
    return packBody(bytes, request, context, keyShards);
  } finally {
    free(bytes);
  }
}

function packBody(
  bytes: Uint8Array,
  { ndjson, idempotencyKey: key }: TakeRequest,
  context: TakeContext,
  keyShards: number | null,
): PackedEvents {
  const { source, seal, shards, forTakeover } = context;
  const kept = context.early?.mayWatch() ? new KeptEntries() : null;
  const found = foundIn(bytes, ndjson);
  if (!found.ok) return found;
  const form = { ...(seal && { seal }), ...(forTakeover && { forTakeover }) };
  const written = { takenInMs: context.platform.now(), source, ...form };
  const packing: PackingContext =
    key === null || keyShards === null
      ? { ...written, idOf: randomIds(shards), keyed: false, shards }
      : { ...written, idOf: keyedIds(key, bytes), keyed: true, shards: keyShards };
  return packEvents(found, packing, context, kept);
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
  const why = text?.ok === true ? `: ${whyNotJson(text.value, markLength(bytes), true)}` : "";
  return `the body is not JSON${why}; send JSON objects, one after the other or in an array`;
}

type PackedEvents =
  | (Omit<AcceptedEvents, "lines"> & {
      ok: true;
      messages: readonly PackedMessage[];
      /** Their records, for live viewers; null: these are not shown early. */
      kept: KeptEntries | null;
      accepted: number;
      places: ReadonlySet<string>;
    })
  | Refused;

/** Checks, maps and packs the events of a body, one at a time. @param kept is added to. */
function packEvents(
  found: Found,
  packing: PackingContext,
  { defaultScriptName, extraFields }: TakeContext,
  kept: KeptEntries | null,
): PackedEvents {
  const expectedBytes = found.sizes.reduce((sum, size) => sum + size + 1, 0);
  const packer = new RecordPacker(packing, expectedBytes);
  const { takenInMs, keyed } = packing;
  const context = { takenInMs, defaultScriptName, lenient: false, ...(extraFields && { extraFields }) };
  const cuts = keyed ? cutsOf(found.sizes) : null;
  let n = 0;
  const mapped = mapEvents(found.events, context, (entry) => {
    packer.add(entry, cuts?.has(n++));
    kept?.add(typeof entry === "string" ? entry : textOf(entry));
  });
  if (!mapped.ok) return mapped;
  const packed = packer.finish();
  if (packed.ok) return { ...mapped, messages: packed.messages, kept, accepted: found.sizes.length };
  const message = "this event is too large";
  const faults = packed.tooLarge.map((index) => ({ pointer: pointerAt(found.events, index), message }));
  return { ok: false, status: 413, faults };
}

/** @returns the pointer of the n-th event. */
function pointerAt(events: Iterable<Located>, index: number): string {
  return [...events][index]?.pointer ?? "";
}

/** The dropped keys that an answer names. */
export function named(keys: readonly string[]): string[] {
  return keys.slice(0, UNKNOWN_KEYS_MAX).map((key) => key.slice(0, UNKNOWN_KEY_MAX));
}

function refused(status: 400 | 413, pointer: string, message: string): Refused {
  return { ok: false, status, faults: [{ pointer, message }] };
}
