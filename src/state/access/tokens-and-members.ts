import { ACCESS_COPY_MS, MEMBERS_MAX, TOKENS_MAX } from "../../base/limits.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { columns, Tables, verbatim } from "../../base/storage/sql.ts";
import { emailKey, sameHash } from "../../formats/secrets/credentials.ts";
import type { ACCESS_STEPS } from "./access-migrations.ts";
import { type CopiedSecret, isOver, isUnproven, type Known, type Proof } from "./proofs.ts";
import { type Permission, ROLES, type Role } from "./roles.ts";
import { locatorOf } from "./sessions.ts";

export interface Token {
  id: string;
  name: string;
  permissions: Permission[];
  /** RFC 3339, as sent; null: never. */
  expiresOn: string | null;
  expired: boolean;
  createdMs: number;
}

export interface Member {
  id: string;
  email: string;
  role: Role;
  createdMs: number;
  modifiedMs: number;
}

/** `full`: the maximum is reached. `taken`: there is a member with this address. */
export type Added = "added" | "full" | "taken";

type TokenRow = RowOf<typeof ACCESS_STEPS, "token">;

const MEMBER = columns("id", "email", "role", "createdMs", "modifiedMs");

/** What is known of a secret beside its holder. */
interface Secret {
  hash: ArrayBuffer;
  checkedBy: string | null;
}
const SECRET = columns("hash", "checkedBy");

/** The tables of tokens and members, and until when copies of them may be in use. */
export class Holders extends Tables {
  /** null: unknown, or of an expired token. */
  of(proof: Proof, nowMs: number): Known | null {
    return proof.kind === "token" ? this.#tokenOf(proof.hash, nowMs) : this.#memberOf(proof.email, proof.hash);
  }

  /** null: gone, or expired. */
  byId(kind: "token" | "member", id: string, nowMs: number): Known | null {
    if (kind === "token") {
      const row = this.sql.first<TokenRow>`SELECT * FROM token WHERE id = ${id}`;
      return row === null || isOver(row.expires_ms, nowMs) ? null : knownToken(row);
    }
    const member = this.member(id);
    return member === null ? null : knownMember(member);
  }

  /** Whether a secret is good whose check part is of none of these keys. */
  hasDoubtful(keys: readonly string[], nowMs: number): boolean {
    return this.sql.all<{ checked_by: string | null }>`
      SELECT checked_by FROM token WHERE expires_ms IS NULL OR expires_ms > ${nowMs}
      UNION SELECT checked_by FROM member`.some(({ checked_by }) => isUnproven(checked_by, keys));
  }

  /** All secrets, for a shard. They are noted to be out, one row in eight minutes. */
  copy(nowMs: number): CopiedSecret[] {
    if (this.copiedUntilMs() < nowMs + 2 * ACCESS_COPY_MS)
      this.sql.run`INSERT OR REPLACE INTO copied (id, until_ms) VALUES (1, ${nowMs + 10 * ACCESS_COPY_MS})`;
    return this.#secrets();
  }

  /** After it no shard uses a copy that it has now; in ms since the epoch. */
  copiedUntilMs(): number {
    return this.sql.first<{ until_ms: number }>`SELECT until_ms FROM copied`?.until_ms ?? 0;
  }

  /** Ordered by creation. */
  tokens(nowMs: number): Token[] {
    return this.sql.all<TokenRow>`SELECT * FROM token ORDER BY created_ms, id`.map((row) => ({
      id: row.id,
      name: row.name,
      permissions: JSON.parse(row.permissions) as Permission[],
      expiresOn: row.expires_on,
      expired: isOver(row.expires_ms, nowMs),
      createdMs: row.created_ms,
    }));
  }

