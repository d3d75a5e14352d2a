import { CODE, oneError } from "../errors.ts";

/** Every permission there is, and what a caller may do with it: CONTRACT 2, and docs/access.md. */
export const PERMISSIONS = [
  "logs:read",
  "logs:edit",
  "events:write",
  "functions:read",
  "functions:edit",
  "access:edit",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** What a member may be, and the permissions that this stands for. Those of functions hold nothing of the logs, and the other way round. */
export const ROLES = {
  "Super Administrator": PERMISSIONS,
  Administrator: PERMISSIONS,
  "Log Share": ["logs:read", "logs:edit"],
  "Log Share Reader": ["logs:read"],
  "Functions Admin": ["functions:read", "functions:edit"],
} as const satisfies { readonly [role: string]: readonly Permission[] };
export type Role = keyof typeof ROLES;

export const ROLE_NAMES = Object.keys(ROLES) as [Role, ...Role[]];

/** `admin`: whoever has ADMIN_TOKEN. `platform`: whoever the platform knows by a bearer that is not ours; we do not. */
export const CALLER_KINDS = ["admin", "token", "member", "platform"] as const;

/** Who calls. */
export interface Caller {
  kind: (typeof CALLER_KINDS)[number];
  id: string;
  /** Of a token, or a member's address. */
  name: string;
  permissions: ReadonlySet<Permission>;
  /** It reads no secret, whatever it may do: what a page shows lies about in a browser. */
  masked?: true;
}

export const ADMIN: Caller = { kind: "admin", id: "admin", name: "Admin token", permissions: new Set(PERMISSIONS) };

/** Whoever the platform's API is to judge. Nothing of the bearer is remembered, and it opens nothing here. */
export const PLATFORM_BEARER: Caller = {
  kind: "platform",
  id: "platform",
  name: "platform bearer",
  permissions: new Set(),
};

/** What of the wanted permissions a caller does not hold, and so cannot grant. Each once, in the order of {@link PERMISSIONS}. */
export function notHeld(caller: Caller, wanted: readonly Permission[]): Permission[] {
  return PERMISSIONS.filter((permission) => wanted.includes(permission) && !caller.permissions.has(permission));
}

/** Whether a caller reads the secrets of destinations as they were sent; all others read `****`. */
export function seesSecrets(caller: Caller): boolean {
  return caller.masked !== true && caller.permissions.has("logs:edit");
}

/** @throws ApiError 403 naming what is missing. */
export function requirePermission(caller: Caller, permission: Permission): void {
  if (!caller.permissions.has(permission))
    throw oneError(403, CODE.auth, `Authorization error: this needs the permission ${permission}`);
}
