import { DurableObject } from "cloudflare:workers";
import { AUDIT_MAX, AUDIT_MS, MEMBERS_MAX, TOKENS_MAX } from "../limits.ts";
import { platform } from "../platform.ts";
import { migrate } from "../storage/migrate.ts";
import { emailKey, sameHash } from "./credentials.ts";
import { type Permission, ROLES, type Role } from "./roles.ts";
import { ACCESS_STEPS } from "./schema.ts";
import { type Holder, locatorOf, Sessions, type UsedLink } from "./sessions.ts";

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

/** The owner of a session. */
export interface SignedIn {
  known: Known | "admin";
  /** When the session ends, since the epoch. */
  expiresMs: number;
}

/** `full`: the maximum is reached. `taken`: there is a member with this address. */
export type Added = "added" | "full" | "taken";

/** One change made over the API. */
export interface AuditEntry {
  actor: { kind: string; id: string; name: string };
  action: string;
  /** Id of what was changed; null: unknown, or none. */
  resource: string | null;
  /** `unconfirmed`: the request failed, but the change may have been made. */
  outcome: "done" | "unconfirmed";
  /** The body, without secrets; null: none. */
  body: unknown;
  requestId: string | null;
}

export interface Audited extends AuditEntry {
  number: number;
  atMs: number;
}

interface TokenRow {
  [column: string]: SqlStorageValue;
  id: string;
  name: string;
  permissions: string;
  hash: ArrayBuffer;
  expires_on: string | null;
  expires_ms: number | null;
  created_ms: number;
}

interface MemberRow {
  [column: string]: SqlStorageValue;
  id: string;
  email: string;
  role: string;
  hash: ArrayBuffer;
  created_ms: number;
  modified_ms: number;
}

/**
 * Tokens, members and sessions, and what they changed. It stores hashes of secrets only. Every
 * request with a token or a key asks here, so a revoked one is refused from the next request on.
 */
