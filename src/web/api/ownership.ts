import { CODE, faultsError } from "../../base/errors.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import type { Destination } from "../../ship/destinations/destination.ts";
import { openDestination, termsOf } from "../../ship/destinations/kinds.ts";
import { parsePlace, samePlace } from "../../ship/destinations/parse.ts";
import { answersChallenge, issueChallenge } from "../../ship/job/ownership.ts";
import { bodyOf } from "./body.ts";
import { CHECK_CHALLENGE, ISSUE_CHALLENGE } from "./docs/destinations.ts";
import { success } from "./envelope.ts";
import type { AppContext, Resources } from "./route.ts";
import { sentDestination } from "./validation.ts";

/**
 * Proof that the caller can read a destination; docs/jobs.md. A malformed destination is an
 * answer with `valid: false`, not an error.
 */
export const ownershipRoutes: Resources = {
  "/ownership": { POST: { permission: "logs:edit", action: null, doc: ISSUE_CHALLENGE, handle: issue } },
  "/ownership/validate": { POST: { permission: "logs:edit", action: null, doc: CHECK_CHALLENGE, handle: check } },
};

async function issue(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { destination_conf } = await bodyOf(c, ISSUE_CHALLENGE);
  const destination = sentDestination(destination_conf, config);
  if (!destination.ok) return success(c, { valid: false, message: destination.why, filename: "" });
  if (!termsOf(destination.value).isReadable) return success(c, { valid: false, message: NOT_NEEDED, filename: "" });
  const { token, key } = issueChallenge(config.accountId, destination.value, config.keys, platform.now());
  const fault = await openDestination(destination.value, platform).challenge(key, token);
  return success(c, { valid: fault === null, message: fault ?? "", filename: fault === null ? key : "" });
}

/** Of a receiver: what was written to it cannot be read. The vendor asks for none, either. */
const NOT_NEEDED = "no ownership challenge is needed: this destination cannot be read back";

async function check(c: AppContext, { accountId, keys, destinations }: Config, platform: Platform): Promise<Response> {
  const { destination_conf, ownership_challenge } = await bodyOf(c, CHECK_CHALLENGE);
  const place = parsePlace(destination_conf, destinations);
  const valid = place.ok && answersChallenge(ownership_challenge ?? "", accountId, place.value, keys, platform.now());
  return success(c, { valid });
}

/**
 * Checks the ownership challenge, if this deployment requires one and the destination can prove it.
 * Otherwise the challenge is
 * ignored: configurations keep theirs for years, and a challenge is valid for 7 days.
 * @param stored the job's current destination; the same place, even with other keys, needs no new
 *   proof. null: none, or no key opens it.
 * @throws ApiError 400, 1002.
 */
export function requireProof(
  challenge: string | null | undefined,
  destination: Destination,
  { accountId, keys, requireOwnershipChallenge, destinations }: Config,
  platform: Pick<Platform, "now">,
  stored: string | null = null,
): void {
  if (!requireOwnershipChallenge || !termsOf(destination).isReadable) return;
  const before = stored === null ? null : parsePlace(stored, destinations);
  if (before?.ok === true && samePlace(before.value, destination)) return;
  if (answersChallenge(challenge ?? "", accountId, destination, keys, platform.now())) return;
  const fault = { message: "incorrect ownership challenge", pointer: "/ownership_challenge" };
  throw faultsError(400, CODE.wrongChallenge, [fault]);
}
