import { waitUntil } from "cloudflare:workers";
import { CODE, faultsError, oneError, unavailable } from "../../base/errors.ts";
import { EVENTS_BODY_MAX_BYTES, EVENTS_PACE, IDEMPOTENCY_KEY_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import type { Memory } from "../../base/memory.ts";
import type { Platform } from "../../base/platform.ts";
import { readIntakeConfig } from "../../config.ts";
import { httpSource } from "../../formats/record/source.ts";
import { bodyRoom, readBody } from "../../ship/intake/body.ts";
import { appendCall } from "../../ship/intake/direct.ts";
import type { AcceptedEvents } from "../../ship/intake/events.ts";
import { isolateKeyShards } from "../../ship/intake/key-shards.ts";
import { isolatePlaces } from "../../ship/intake/places.ts";
import { SendError } from "../../ship/intake/send.ts";
import { takeEvents } from "../../ship/intake/take.ts";
import { isolateTakeovers } from "../../ship/intake/takeovers.ts";
import { earlyCall, type Viewers } from "../../ship/intake/viewers.ts";
import { BODY_CODE, bodyBytes, isJsonType, mediaType } from "./body.ts";
import { SEND_EVENTS } from "./docs/events.ts";
import { type Message, success } from "./envelope.ts";
import { type AppContext, type Resources, requireDataset } from "./route.ts";

export const eventRoutes: Resources = {
  "/datasets/:dataset/events": { POST: { permission: "events:write", doc: SEND_EVENTS, take: sendEvents } },
};

async function sendEvents(c: AppContext, platform: Platform, memory: Memory, viewers: Viewers): Promise<Response> {
  requireDataset(c);
  const request = c.req.raw;
  const idempotencyKey = keyOf(request);
  const ndjson = isNdjson(request);
  const read = async () => bodyBytes(await readBody(request, EVENTS_BODY_MAX_BYTES, EVENTS_PACE));
  const room = bodyRoom(request, EVENTS_BODY_MAX_BYTES);
  const source = httpSource(c.get("caller").name);
  const to = {
    queue: c.env.EVENTS,
    append: appendCall(c.env),
    platform,
    memory,
    ...readIntakeConfig(c.env),
    keyShards: () => isolateKeyShards.of(c.env),
    source,
    waitS: (places: ReadonlySet<string>) => isolatePlaces.waitS(source, places, c.env, platform),
    early: viewers.by({ call: earlyCall(c.env), waitUntil, platform }),
    forTakeover: isolateTakeovers.by({ env: c.env, waitUntil, platform }),
  };
  const taken = await takeEvents({ room, read, ndjson, idempotencyKey }, to).catch(notTaken);
  if (!taken.ok && taken.status === 503) throw unavailable(taken.message);
  if (!taken.ok && taken.status === 429)
    throw oneError(429, CODE.tooMany, taken.message, { "Retry-After": `${taken.retryAfterS}` });
  if (!taken.ok) throw faultsError(taken.status, BODY_CODE[taken.status], taken.faults);
  return success(c, { accepted: taken.accepted }, { status: 202, messages: notesOf(taken) });
}

/** Names the unknown keys of events in an answer, and times in other units. */
export function notesOf({ unknownKeys, oddTimes = [] }: Omit<AcceptedEvents, "lines">): Message[] {
  const dropped = unknownKeys.map((name) => `unknown key ${JSON.stringify(name)} was dropped`);
  return [...oddTimes, ...dropped].map((message) => ({ code: CODE.invalid, message }));
}

/** @throws ApiError 503 if neither the queue nor the log took everything. */
function notTaken(error: unknown): never {
  if (!(error instanceof SendError)) throw error;
  log.error("neither the queue nor the log took all events", { error: errorText(error.cause) });
  throw unavailable(
    "neither the queue nor the log took all events; some may have been taken. Repeat the request with the same Idempotency-Key: nothing is taken twice",
  );
}

/** @throws ApiError 415 for a media type that is neither JSON nor NDJSON. */
function isNdjson(request: Request): boolean {
  const type = mediaType(request);
  if (type === "application/x-ndjson" || type === "application/ndjson") return true;
  if (isJsonType(request)) return false;
  throw oneError(415, CODE.mediaType, "Content-Type must be application/json or application/x-ndjson");
}

/** @throws ApiError 400 for a malformed key. */
function keyOf(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === null) return null;
  if (key.length >= 1 && key.length <= IDEMPOTENCY_KEY_MAX) return key;
  throw oneError(400, CODE.invalid, `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_MAX} characters`);
}
