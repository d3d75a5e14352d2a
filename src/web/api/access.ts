import { toHex } from "../../base/bytes.ts";
import { badValue, CODE, notFound, oneError, unavailable } from "../../base/errors.ts";
import { MEMBERS_MAX, TOKENS_MAX } from "../../base/limits.ts";
import type { Platform } from "../../base/platform.ts";
import type { Config } from "../../config.ts";
import { checkKeyOf } from "../../formats/secrets/check-part.ts";
import { emailKey, hashOf, newSecret } from "../../formats/secrets/credentials.ts";
import { type AccessRegister, accessRegister } from "../../state/access/register.ts";
import { notHeld, type Permission, ROLES } from "../../state/access/roles.ts";
import type { Added, Member, Token } from "../../state/access/tokens-and-members.ts";
import { bodyOf } from "./body.ts";
import {
  CREATE_MEMBER,
  CREATE_TOKEN,
  DELETE_MEMBER,
  DELETE_TOKEN,
  LIST_MEMBERS,
  LIST_TOKENS,
  type Member as MemberView,
  type Token as TokenView,
  UPDATE_MEMBER,
} from "./docs/access.ts";
import { isoTime, listed, success } from "./envelope.ts";
import { verifyRoute } from "./identity.ts";
import { pageOf, queryOf } from "./query.ts";
import type { AppContext, Resources } from "./route.ts";

/** Attempts at a change of a member while others change its role concurrently. */
const CHANGE_TRIES = 3;

export const tokenRoutes: Resources = {
  "": {
    GET: { permission: "access:edit", doc: LIST_TOKENS, handle: listTokens },
    POST: { permission: "access:edit", action: "token.create", doc: CREATE_TOKEN, handle: createToken },
  },
  // Before what follows: it is no token's id.
  ...verifyRoute,
  "/:token_id": {
    DELETE: { permission: "access:edit", action: "token.delete", doc: DELETE_TOKEN, handle: deleteToken },
  },
};

export const memberRoutes: Resources = {
  "": {
    GET: { permission: "access:edit", doc: LIST_MEMBERS, handle: listMembers },
    POST: { permission: "access:edit", action: "member.create", doc: CREATE_MEMBER, handle: createMember },
  },
  "/:member_id": {
    PUT: { permission: "access:edit", action: "member.update", doc: UPDATE_MEMBER, handle: updateMember },
    DELETE: { permission: "access:edit", action: "member.delete", doc: DELETE_MEMBER, handle: deleteMember },
  },
};

async function listTokens(c: AppContext): Promise<Response> {
  const tokens: Token[] = await accessRegister(c.env.ACCESS).tokens();
  const { shown, info } = pageOf(queryOf(c, LIST_TOKENS), tokens);
  return listed(c, shown.map(presentToken), info);
}

async function listMembers(c: AppContext): Promise<Response> {
  const members: Member[] = await accessRegister(c.env.ACCESS).members();
  const { shown, info } = pageOf(queryOf(c, LIST_MEMBERS), members);
  return listed(c, shown.map(presentMember), info);
}

async function deleteToken(c: AppContext): Promise<Response> {
  const id = c.req.param("token_id") ?? "";
  const register = accessRegister(c.env.ACCESS);
  // Its permissions never change, so they may be checked before.
  const tokens: Token[] = await register.tokens();
  const token = tokens.find((each) => each.id === id);
  if (token === undefined) throw notFound("no such token");
  requireHeld(c, token.permissions, "revoke");
  if (!(await register.removeToken(id))) throw notFound("no such token");
  return success(c, { id });
}

async function deleteMember(c: AppContext): Promise<Response> {
  const id = c.req.param("member_id") ?? "";
  await changeMember(c, id, (register, { role }) => register.removeMember(id, role));
  return success(c, { id });
}

/**
 * Changes a member whose permissions the caller holds, if it still has the role that was checked.
 * @param change resolves to a falsy value if the member has another role meanwhile, or is gone.
 * @throws ApiError 404 without such a member; 403; 503 if its role keeps changing.
 */
async function changeMember<T>(
  c: AppContext,
  id: string,
  change: (register: DurableObjectStub<AccessRegister>, member: Member) => Promise<T | null>,
): Promise<T> {
  const register = accessRegister(c.env.ACCESS);
  for (let tries = 0; tries < CHANGE_TRIES; tries++) {
    const member: Member | null = await register.member(id);
    if (member === null) throw notFound("no such member");
    requireHeld(c, ROLES[member.role], "revoke");
    const changed = await change(register, member);
    if (changed) return changed;
  }
  throw unavailable("the member is being changed concurrently; repeat the request");
}

