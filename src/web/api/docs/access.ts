/** Tokens, members and the audit. */
import * as z from "zod";
import { EMAIL_MAX, MEMBERS_MAX, TOKEN_NAME_MAX, TOKENS_MAX } from "../../../base/limits.ts";
import { CALLER_KINDS, PERMISSIONS, ROLE_NAMES } from "../../../state/access/roles.ts";
import { paging } from "../query.ts";
import type { RouteDoc } from "../route.ts";
import { exactly, HexId, named, Time } from "./common.ts";

/** An entry may have 40 kB, and a page is one call of the register. */
const ENTRIES_PER_PAGE = 100;

const Permission = z.enum(PERMISSIONS);
const RoleName = z.enum(ROLE_NAMES);

export const CreateToken = exactly("CreateToken", {
  name: z
    .string()
    .min(1)
    .max(TOKEN_NAME_MAX)
    .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), {
      error: "must be text without control characters",
    })
    .meta({
      pattern: "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
      description: "For display; no control characters.",
    }),
  permissions: z
    .array(Permission)
    .min(1)
    .max(PERMISSIONS.length)
    .refine((each) => new Set(each).size === each.length, { error: "must name each permission once" })
    .meta({ uniqueItems: true, description: "Only permissions that the caller holds." }),
  expires_on: z.iso
    .datetime({ offset: true })
    .max(64)
    .nullable()
    .optional()
    .describe("RFC 3339, in the future. Default: never."),
});

export const CreateMember = exactly("CreateMember", {
  email: z.email().max(EMAIL_MAX).describe("Identifies the member; immutable."),
  role: RoleName.describe("Only roles whose permissions the caller holds."),
});

export const UpdateMember = exactly("UpdateMember", {
  email: z.string().max(EMAIL_MAX).optional().describe("Immutable; may be sent unchanged."),
  role: RoleName,
});

export const Token = named("Token", {
  id: HexId,
  name: z.string(),
  permissions: z.array(Permission),
  status: z.enum(["active", "expired"]),
  expires_on: z.string().nullable().describe("As sent; null: never."),
  issued_on: Time,
});
export type Token = z.infer<typeof Token>;

export const Member = named("Member", {
  id: HexId,
  email: z.string(),
  role: RoleName,
  permissions: z.array(Permission).describe("From the role."),
  created_on: Time,
  modified_on: Time,
});
export type Member = z.infer<typeof Member>;

export const LIST_TOKENS = {
  summary: "List the tokens",
  query: paging(TOKENS_MAX),
  result: Token,
  list: true,
} satisfies RouteDoc;

export const CREATE_TOKEN = {
  summary: "Create a token",
  description: `The token is returned only here: only its hash is stored. At most ${TOKENS_MAX} tokens; one more is a 403 with code 1004.`,
  body: CreateToken,
  result: z.object({ ...Token.shape, value: z.string().describe("The token, shown only once.") }),
  status: 201,
  examples: [
    { name: "For a service that sends events", body: { name: "shop", permissions: ["events:write"] } },
    {
      name: "For a person, with an end",
      body: { name: "on call", permissions: ["logs:read"], expires_on: "2099-12-31T00:00:00Z" },
    },
  ],
} satisfies RouteDoc;

export const DELETE_TOKEN = {
  summary: "Revoke a token",
  description: "In force for the next request. Only a token whose permissions the caller holds.",
  result: z.object({ id: z.string() }),
} satisfies RouteDoc;

export const LIST_MEMBERS = {
  summary: "List the members",
  query: paging(MEMBERS_MAX),
  result: Member,
  list: true,
} satisfies RouteDoc;

export const CREATE_MEMBER = {
  summary: "Add a member",
  description: `The key is returned only here: only its hash is stored. At most ${MEMBERS_MAX} members; one more is a 403 with code 1004. An existing email is a 409.`,
  body: CreateMember,
  result: z.object({ ...Member.shape, api_key: z.string().describe("The member's key, shown only once.") }),
  status: 201,
  errors: [409],
  examples: [{ name: "A member who reads", body: { email: "grace@example.com", role: "Log Share Reader" } }],
} satisfies RouteDoc;

export const UPDATE_MEMBER = {
  summary: "Change the role of a member",
  description: "Only of a member whose permissions the caller holds.",
  body: UpdateMember,
  result: Member,
  examples: [{ name: "Another role", body: { role: "Log Share" } }],
} satisfies RouteDoc;

export const DELETE_MEMBER = {
  summary: "Remove a member",
  description: "In force for the next request. Only a member whose permissions the caller holds.",
  result: z.object({ id: z.string() }),
} satisfies RouteDoc;

const AuditEntry = named("AuditEntry", {
  id: z.int().min(1),
  at: Time.describe("The latest time."),
  times: z.int().min(1).describe("How often the same was done; repeats within an hour are one entry."),
  first_at: Time.describe("The first of these times."),
  actor: z
    .object({ kind: z.enum([...CALLER_KINDS, "unknown"]), id: z.string(), name: z.string() })
    .describe(
      "Who made the change; `platform`: a caller whom only Cloudflare's API knows; `unknown`: refused credentials.",
    ),
  action: z.string().describe("The change, such as `job.create`."),
  resource: z
    .string()
    .nullable()
    .describe("Id of what was changed, or the address that refused credentials came from; null: unknown, or none."),
  outcome: z
    .enum(["done", "unconfirmed", "refused"])
    .describe("`unconfirmed`: it failed, but may have been made. `refused`: of unknown credentials."),
  body: z.unknown().describe("The body without secrets; null: none."),
  request_id: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const LIST_AUDIT = {
  summary: "List changes made over the API",
  description: "And refused credentials. Latest first; kept for 90 days. Repeats are one entry.",
  query: paging(ENTRIES_PER_PAGE),
  result: AuditEntry,
  list: true,
  examples: [{ name: "The latest ten", query: { per_page: "10" } }],
} satisfies RouteDoc;
