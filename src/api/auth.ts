import * as z from "zod";
import { type Credentials, hashOf, holdsOurs, looksIssued, readCredentials, sameHash } from "../access/credentials.ts";
import type { AccessRegister, Known, Proof } from "../access/register.ts";
import { accessRegister } from "../access/register.ts";
import { ADMIN, type Caller, PERMISSIONS } from "../access/roles.ts";
import type { Senders } from "../access/senders.ts";
import { type ApiError, CODE, oneError, unavailable } from "../errors.ts";
import { errorText, log } from "../log.ts";
import { answered, type Platform } from "../platform.ts";

/** How long the register may take to say who somebody is, in ms: it is one look at two small tables. */
const REGISTER_MS = 3_000;

/** What it takes to know a caller. */
export interface Gate {
  /** null: it is malformed, and opens nothing. */
  adminToken: string | null;
  register: DurableObjectNamespace<AccessRegister>;
  platform: Platform;
  senders: Senders;
}

/** An answer of the register's that is anything else is none. */
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
 * Who is calling. The admin is known without the register, whatever that does.
 * @param intake whether events are sent: who was seen to be allowed to a few minutes ago is believed if the register does not answer now.
 * @throws ApiError 401 without known credentials; 503 if nobody can tell.
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

/** @throws ApiError 503 if the register does not answer, and nobody else can. */
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
    log.error("the access register does not tell who calls", { error: errorText(error) });
    const recalled = intake ? senders.recall(proof, platform.now()) : null;
    if (recalled !== null) return recalled;
    throw unavailable("it cannot be told at the moment whose credentials these are; the request may be repeated");
  }
}

function proofOf(credentials: Credentials): Proof {
  return credentials.kind === "token"
    ? { kind: "token", hash: hashOf(credentials.token) }
    : { kind: "key", email: credentials.email, hash: hashOf(credentials.key) };
}

/** Said to whoever sends no credentials, or some in another form: of those that can be read, nothing is said. */
const FORMS = ": send Authorization: Bearer <token>, or X-Auth-Email with X-Auth-Key";

function unknownCaller(more = ""): ApiError {
  return oneError(401, CODE.auth, `Authentication error${more}`, { "WWW-Authenticate": "Bearer" });
}

/**
 * The bearer of a request, if it can be one that the platform knows: it holds nothing of ours. Of any other, and of a pair, nothing may leave this service.
 * @param adminToken not malformed: without it, nobody could tell that it is not sent on.
 */
export function foreignBearer(headers: Headers, adminToken: string): string | null {
  const credentials = readCredentials(headers);
  return credentials?.kind === "token" && !holdsOurs(credentials.token, adminToken) ? credentials.token : null;
}
