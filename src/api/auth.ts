import * as z from "zod";
import { type Credentials, hashOf, holdsOurs, looksIssued, readCredentials, sameHash } from "../access/credentials.ts";
import type { AccessRegister, Known, Proof } from "../access/register.ts";
import { accessRegister } from "../access/register.ts";
import { ADMIN, type Caller, PERMISSIONS } from "../access/roles.ts";
import type { Senders } from "../access/senders.ts";
import { type ApiError, CODE, oneError, unavailable } from "../errors.ts";
import { errorText, log } from "../log.ts";
import { answered, type Platform } from "../platform.ts";

/** How long the register may take to identify a caller, in ms: it reads two small tables. */
const REGISTER_MS = 3_000;

/** What {@link authenticate} needs. */
export interface Gate {
  /** null: malformed, so it matches nothing. */
  adminToken: string | null;
  register: DurableObjectNamespace<AccessRegister>;
  platform: Platform;
  senders: Senders;
}

/** The shape of the register's answer; any other counts as no answer. */
const Identified = z.object({
  known: z
    .object({
      kind: z.enum(["token", "member"]),
      id: z.string(),
      name: z.string(),
      permissions: z.array(z.enum(PERMISSIONS)),
      expiresMs: z.number().nullable(),
    })
    .nullable(),
});

/**
 * Identifies the caller. The admin token needs no register.
 * @param intake whether events are sent: if the register does not answer, a sender it allowed
 *   minutes ago is accepted.
 * @throws ApiError 401 without known credentials; 503 if the register does not answer.
 */
export async function authenticate(headers: Headers, gate: Gate, intake: boolean): Promise<Caller> {
  const credentials = readCredentials(headers);
  if (credentials === null) throw unknownCaller(FORMS);
  const proof = proofOf(credentials);
  if (proof.kind === "token" && gate.adminToken !== null && sameHash(proof.hash, hashOf(gate.adminToken))) return ADMIN;
  const issued = credentials.kind === "token" ? credentials.token : credentials.key;
  if (!looksIssued(credentials.kind, issued)) throw unknownCaller();
  const known = await identify(proof, gate, intake);
  if (known === null) throw unknownCaller();
  const { kind, id, name, permissions } = known;
  return { kind, id, name, permissions: new Set(permissions) };
}

/** @throws ApiError 503 if the register does not answer and no earlier answer applies. */
async function identify(proof: Proof, gate: Gate, intake: boolean): Promise<Known | null> {
  const { platform, senders } = gate;
  try {
    const answer: unknown = await answered(
      "the access register",
      REGISTER_MS,
      accessRegister(gate.register).identify(proof),
    );
    const { known } = Identified.parse(answer);
    senders.learn(proof, known, platform.now());
    return known;
  } catch (error) {
    log.error("the access register did not identify a caller", { error: errorText(error) });
    const recalled = intake ? senders.recall(proof, platform.now()) : null;
    if (recalled !== null) return recalled;
    throw unavailable("the credentials cannot be checked now; repeat the request");
  }
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
 * other credentials ever leave this service.
 * @param adminToken must be well-formed: it is what a bearer is compared with.
 */
export function foreignBearer(headers: Headers, adminToken: string): string | null {
  const credentials = readCredentials(headers);
  return credentials?.kind === "token" && !holdsOurs(credentials.token, adminToken) ? credentials.token : null;
}