async function createToken(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { name, permissions, expires_on = null } = await bodyOf(c, CREATE_TOKEN);
  requireHeld(c, permissions);
  requireEnd(c, expires_on === null ? null : Date.parse(expires_on));
  const nowMs = platform.now();
  if (expires_on !== null && !(Date.parse(expires_on) > nowMs)) throw badValue("expires_on", "must be in the future");
  const token = { id: newId(), name, permissions, expiresOn: expires_on };
  const checkKey = checkKeyOf(config.keys.current);
  const value = newSecret("token", checkKey);
  const added: Added = await accessRegister(c.env.ACCESS).addToken(token, hashOf(value), checkKey.id);
  requireAdded(added, "token", TOKENS_MAX);
  return success(c, { ...presentToken({ ...token, expired: false, createdMs: nowMs }), value }, { status: 201 });
}

async function createMember(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { email, role } = await bodyOf(c, CREATE_MEMBER);
  requireHeld(c, ROLES[role]);
  requireEnd(c, null);
  const nowMs = platform.now();
  const member = { id: newId(), email, role };
  const checkKey = checkKeyOf(config.keys.current);
  const apiKey = newSecret("key", checkKey);
  const added: Added = await accessRegister(c.env.ACCESS).addMember(member, hashOf(apiKey), checkKey.id);
  requireAdded(added, "member", MEMBERS_MAX);
  const view = presentMember({ ...member, createdMs: nowMs, modifiedMs: nowMs });
  return success(c, { ...view, api_key: apiKey }, { status: 201 });
}

async function updateMember(c: AppContext): Promise<Response> {
  const { email, role } = await bodyOf(c, UPDATE_MEMBER);
  requireHeld(c, ROLES[role]);
  requireEnd(c, null);
  const id = c.req.param("member_id") ?? "";
  const changed = await changeMember(c, id, (register, member): Promise<Member | null> => {
    if (email !== undefined && emailKey(email) !== emailKey(member.email)) throw badValue("email", "cannot be changed");
    if (role !== member.role) return register.setRole(id, role, member.role);
    c.set("unchanged", true);
    return Promise.resolve(member);
  });
  return success(c, presentMember(changed));
}

/** @throws ApiError 403 naming the permissions that the caller does not hold. */
function requireHeld(c: AppContext, wanted: readonly Permission[], what: "grant" | "revoke" = "grant"): void {
  const missing = notHeld(c.var.caller, wanted);
  if (missing.length > 0)
    throw oneError(
      403,
      CODE.auth,
      `Authorization error: you cannot ${what} what you do not hold; this needs ${missing.join(", ")}`,
    );
}

/**
 * What a token that ends grants, ends with it. @param endMs of what is granted, in ms since the
 * epoch; null: never, as of members. @throws ApiError 403.
 */
function requireEnd(c: AppContext, endMs: number | null): void {
  const { expiresMs = null } = c.var.caller;
  if (expiresMs === null || (endMs !== null && endMs <= expiresMs)) return;
  const words = `your token ends at ${isoTime(expiresMs)}, and what it grants must end by then`;
  throw oneError(403, CODE.auth, `Authorization error: you cannot grant what you do not hold: ${words}`);
}

function requireAdded(added: Added, what: "token" | "member", max: number): void {
  if (added === "full")
    throw oneError(
      403,
      CODE.notAllowed,
      `creating a new ${what} is not allowed: exceeded max ${what}s allowed (${max})`,
    );
  if (added === "taken") throw oneError(409, CODE.conflict, "a member with this email already exists");
}

/** 32 random hex digits: an id is never used again. */
function newId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

function presentToken({ id, name, permissions, expiresOn, expired, createdMs }: Token): TokenView {
  const status = expired ? "expired" : "active";
  return { id, name, permissions: [...permissions], status, expires_on: expiresOn, issued_on: isoTime(createdMs) };
}

function presentMember({ id, email, role, createdMs, modifiedMs }: Member): MemberView {
  const times = { created_on: isoTime(createdMs), modified_on: isoTime(modifiedMs) };
  return { id, email, role, permissions: [...ROLES[role]], ...times };
}
