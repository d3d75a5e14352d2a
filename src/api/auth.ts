import { createHash, timingSafeEqual } from "node:crypto";
import { CODE, oneError } from "../errors.ts";

/** What a caller may do; a route names the one it needs. */
export type Permission =
  | "logs:read"
  | "logs:edit"
  | "events:write"
  | "functions:read"
  | "functions:edit"
  | "access:edit";

const ALL: readonly Permission[] = [
  "logs:read",
  "logs:edit",
  "events:write",
  "functions:read",
  "functions:edit",
  "access:edit",
];

export interface Caller {
  permissions: ReadonlySet<Permission>;
}

const hash = (text: string): Uint8Array => createHash("sha256").update(text).digest();

/**
 * Who is calling. Hashes are compared, in constant time: neither the length of a token nor how much of it is right shows.
 * @throws ApiError 401 without known credentials.
 */
export function authenticate(request: Request, adminToken: string): Caller {
  const token = /^Bearer +([\u0021-\u007e]+) *$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  if (token !== undefined && timingSafeEqual(hash(token), hash(adminToken))) return { permissions: new Set(ALL) };
  throw oneError(401, CODE.auth, "Authentication error", { "WWW-Authenticate": "Bearer" });
}

/** @throws ApiError 403 naming what is missing. */
export function requirePermission(caller: Caller, permission: Permission): void {
  if (!caller.permissions.has(permission))
    throw oneError(403, CODE.auth, `Authorization error: this needs the permission ${permission}`);
}
