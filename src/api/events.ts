import { readIntakeConfig } from "../config.ts";
import { CODE, faultsError, oneError, unavailable } from "../errors.ts";
import { readBody } from "../intake/body.ts";
import { SendError } from "../intake/send.ts";
import { type Taken, takeEvents } from "../intake/take.ts";
import { EVENTS_BODY_MAX_BYTES, IDEMPOTENCY_KEY_MAX } from "../limits.ts";
import { errorText, log } from "../log.ts";
import { blobStore } from "../queue/blob-store.ts";
import { bodyBytes, mediaType } from "./body.ts";
import { SEND_EVENTS } from "./docs/events.ts";
import { type Message, success } from "./envelope.ts";
import { type Resource, requireDataset } from "./route.ts";

export const eventRoutes: readonly Resource[] = [
  {
    path: "/datasets/:dataset/events",
    methods: {
      POST: {
        permission: "events:write",
        doc: SEND_EVENTS,
        async take(c, platform) {
          requireDataset(c);
          const request = c.req.raw;
          const idempotencyKey = keyOf(request);
          const ndjson = isNdjson(request);
          const bytes = bodyBytes(await readBody(request, EVENTS_BODY_MAX_BYTES));
          const taken = await orUnavailable(
            takeEvents(
              { bytes, ndjson, idempotencyKey },
              {
                queue: c.env.EVENTS,
                blobs: blobStore(c.env.BLOBS),
                platform,
                defaultScriptName: readIntakeConfig(c.env).defaultScriptName,
                nowMs: platform.now(),
              },
            ),
          );
          if (!taken.ok)
            throw faultsError(taken.status, taken.status === 413 ? CODE.tooLarge : CODE.invalid, taken.faults);
          const messages = droppedKeys(taken.unknownKeys);
          return success(c, { accepted: taken.accepted }, { status: 202, messages });
        },
      },
    },
  },
];

/** What an answer says of keys that no event has. */
export function droppedKeys(names: readonly string[]): Message[] {
  return names.map((name) => ({
    code: CODE.invalid,
    message: `unknown key ${JSON.stringify(name)} was dropped`,
  }));
}

/** @throws ApiError 503 if the queue did not take everything. */
async function orUnavailable(taking: Promise<Taken>): Promise<Taken> {
  try {
    return await taking;
  } catch (error) {
    if (!(error instanceof SendError)) throw error;
    log.error("the queue did not take events", { error: errorText(error.cause) });
    throw unavailable(
      "the queue did not take all events; some may have been taken. Repeat the request with the same Idempotency-Key, and nothing doubles",
    );
  }
}

/** @throws ApiError 415 for a media type that is neither JSON nor NDJSON. */
function isNdjson(request: Request): boolean {
  const type = mediaType(request);
  if (type === "application/x-ndjson" || type === "application/ndjson") return true;
  if (type === "application/json" || type === "") return false;
  throw oneError(415, CODE.mediaType, "Content-Type must be application/json or application/x-ndjson");
}

/** @throws ApiError 400 if there is one and it is no key. */
function keyOf(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === null) return null;
  if (key.length >= 1 && key.length <= IDEMPOTENCY_KEY_MAX) return key;
  throw oneError(400, CODE.invalid, `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_MAX} characters`);
}