export class AccessRegister extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #sessions: Sessions;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#sessions = new Sessions(ctx.storage.sql);
    migrate(ctx.storage, ACCESS_STEPS);
  }

  /** Looks a proof up. `known` null: unknown, or of an expired token. */
  identify(proof: Proof): { known: Known | null } {
    return { known: proof.kind === "token" ? this.#tokenOf(proof.hash) : this.#memberOf(proof.email, proof.hash) };
  }

  /**
   * Opens a session of the dashboard, known by the hash of its id.
   * @param before hash of the session that the same browser had: it is closed.
   * @param link the sign-in link that the session is opened by, which is used up by it.
   * @returns when it ends, in ms since the epoch; null: the link has been used, or has expired.
   */
  openSession(
    hash: Uint8Array,
    holder: Holder,
    before: Uint8Array | null,
    link: UsedLink | null = null,
  ): number | null {
    return this.ctx.storage.transactionSync(() => {
      const now = platform.now();
      if (link !== null && !this.#sessions.useLink(link, now)) return null;
      if (before !== null) this.#sessions.close(before);
      return this.#sessions.open(hash, holder, now);
    });
  }

  /** Whether a sign-in link has been used, by the hash of its code. */
  isLinkUsed(hash: Uint8Array): boolean {
    return this.#sessions.isLinkUsed(hash);
  }

  /**
   * The owner of a session, with current permissions; null: no such session, or its owner is gone.
   * @param adminProof of a session opened with the current ADMIN_TOKEN; null: there is no such
   *   token.
   */
  sessionOf(hash: Uint8Array, adminProof: Uint8Array | null): { session: SignedIn | null } {
    const session = this.#sessions.find(hash, platform.now());
    if (session === null) return { session: null };
    const { holder, expiresMs } = session;
    if (holder.kind === "admin") {
      const isHolder = adminProof !== null && sameHash(holder.proof, adminProof);
      return { session: isHolder ? { known: "admin", expiresMs } : null };
    }
    const known = holder.kind === "token" ? this.#tokenById(holder.id) : this.#memberById(holder.id);
    if (known === null) return { session: null };
    return { session: { known, expiresMs: Math.min(expiresMs, known.expiresMs ?? Number.POSITIVE_INFINITY) } };
  }

  /** Closes a session, if there is one. */
  closeSession(hash: Uint8Array): void {
    this.#sessions.close(hash);
  }

  /** Closes the other sessions of the owner of this one. @returns their number. */
  closeOtherSessions(hash: Uint8Array): number {
    return this.#sessions.closeOthers(hash);
  }

  /** Ordered by creation. */
  tokens(): Token[] {
    const now = platform.now();
    return this.#sql
      .exec<TokenRow>("SELECT * FROM token ORDER BY created_ms, id")
      .toArray()
      .map((row) => ({
        id: row.id,
        name: row.name,
        permissions: JSON.parse(row.permissions) as Permission[],
        expiresOn: row.expires_on,
        expired: isOver(row, now),
        createdMs: row.created_ms,
      }));
  }

  addToken(token: Pick<Token, "id" | "name" | "permissions" | "expiresOn">, hash: Uint8Array): Added {
    return this.ctx.storage.transactionSync(() => {
      if (this.#count("token") >= TOKENS_MAX) return "full";
      this.#sql.exec(
        "INSERT INTO token (id, name, permissions, locator, hash, expires_on, expires_ms, created_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        token.id,
        token.name,
        JSON.stringify(token.permissions),
        locatorOf(hash),
        hash.slice().buffer,
        token.expiresOn,
        token.expiresOn === null ? null : Date.parse(token.expiresOn),
        platform.now(),
      );
      return "added";
    });
  }

  /** @returns false: there is no such token. */
  removeToken(id: string): boolean {
    return this.#sql.exec("DELETE FROM token WHERE id = ? RETURNING id", id).toArray().length > 0;
  }

  /** Ordered by address. */
  members(): Member[] {
    return this.#sql.exec<MemberRow>("SELECT * FROM member ORDER BY email_key").toArray().map(memberOf);
  }

  /** null: there is no such member. */
  member(id: string): Member | null {
    const row = this.#sql.exec<MemberRow>("SELECT * FROM member WHERE id = ?", id).toArray()[0];
    return row === undefined ? null : memberOf(row);
  }

  addMember(member: Pick<Member, "id" | "email" | "role">, hash: Uint8Array): Added {
    return this.ctx.storage.transactionSync(() => {
      const key = emailKey(member.email);
      if (this.#sql.exec("SELECT id FROM member WHERE email_key = ?", key).toArray().length > 0) return "taken";
      if (this.#count("member") >= MEMBERS_MAX) return "full";
      const now = platform.now();
      this.#sql.exec(
        "INSERT INTO member (id, email, email_key, role, hash, created_ms, modified_ms) VALUES (?, ?, ?, ?, ?, ?, ?)",
        member.id,
        member.email,
        key,
        member.role,
        hash.slice().buffer,
        now,
        now,
      );
      return "added";
    });
  }

  /** @returns the changed member; null: there is none. */
  setRole(id: string, role: Role): Member | null {
    this.#sql.exec("UPDATE member SET role = ?, modified_ms = ? WHERE id = ?", role, platform.now(), id);
    return this.member(id);
  }

  /** @returns false: there is no such member. */
  removeMember(id: string): boolean {
    return this.#sql.exec("DELETE FROM member WHERE id = ? RETURNING id", id).toArray().length > 0;
  }

  /** Notes a change, and deletes notes that are too old or too many. */
  note(entry: AuditEntry): void {
    this.ctx.storage.transactionSync(() => {
      const now = platform.now();
      this.#sql.exec("INSERT INTO audit (at_ms, entry) VALUES (?, ?)", now, JSON.stringify(entry));
      this.#sql.exec("DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?", AUDIT_MAX);
      // Numbers are in the order of times: the search ends at the first row that stays.
      this.#sql.exec(
        "DELETE FROM audit WHERE number < (SELECT number FROM audit WHERE at_ms >= ? ORDER BY number LIMIT 1)",
        now - AUDIT_MS,
      );
    });
  }

  /** Changes, newest first. */
  audit(offset: number, limit: number): { entries: Audited[]; total: number } {
    const since = platform.now() - AUDIT_MS;
    const { total } = this.#sql
      .exec<{ total: number }>("SELECT count(*) AS total FROM audit WHERE at_ms >= ?", since)
      .one();
    const entries = this.#sql
      .exec<{ number: number; at_ms: number; entry: string }>(
        "SELECT * FROM audit WHERE at_ms >= ? ORDER BY number DESC LIMIT ? OFFSET ?",
        since,
        limit,
        offset,
      )
      .toArray()
      .map(({ number, at_ms, entry }) => ({ ...(JSON.parse(entry) as AuditEntry), number, atMs: at_ms }));
    return { entries, total };
  }

  #tokenOf(hash: Uint8Array): Known | null {
    const rows = this.#sql.exec<TokenRow>("SELECT * FROM token WHERE locator = ?", locatorOf(hash)).toArray();
    const row = rows.find((each) => sameHash(new Uint8Array(each.hash), hash));
    return row === undefined ? null : knownToken(row);
  }

  #tokenById(id: string): Known | null {
    const row = this.#sql.exec<TokenRow>("SELECT * FROM token WHERE id = ?", id).toArray()[0];
    return row === undefined ? null : knownToken(row);
  }

  #memberOf(email: string, hash: Uint8Array): Known | null {
    const row = this.#sql.exec<MemberRow>("SELECT * FROM member WHERE email_key = ?", emailKey(email)).toArray()[0];
    if (row === undefined || !sameHash(new Uint8Array(row.hash), hash)) return null;
    return knownMember(memberOf(row));
  }

  #memberById(id: string): Known | null {
    const member = this.member(id);
    return member === null ? null : knownMember(member);
  }

  #count(table: "token" | "member"): number {
    return this.#sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n;
  }
}

function isOver({ expires_ms }: TokenRow, nowMs: number): boolean {
  return expires_ms !== null && expires_ms <= nowMs;
}

/** null: expired. */
function knownToken(row: TokenRow): Known | null {
  if (isOver(row, platform.now())) return null;
  return {
    kind: "token",
    id: row.id,
    name: row.name,
    permissions: JSON.parse(row.permissions) as Permission[],
    expiresMs: row.expires_ms,
  };
}

function knownMember({ id, email, role }: Member): Known {
  return { kind: "member", id, name: email, permissions: [...ROLES[role]], expiresMs: null };
}

function memberOf({ id, email, role, created_ms, modified_ms }: MemberRow): Member {
  return { id, email, role: role as Role, createdMs: created_ms, modifiedMs: modified_ms };
}

/** The one register of the account. */
export function accessRegister(namespace: DurableObjectNamespace<AccessRegister>): DurableObjectStub<AccessRegister> {
  return namespace.getByName("access");
}
