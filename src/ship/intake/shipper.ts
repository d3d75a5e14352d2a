import { WorkerEntrypoint } from "cloudflare:workers";
import { encodeUtf8 } from "../../base/bytes.ts";
import { EVENTS_BODY_MAX_BYTES, IDEMPOTENCY_KEY_MAX } from "../../base/limits.ts";
import { isolateMemory } from "../../base/memory.ts";
import { platform } from "../../base/platform.ts";
import { readIntakeConfig } from "../../config.ts";
import { appendCall } from "./direct.ts";
import { isolateKeyShards } from "./key-shards.ts";
import { isolatePlaces } from "./places.ts";
import { takeEvents } from "./take.ts";
import { isolateTakeovers } from "./takeovers.ts";
import { earlyCall, isolateViewers } from "./viewers.ts";

export interface ShipOptions {
  /** 1 to 255 characters. Repeating a call with the same key changes nothing. */
  idempotencyKey?: string;
}

export interface Shipped {
  accepted: number;
  /** Top-level keys that were dropped from events, sorted. */
  unknownKeys: string[];
  /** Times that can only be in another unit than milliseconds, a sentence each; absent: none. */
  oddTimes?: string[];
}

/**
 * The entrypoint for service bindings: `env.LOGSHIP.ship(events)` from any function of the same
 * account; others cannot bind it. Takes the same events as HTTP intake, with the same limits.
 */
export class Shipper extends WorkerEntrypoint<Env> {
  /**
   * @param events one event or an array of them: trace items as `tail()` gives them, or records.
   * @returns after the queue or the log has taken all of them.
   * @throws TypeError naming every fault with its place (`/3/EventTimestampMs`): nothing was taken.
   * Any other error: some may have been taken; call again with the same key.
   */
  async ship(events: unknown, options: ShipOptions = {}): Promise<Shipped> {
    if (typeof options !== "object" || options === null) throw new TypeError("options must be an object");
    const key = options.idempotencyKey ?? null;
    if (key !== null && (typeof key !== "string" || key.length < 1 || key.length > IDEMPOTENCY_KEY_MAX))
      throw new TypeError(`idempotencyKey must have 1 to ${IDEMPOTENCY_KEY_MAX} characters`);
    const room = leastJsonSize(events);
    if (room > EVENTS_BODY_MAX_BYTES) throw new TypeError(TOO_LARGE);
    const read = async (): Promise<Uint8Array> => {
      const bytes = encodeUtf8(jsonOf(events));
      if (bytes.length > EVENTS_BODY_MAX_BYTES) throw new TypeError(TOO_LARGE);
      return bytes;
    };
    const waitUntil = (promise: Promise<void>): void => this.ctx.waitUntil(promise);
    const taken = await takeEvents(
      { room, read, ndjson: false, idempotencyKey: key },
      {
        queue: this.env.EVENTS,
        append: appendCall(this.env),
        platform,
        memory: isolateMemory,
        ...readIntakeConfig(this.env),
        keyShards: () => isolateKeyShards.of(this.env),
        source: "rpc",
        waitS: (places) => isolatePlaces.waitS("rpc", places, this.env, platform),
        early: isolateViewers.by({ call: earlyCall(this.env), waitUntil, platform }),
        forTakeover: isolateTakeovers.by({ env: this.env, waitUntil, platform }),
      },
    );
    const { oddTimes } = taken.ok ? taken : {};
    if (taken.ok) return { accepted: taken.accepted, unknownKeys: taken.unknownKeys, ...(oddTimes && { oddTimes }) };
    if ("message" in taken) throw new Error(taken.message);
    throw new TypeError(taken.faults.map(({ pointer, message }) => `${pointer || "/"}: ${message}`).join("; "));
  }
}

/** More levels than `JSON.stringify` has stack for. A cycle has them, too. */
const LEVELS_MAX = 10_000;

const TOO_LARGE = `the events are not JSON, or are larger than ${EVENTS_BODY_MAX_BYTES} bytes of it`;

/**
 * How many characters the JSON of a value has at least, without making any of it: what came by RPC
 * may be in itself many times, and its JSON be larger than any memory. Counts no further than what
 * is too large.
 */
function leastJsonSize(root: unknown): number {
  let size = 0;
  const open: Iterator<unknown>[] = [[root].values()];
  for (let last = open.at(-1); last !== undefined && size <= EVENTS_BODY_MAX_BYTES; last = open.at(-1)) {
    if (open.length > LEVELS_MAX) return Number.POSITIVE_INFINITY;
    const { done, value }: IteratorResult<unknown> = last.next();
    if (done === true) open.pop();
    else if (typeof value === "string") size += value.length + '""'.length;
    else if (ArrayBuffer.isView(value)) size += value.byteLength;
    else if (typeof value === "object" && value !== null) {
      size += "{}".length;
      if (Array.isArray(value)) open.push(value.values());
      else {
        for (const name of Object.keys(value)) size += name.length + '"":'.length;
        open.push(Object.values(value).values());
      }
    } else size += 1;
  }
  return size;
}

/**
 * Through JSON, so that a value becomes the same event as over HTTP. Dates become text, as `tail()`
 * gets them from another process.
 * @throws TypeError for what JSON cannot represent.
 */
function jsonOf(events: unknown): string {
  let json: string | undefined;
  try {
    json = JSON.stringify(events);
  } catch (error) {
    throw new TypeError(`the events are not JSON: ${error instanceof Error ? error.name : "unreadable"}`);
  }
  if (json === undefined) throw new TypeError("the events are not JSON");
  return json;
}
