import { readIntakeConfig } from "../config.ts";
import { ApiError, CODE, faultsError, oneError, unavailable } from "../errors.ts";
import { readBody } from "../intake/body.ts";
import { acceptEvents, parseEvents } from "../intake/events.ts";
import { keyedIds, randomIds } from "../intake/ids.ts";
import { packRecords } from "../intake/packing.ts";
import { sendMessages } from "../intake/send.ts";
import { EVENTS_BODY_MAX_BYTES, EVENTS_MAX_COUNT } from "../limits.ts";
import { bodyBytes, bodyText, mediaType } from "./body.ts";
import { success } from "./envelope.ts";
import { type Resource, requireDataset } from "./route.ts";

const IDEMPOTENCY_KEY_MAX = 255;

export const eventRoutes: readonly Resource[] = [
  {
    path: "/datasets/:dataset/events",
    methods: {
      POST: {
        permission: "events:write",
        async take(c, platform) {
          requireDataset(c);
          const request = c.req.raw;
          const key = idempotencyKey(request);
          const ndjson = isNdjson(request);
          const bytes = bodyBytes(await readBody(request, EVENTS_BODY_MAX_BYTES));
          const parsed = parseEvents(bodyText(bytes), ndjson);
          if (!parsed.ok && parsed.kind === "not_json")
            throw faultsError(400, CODE.invalid, [{ pointer: "", message: "the body is not JSON" }]);
          if (!parsed.ok) throw oneError(413, CODE.tooLarge, `at most ${EVENTS_MAX_COUNT} events a request`);
          const takenInMs = platform.now();
          const { defaultScriptName } = readIntakeConfig(c.env);
          const events = acceptEvents(parsed.events, { takenInMs, defaultScriptName, lenient: false });
          if (!events.ok) throw faultsError(400, CODE.invalid, events.faults);
          const idOf = key === null ? randomIds() : keyedIds(key, bytes, defaultScriptName);
          const packed = packRecords(events.lines, { takenInMs, idOf, keyed: key !== null });
          if (!packed.ok) {
            const at = (index: number): string => parsed.events[index]?.pointer ?? "";
            throw new ApiError(
              413,
              packed.tooLarge.map((index) => ({
                code: CODE.tooLarge,
                message: "this event does not fit a queue message, not even compressed",
                source: { pointer: at(index) },
              })),
            );
          }
          try {
            await sendMessages(packed.messages, c.env.EVENTS, platform);
          } catch (error) {
            console.error({
              message: "the queue did not take events",
              events: events.lines.length,
              error: String(error),
            });
            throw unavailable(
              "the queue did not take all events; some may have been taken. Repeat the request with the same Idempotency-Key, and nothing doubles",
            );
          }
          const messages = events.unknownKeys.map((name) => ({
            code: CODE.invalid,
            message: `unknown key ${JSON.stringify(name.slice(0, 64))} was dropped`,
          }));
          return success(c, { accepted: events.lines.length }, { status: 202, messages: messages.slice(0, 100) });
        },
      },
    },
  },
];

/** @throws ApiError 415 for a media type that is neither JSON nor NDJSON. */
function isNdjson(request: Request): boolean {
  const type = mediaType(request);
  if (type === "application/x-ndjson" || type === "application/ndjson") return true;
  if (type === "application/json" || type === "") return false;
  throw oneError(415, CODE.mediaType, "Content-Type must be application/json or application/x-ndjson");
}

/** @throws ApiError 400 if there is one and it is no key. */
function idempotencyKey(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === null) return null;
  if (key.length >= 1 && key.length <= IDEMPOTENCY_KEY_MAX) return key;
  throw oneError(400, CODE.invalid, `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_MAX} characters`);
}
