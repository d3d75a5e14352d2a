import { type ApiError, CODE, oneError, unavailable } from "../../base/errors.ts";
import { BRAKE_MS, FOREIGN_BEARER_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import type { Platform } from "../../base/platform.ts";
import { readAdminToken, readCheckKeys } from "../../config.ts";
import type { CheckKey } from "../../formats/secrets/check-part.ts";
import {
  type Credentials,
  hashOf,
  holdsOurs,
  looksIssued,
  provesItself,
  readCredentials,
  sameHash,
} from "../../formats/secrets/credentials.ts";
import { Doubts } from "../../state/access/doubts.ts";
import { addressOf, Guesses } from "../../state/access/guess-limit.ts";
import { Lookup } from "../../state/access/lookup.ts";
import { type Identified, type Known, type Proof, proofKey } from "../../state/access/proofs.ts";
import { type Refusal, Refusals } from "../../state/access/refusals.ts";
import type { AccessRegister } from "../../state/access/register.ts";
import { ADMIN, type Caller } from "../../state/access/roles.ts";
import { Senders } from "../../state/access/senders.ts";

/** What one isolate remembers of those that called it. */
export class AccessMemory {
  readonly senders = new Senders();
  readonly lookup = new Lookup();
  readonly doubts = new Doubts();
  readonly guesses = new Guesses();
  readonly refusals = new Refusals();
}

/** What {@link authenticate} needs. */
export interface Gate {
  /** null: malformed, so it matches nothing. */
  adminToken: string | null;
  /** They prove the check parts of our secrets. */
  keys: readonly CheckKey[];
  register: DurableObjectNamespace<AccessRegister>;
  platform: Platform;
  memory: AccessMemory;
  /** Where the request comes from; null: unknown. */
  address: string | null;
  /** Counts wrong credentials by address; null: there is no such binding. */
  limit: RateLimit | null;
  /** What is refused, as the audit names it. */
  refusal: Refusal;
}

/** @param request whose sender is to be identified. */
export function gateOf(
  request: Request,
  env: Env,
  platform: Platform,
  memory: AccessMemory,
  refusal: Refusal = "request.refuse",
): Gate {
  const [adminToken, keys, address] = [readAdminToken(env), readCheckKeys(env), addressOf(request)];
  // A deployment may go without it.
  const limit = (env as Partial<Env>).FAILURES ?? null;
  return { adminToken, keys, register: env.ACCESS, platform, memory, address, limit, refusal };
}

/**
 * Identifies the caller. The admin token needs no register, and a secret that is not ours is
 * refused without it.
 * @param intake whether events are sent: if the register does not answer, a sender it allowed
 *   minutes ago is accepted.
 * @throws ApiError 401 without known credentials; 429 after too many wrong ones from one address;
 *   503 if the register does not answer, or is not asked because of too many secrets without a
 *   check part.
 */
export async function authenticate(headers: Headers, gate: Gate, intake: boolean): Promise<Caller> {
  const credentials = readCredentials(headers);
  if (credentials === null) throw unknownCaller(FORMS);
  const proof = proofOf(credentials);
  const issued = credentials.kind === "token" ? credentials.token : credentials.key;
  const isOurs = looksIssued(credentials.kind, issued);
  // What proves itself is no guess.
  const isProven = isOurs && provesItself(credentials.kind, issued, gate.keys);
  if (!isProven && isBraked(proof, gate)) throw await refused(proof, gate);
  if (proof.kind === "token" && gate.adminToken !== null && sameHash(proof.hash, hashOf(gate.adminToken))) return ADMIN;
  if (!isOurs) throw await refused(proof, gate);
  const known = isProven ? await identify(proof, undefined, gate, intake) : await identifyDoubtful(proof, gate, intake);
  if (known === null) throw await refused(proof, gate);
  return { ...known, permissions: new Set(known.permissions) };
}

function isBraked(proof: Proof, { address, memory: { guesses, doubts }, platform }: Gate): boolean {
  return address !== null && guesses.isBraked(address, platform.now()) && !doubts.wasGood(proofKey(proof));
}

/** Counts wrong credentials. @returns what to answer: the same to all that are wrong. */
async function refused(
  proof: Proof,
  { address, limit, memory: { guesses, refusals }, platform, register, refusal }: Gate,
): Promise<ApiError> {
  if (address === null) return unknownCaller();
  refusals.add(refusal, address, register, platform);
  const isTooMany = await guesses.count(address, proofKey(proof), limit, platform);
  if (!isTooMany) return unknownCaller();
  const words = "too many requests from this address had unknown credentials; repeat the request in a minute";
  return oneError(429, CODE.tooMany, words, { "Retry-After": `${BRAKE_MS / 1_000}` });
}

/**
 * Asks about a secret that the keys do not prove, if there may be such a secret.
 * @throws ApiError 503 as {@link identify}, or if too many of them come.
 */
async function identifyDoubtful(proof: Proof, gate: Gate, intake: boolean): Promise<Known | null> {
  const { platform, memory } = gate;
  const [name, keys] = [proofKey(proof), gate.keys.map(({ id }) => id)];
  const verdict = memory.doubts.judge(name, keys, platform.now());
  if (verdict === "refuse") return null;
  if (verdict === "later")
    throw unavailable("too many credentials that no current key proves arrive at once; repeat the request", 1);
  return identify(proof, keys, gate, intake);
}

/**
 * @param keys ids of the keys that do not prove the secret; undefined: one does.
 * @throws ApiError 503 if the register does not answer and no earlier answer applies.
 */
async function identify(
  proof: Proof,
  keys: readonly string[] | undefined,
  { platform, register, memory: { senders, lookup, doubts } }: Gate,
  intake: boolean,
): Promise<Known | null> {
  let answer: Required<Identified>;
  try {
    answer = await lookup.identify(proof, keys, register, platform);
  } catch (error) {
    log.error("the access register did not identify a caller", { error: errorText(error) });
    const recalled = intake ? senders.recall(proof, platform.now()) : null;
    if (recalled !== null) return recalled;
    throw unavailable("the credentials cannot be checked now; repeat the request");
  }
  const { known, doubtful } = answer;
  senders.learn(proof, known, platform.now());
  if (keys !== undefined) doubts.learn(proofKey(proof), keys, known !== null, doubtful, platform.now());
  return known;
}

function proofOf(credentials: Credentials): Proof {
  return credentials.kind === "token"
    ? { kind: "token", hash: hashOf(credentials.token) }
    : { kind: "key", email: credentials.email, hash: hashOf(credentials.key) };
}

/** Added only if no credentials could be read: of readable ones nothing is said. */
const FORMS = ": send Authorization: Bearer <token>, or X-Auth-Email with X-Auth-Key";

function unknownCaller(more = ""): ApiError {
  return oneError(401, CODE.auth, `Authentication error${more}`, { "WWW-Authenticate": "Bearer" });
}

/**
 * The bearer of a request, if the platform may know it: it contains no secret of this service. No
 * other credentials ever leave this service. A longer one than any of the platform's is none: it
 * could hold many guesses at ours.
 * @param adminToken must be well-formed: it is what a bearer is compared with.
 */
export function foreignBearer(headers: Headers, adminToken: string): string | null {
  const credentials = readCredentials(headers);
  if (credentials?.kind !== "token" || credentials.token.length > FOREIGN_BEARER_MAX) return null;
  return holdsOurs(credentials.token, adminToken) ? null : credentials.token;
}

/**
 * Lets a bearer go on to the platform. That it goes on says that it is none of ours, so it may be a
 * guess.
 * @throws ApiError 429 after too many guesses from its address, unless the platform has known it,
 *   or it proves that it is ours.
 */
export async function requireUnbraked(headers: Headers, gate: Gate): Promise<void> {
  const credentials = readCredentials(headers);
  if (credentials?.kind !== "token") return;
  const { kind, token } = credentials;
  const proof = proofOf(credentials);
  if (gate.memory.guesses.isKnown(proofKey(proof)) || !isBraked(proof, gate)) return;
  if (!(looksIssued(kind, token) && provesItself(kind, token, gate.keys))) throw await refused(proof, gate);
}

/**
 * Counts a bearer that went on to the platform as a guess, unless the platform has known it.
 * @param isKnown whether it has known it now.
 * @throws ApiError 429 in place of the platform's answer, after too many guesses.
 */
export async function judged({ headers, url }: Request, isKnown: boolean, gate: Gate): Promise<void> {
  const credentials = readCredentials(headers);
  if (credentials?.kind !== "token") return;
  const { guesses } = gate.memory;
  const proof = proofKey(proofOf(credentials));
  if (isKnown) guesses.learn(proof);
  // Of a known one it refuses what was asked for.
  if (guesses.isKnown(proof)) return;
  // The address may hold a guess, too.
  const error = await refused({ kind: "token", hash: hashOf(`${credentials.token} ${url}`) }, gate);
  if (error.status === 429) throw error;
}
