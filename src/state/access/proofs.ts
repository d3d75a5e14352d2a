import { toHex } from "../../base/bytes.ts";
import type { Permission } from "./roles.ts";

/** The proof of a request: never the secret itself. */
export type Proof = { kind: "token"; hash: Uint8Array } | { kind: "key"; email: string; hash: Uint8Array };

/** The token or member that a proof belongs to. */
export interface Known {
  kind: "token" | "member";
  id: string;
  name: string;
  permissions: Permission[];
  /** Since the epoch; null: never. */
  expiresMs: number | null;
}

/** What the register, or a copy of it, says of a proof. */
export interface Identified {
  /** null: unknown, or of an expired token. */
  known: Known | null;
  /**
   * Whether any good secret is not proven by the keys that the question names. Only answered if it
   * names keys.
   */
  doubtful?: boolean;
}

/** A row of a copy: whose secret it is, without the secret. */
export interface CopiedSecret {
  /** SHA-256 of the secret. */
  hash: Uint8Array;
  /** Of a member: the address, as it is compared. null: a token. */
  emailKey: string | null;
  known: Known;
  /** Id of the key that made the check part of the secret; null: it has none. */
  checkedBy: string | null;
}

/** What identifies a proof in a memory of an isolate. */
export function proofKey(proof: Proof): string {
  return proof.kind === "token" ? `token ${toHex(proof.hash)}` : `key ${toHex(proof.hash)} ${proof.email}`;
}

/** In ms since the epoch. */
export function isOver(expiresMs: number | null, nowMs: number): boolean {
  return expiresMs !== null && expiresMs <= nowMs;
}

/** Whether none of these keys made the check part of a secret. */
export function isUnproven(checkedBy: string | null, keys: readonly string[]): boolean {
  return checkedBy === null || !keys.includes(checkedBy);
}

/** Bounds a memory of an isolate. Sets and maps keep the order of insertion. */
export function dropOldest(of: Set<string> | Map<string, unknown>, max: number): void {
  const [oldest] = of.keys();
  if (of.size > max && oldest !== undefined) of.delete(oldest);
}
