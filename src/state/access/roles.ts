import { CODE, oneError } from "../../base/errors.ts";

/** All permissions. docs/access.md says what each allows. */
export const PERMISSIONS = [
  "logs:read",
  "logs:edit",
  "events:write",
  "functions:read",
  "functions:edit",
  "access:edit",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/**
 * Roles of members, and their permissions. Roles for functions give none for logs, and vice versa.
 */
export const ROLES = {
  "Super Administrator": PERMISSIONS,
  Administrator: PERMISSIONS,
  "Log Share": ["logs:read", "logs:edit"],
  "Log Share Reader": ["logs:read"],
  "Functions Admin": ["functions:read", "functions:edit"],
} as const satisfies { readonly [role: string]: readonly Permission[] };
export type Role = keyof typeof ROLES;

export const ROLE_NAMES = Object.keys(ROLES) as [Role, ...Role[]];

/**
 * `admin`: has ADMIN_TOKEN. `platform`: has a bearer that is not ours, which the platform judges.
 */
export const CALLER_KINDS = ["admin", "token", "member", "platform"] as const;

/** The sender of a request. */
export interface Caller {
  kind: (typeof CALLER_KINDS)[number];
  id: string;
  /** Name of a token, or address of a member. */
  name: string;
  permissions: ReadonlySet<Permission>;
  /** When its token ends, in ms since the epoch; null, absent: never. */
  expiresMs?: number | null;
  /** Reads no secrets, whatever its permissions: pages stay in a browser. */
  masked?: true;
}

export const ADMIN: Caller = { kind: "admin", id: "admin", name: "Admin token", permissions: new Set(PERMISSIONS) };

/**
 * A caller for the platform's API to judge. Its bearer is not stored and has no permissions here.
 */
export const PLATFORM_BEARER: Caller = {
  kind: "platform",
  id: "platform",
  name: "platform bearer",
  permissions: new Set(),
};

/**
 * Wanted permissions that a caller lacks, and so cannot grant: each once, in the order of
 * {@link PERMISSIONS}.
 */
export function notHeld(caller: Caller, wanted: readonly Permission[]): Permission[] {
  return PERMISSIONS.filter((permission) => wanted.includes(permission) && !caller.permissions.has(permission));
}

/**
 * Whether a caller reads the secrets of destinations; others read `****`. A change is answered with
 * the job: that alone must not show what its sender may not read.
 */
export function seesSecrets({ masked, permissions }: Caller): boolean {
  return masked !== true && permissions.has("logs:edit") && permissions.has("logs:read");
}

/** @param or is also enough. @throws ApiError 403 naming what is missing. */
export function requirePermission({ permissions }: Caller, permission: Permission, or = permission): void {
  if (!permissions.has(permission) && !permissions.has(or))
    throw oneError(403, CODE.auth, `Authorization error: this needs the permission ${permission}`);
}
