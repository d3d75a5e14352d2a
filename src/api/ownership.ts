import type { Config } from "../config.ts";
import type { Destination } from "../destinations/destination.ts";
import { openDestination } from "../destinations/kinds.ts";
import { parsePlace, samePlace } from "../destinations/parse.ts";
import { CODE, faultsError } from "../errors.ts";
import { answersChallenge, issueChallenge } from "../job/ownership.ts";
import { AskDestination, AskOwnership } from "../job/schema.ts";
import type { Platform } from "../platform.ts";
import { jsonBody } from "./body.ts";
import { CHECK_CHALLENGE, ISSUE_CHALLENGE } from "./docs/destinations.ts";
import { success } from "./envelope.ts";
import type { Resource } from "./route.ts";
import { sentDestination } from "./validation.ts";

/** The proof that somebody can read a destination; docs/ownership.md. A destination that is none is an answer, not an error: clients look at `valid`. */
export const ownershipRoutes: readonly Resource[] = [
  {
    path: "/ownership",
    methods: {
      POST: {
        permission: "logs:edit",
        action: null,
        doc: ISSUE_CHALLENGE,
        async handle(c, config, platform) {
          const { destination_conf } = await jsonBody(c.req.raw, AskDestination);
          const destination = sentDestination(destination_conf, config);
          if (!destination.ok) return success(c, { valid: false, message: destination.why, filename: "" });
          const { token, key } = issueChallenge(config.accountId, destination.value, config.keys, platform.now());
          const fault = await openDestination(destination.value, platform).challenge(key, token);
          return success(c, { valid: fault === null, message: fault ?? "", filename: fault === null ? key : "" });
        },
      },
    },
  },
  {
    path: "/ownership/validate",
    methods: {
      POST: {
        permission: "logs:edit",
        action: null,
        doc: CHECK_CHALLENGE,
        async handle(c, config, platform) {
          const { destination_conf, ownership_challenge } = await jsonBody(c.req.raw, AskOwnership);
          const place = parsePlace(destination_conf, config.destinations);
          const { accountId, keys } = config;
          const valid =
            place.ok && answersChallenge(ownership_challenge ?? "", accountId, place.value, keys, platform.now());
          return success(c, { valid });
        },
      },
    },
  },
];

/**
 * Checks the proof that whoever asks can read the destination, where one is required. Elsewhere it is not even looked at: configurations keep theirs for
 * years, and it is good for 7 days.
 * @param stored where the job was until now: if it stays there, with other keys perhaps, nobody has to prove that again. null: no key opens that.
 * @throws ApiError 400, 1002.
 */
export function requireProof(
  challenge: string | null | undefined,
  destination: Destination,
  { accountId, keys, requireOwnershipChallenge, destinations }: Config,
  platform: Pick<Platform, "now">,
  stored: string | null = null,
): void {
  if (!requireOwnershipChallenge) return;
  const before = stored === null ? null : parsePlace(stored, destinations);
  if (before?.ok === true && samePlace(before.value, destination)) return;
  if (answersChallenge(challenge ?? "", accountId, destination, keys, platform.now())) return;
  const fault = { message: "incorrect ownership challenge", pointer: "/ownership_challenge" };
  throw faultsError(400, CODE.wrongChallenge, [fault]);
}