  addToken(
    token: Pick<Token, "id" | "name" | "permissions" | "expiresOn">,
    hash: Uint8Array,
    checkedBy: string | null,
    nowMs: number,
  ): Added {
    if (this.#count("token") >= TOKENS_MAX) return "full";
    const { id, name, permissions, expiresOn } = token;
    this.sql.insert("token", {
      ...{ id, name, permissions: JSON.stringify(permissions), locator: locatorOf(hash), hash: hash.slice().buffer },
      ...{ expiresOn, expiresMs: expiresOn === null ? null : Date.parse(expiresOn), createdMs: nowMs, checkedBy },
    });
    return "added";
  }

  /** @returns false: there is no such token. */
  removeToken(id: string): boolean {
    return this.sql.all`DELETE FROM token WHERE id = ${id} RETURNING id`.length > 0;
  }

  /** Ordered by address. */
  members(): Member[] {
    return this.sql.all`SELECT ${MEMBER} FROM member ORDER BY email_key`;
  }

  /** null: there is no such member. */
  member(id: string): Member | null {
    return this.sql.first`SELECT ${MEMBER} FROM member WHERE id = ${id}`;
  }

  addMember(
    member: Pick<Member, "id" | "email" | "role">,
    hash: Uint8Array,
    checkedBy: string | null,
    nowMs: number,
  ): Added {
    const key = emailKey(member.email);
    if (this.sql.all`SELECT id FROM member WHERE email_key = ${key}`.length > 0) return "taken";
    if (this.#count("member") >= MEMBERS_MAX) return "full";
    const { id, email, role } = member;
    this.sql.insert("member", {
      ...{ id, email, emailKey: key, role, hash: hash.slice().buffer },
      ...{ createdMs: nowMs, modifiedMs: nowMs, checkedBy },
    });
    return "added";
  }

  /**
   * @param from the role that the member must have; null: any.
   * @returns the changed member; null: there is none, or it has another role.
   */
  setRole(id: string, role: Role, from: Role | null, nowMs: number): Member | null {
    return this.sql.first`
      UPDATE member SET role = ${role}, modified_ms = ${nowMs}
      WHERE id = ${id} AND role = coalesce(${from}, role) RETURNING ${MEMBER}`;
  }

  /** @param from as of {@link setRole}. @returns false: as null there. */
  removeMember(id: string, from: Role | null): boolean {
    const gone = this.sql.all`DELETE FROM member WHERE id = ${id} AND role = coalesce(${from}, role) RETURNING id`;
    return gone.length > 0;
  }

  #secrets(): CopiedSecret[] {
    const tokens = this.sql.all<TokenRow & Secret>`SELECT *, ${SECRET} FROM token`;
    const members = this.sql.all<Member & Secret & { emailKey: string }>`
      SELECT ${MEMBER}, ${SECRET}, email_key AS emailKey FROM member`;
    return [
      ...tokens.map((row) => copied(row, null, knownToken(row))),
      ...members.map((row) => copied(row, row.emailKey, knownMember(row))),
    ];
  }

  #tokenOf(hash: Uint8Array, nowMs: number): Known | null {
    const rows = this.sql.all<TokenRow>`SELECT * FROM token WHERE locator = ${locatorOf(hash)}`;
    const row = rows.find((each) => sameHash(new Uint8Array(each.hash), hash));
    return row === undefined || isOver(row.expires_ms, nowMs) ? null : knownToken(row);
  }

  #memberOf(email: string, hash: Uint8Array): Known | null {
    const row = this.sql.first<Member & Secret>`
      SELECT ${MEMBER}, ${SECRET} FROM member WHERE email_key = ${emailKey(email)}`;
    return row === null || !sameHash(new Uint8Array(row.hash), hash) ? null : knownMember(row);
  }

  #count(table: "token" | "member"): number {
    return this.sql.only`SELECT count(*) FROM ${verbatim(table)}`;
  }
}

function copied({ hash, checkedBy }: Secret, address: string | null, known: Known): CopiedSecret {
  return { hash: new Uint8Array(hash), emailKey: address, known, checkedBy };
}

function knownToken({ id, name, permissions, expires_ms }: TokenRow): Known {
  return {
    kind: "token",
    id,
    name,
    permissions: JSON.parse(permissions) as Permission[],
    expiresMs: expires_ms,
  };
}

function knownMember({ id, email, role }: Member): Known {
  return { kind: "member", id, name: email, permissions: [...ROLES[role]], expiresMs: null };
}
