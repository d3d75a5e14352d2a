/** Callers of the API other than the admin. */
import type { Permission, Role } from "../../../src/state/access/roles.ts";
import { call } from "./harness.ts";

/** Headers instead of the admin's token. */
export type Headers = Record<string, string | null>;

export interface Principal {
  id: string;
  /** Shown only once. */
  secret: string;
  headers: Headers;
}

export const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });

export const pair = (email: string, key: string): Headers => ({
  authorization: null,
  "x-auth-email": email,
  "x-auth-key": key,
});

/** Creates a token as the admin. @throws if it is refused. */
export async function token(permissions: readonly Permission[], fields: object = {}): Promise<Principal> {
  const answer = await call<{ id: string; value: string }>("POST", "/tokens", { name: "ci", permissions, ...fields });
  if (answer.status !== 201)
    throw new Error(`creating a token: ${answer.status} ${JSON.stringify(answer.body.errors)}`);
  const { id, value } = answer.body.result;
  return { id, secret: value, headers: bearer(value) };
}

/** Adds a member as the admin. @throws if it is refused. */
export async function member(role: Role, email = "ada@example.com"): Promise<Principal> {
  const answer = await call<{ id: string; api_key: string }>("POST", "/members", { email, role });
  if (answer.status !== 201) throw new Error(`adding a member: ${answer.status} ${JSON.stringify(answer.body.errors)}`);
  const { id, api_key } = answer.body.result;
  return { id, secret: api_key, headers: pair(email, api_key) };
}
