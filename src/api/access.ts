import * as z from "zod";
import { emailKey, hashOf, newSecret } from "../access/credentials.ts";
import { type Added, accessRegister, type Member, type Token } from "../access/register.ts";
import { notHeld, PERMISSIONS, type Permission, ROLE_NAMES, ROLES } from "../access/roles.ts";
import { toHex } from "../bytes.ts";
import type { Config } from "../config.ts";
import { type ApiError, CODE, faultsError, oneError } from "../errors.ts";
import { EMAIL_MAX, MEMBERS_MAX, TOKEN_NAME_MAX, TOKENS_MAX } from "../limits.ts";
import type { Platform } from "../platform.ts";
import { jsonBody } from "./body.ts";
import { listed, success } from "./envelope.ts";
import { pageOf } from "./query.ts";
import type { AppContext, Resource } from "./route.ts";

const CreateToken = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(TOKEN_NAME_MAX)
    .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), {
      error: "must be text without control characters",
    }),
  permissions: z
    .array(z.enum(PERMISSIONS))
    .min(1)
    .max(PERMISSIONS.length)
    .refine((each) => new Set(each).size === each.length, { error: "must name each permission once" }),
  expires_on: z.iso.datetime({ offset: true }).max(64).nullable().optional(),
});

const CreateMember = z.strictObject({ email: z.email().max(EMAIL_MAX), role: z.enum(ROLE_NAMES) });

/** An address is what a member is: another one is another member. It may be named with the value it has. */
const UpdateMember = z.strictObject({ email: z.string().max(EMAIL_MAX).optional(), role: z.enum(ROLE_NAMES) });

export const tokenRoutes: readonly Resource[] = [
  {
    path: "",
    methods: {
      GET: {
        permission: "access:edit",
        async handle(c) {
          const tokens: Token[] = await accessRegister(c.env.ACCESS).tokens();
          const { shown, info } = pageOf(c, tokens, TOKENS_MAX);
          return listed(c, shown.map(presentToken), info);
        },
      },
      POST: { permission: "access:edit", action: "token.create", handle: createToken },
    },
  },
  {
    path: "/:token_id",
    methods: {
      DELETE: {
        permission: "access:edit",
        action: "token.delete",
        async handle(c) {
          const id = c.req.param("token_id") ?? "";
          if (!(await accessRegister(c.env.ACCESS).removeToken(id))) throw none("token");
          return success(c, { id });
        },
      },
    },
  },
];

export const memberRoutes: readonly Resource[] = [
  {
    path: "",
    methods: {
      GET: {
        permission: "access:edit",
        async handle(c) {
          const members: Member[] = await accessRegister(c.env.ACCESS).members();
          const { shown, info } = pageOf(c, members, MEMBERS_MAX);
          return listed(c, shown.map(presentMember), info);
        },
      },
      POST: { permission: "access:edit", action: "member.create", handle: createMember },
    },
  },
  {
    path: "/:member_id",
    methods: {
      PUT: { permission: "access:edit", action: "member.update", handle: updateMember },
      DELETE: {
        permission: "access:edit",
        action: "member.delete",
        async handle(c) {
          const id = c.req.param("member_id") ?? "";
          if (!(await accessRegister(c.env.ACCESS).removeMember(id))) throw none("member");
          return success(c, { id });
        },
      },
    },
  },
];

async function createToken(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { name, permissions, expires_on = null } = await jsonBody(c.req.raw, CreateToken);
  requireHeld(c, permissions);
  const nowMs = platform.now();
  if (expires_on !== null && !(Date.parse(expires_on) > nowMs))
    throw faultsError(400, CODE.invalid, [{ pointer: "/expires_on", message: "expires_on: must be in the future" }]);
  const token = { id: newId(), name, permissions, expiresOn: expires_on };
  const value = newSecret("token");
  const added: Added = await accessRegister(c.env.ACCESS).addToken(token, hashOf(value));
  requireAdded(added, "token", TOKENS_MAX);
  return success(c, { ...presentToken({ ...token, expired: false, createdMs: nowMs }), value }, { status: 201 });
}

async function createMember(c: AppContext, _config: Config, platform: Platform): Promise<Response> {
  const { email, role } = await jsonBody(c.req.raw, CreateMember);
  requireHeld(c, ROLES[role]);
  const nowMs = platform.now();
  const member = { id: newId(), email, role };
  const apiKey = newSecret("key");
  const added: Added = await accessRegister(c.env.ACCESS).addMember(member, hashOf(apiKey));
  requireAdded(added, "member", MEMBERS_MAX);
  const view = presentMember({ ...member, createdMs: nowMs, modifiedMs: nowMs });
  return success(c, { ...view, api_key: apiKey }, { status: 201 });
}

async function updateMember(c: AppContext): Promise<Response> {
  const { email, role } = await jsonBody(c.req.raw, UpdateMember);
  requireHeld(c, ROLES[role]);
  const register = accessRegister(c.env.ACCESS);
  const id = c.req.param("member_id") ?? "";
  const member: Member | null = await register.member(id);
  if (member === null) throw none("member");
  if (email !== undefined && emailKey(email) !== emailKey(member.email))
    throw faultsError(400, CODE.invalid, [{ pointer: "/email", message: "email: cannot be changed" }]);
  const changed: Member | null = await register.setRole(id, role);
  if (changed === null) throw none("member");
  return success(c, presentMember(changed));
}

/** @throws ApiError 403 naming what the caller would grant without holding it. */
function requireHeld(c: AppContext, wanted: readonly Permission[]): void {
  const missing = notHeld(c.var.caller, wanted);
  if (missing.length > 0)
    throw oneError(
      403,
      CODE.auth,
      `Authorization error: nobody grants what they do not hold; this needs ${missing.join(", ")}`,
    );
}

function requireAdded(added: Added, what: "token" | "member", max: number): void {
  if (added === "full")
    throw oneError(
      403,
      CODE.notAllowed,
      `creating a new ${what} is not allowed: exceeded max ${what}s allowed (${max})`,
    );
  if (added === "taken") throw oneError(409, CODE.conflict, "there is a member with this email already");
}

function none(what: "token" | "member"): ApiError {
  return oneError(404, CODE.noRoute, `no such ${what}`);
}

/** 32 hex digits, of chance: an id is never used again. */
function newId(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(16)));
}

function presentToken({ id, name, permissions, expiresOn, expired, createdMs }: Token): object {
  const issued_on = new Date(createdMs).toISOString();
  return { id, name, permissions, status: expired ? "expired" : "active", expires_on: expiresOn, issued_on };
}

function presentMember({ id, email, role, createdMs, modifiedMs }: Member): object {
  return {
    id,
    email,
    role,
    permissions: ROLES[role],
    created_on: new Date(createdMs).toISOString(),
    modified_on: new Date(modifiedMs).toISOString(),
  };
}
