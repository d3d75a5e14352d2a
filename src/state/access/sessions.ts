import { SESSION_MS, SESSIONS_MAX, SESSIONS_OF_ONE_MAX } from "../../base/limits.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import { sameHash } from "../../formats/secrets/credentials.ts";
import { SIGN_IN_LINK_MS } from "../../formats/secrets/sign-in-link.ts";
import type { ACCESS_STEPS } from "./access-migrations.ts";

/**
 * The owner of a session. The admin's holds a proof of the ADMIN_TOKEN it was opened with: another
 * token ends it.
 */
export type Holder = { kind: "admin"; proof: Uint8Array } | { kind: "token" | "member"; id: string };

/** An open session. */
export interface Session {
  holder: Holder;
  /** Since the epoch. */
  expiresMs: number;
}

/** A sign-in link with a right signature. */
export interface UsedLink {
  /** SHA-256 of its code. */
  hash: Uint8Array;
  /** Since the epoch. */
  expiresMs: number;
}

type SessionRow = RowOf<typeof ACCESS_STEPS, "session">;

/**
 * Sessions of the dashboard. A session is known by the hash of its id, which only the browser has.
 * The permissions of its holder are looked up for each request.
 */
export class Sessions extends Tables {
  /**
   * Opens a session, and deletes those that are over. Beyond the maximum the oldest go, first those
   * of the same holder: signing in often does not sign out others.
   * @returns when it ends, in ms since the epoch.
   */
  open(hash: Uint8Array, holder: Holder, nowMs: number): number {
    const expiresMs = nowMs + SESSION_MS;
    this.sql.run`DELETE FROM session WHERE expires_ms <= ${nowMs}`;
    this.sql.insert("session", {
      ...{ locator: locatorOf(hash), hash: hash.slice().buffer, kind: holder.kind, holder: nameOf(holder) },
      adminProof: holder.kind === "admin" ? holder.proof.slice().buffer : null,
      ...{ createdMs: nowMs, expiresMs },
    });
    this.sql.run`
      DELETE FROM session WHERE kind = ${holder.kind} AND holder = ${nameOf(holder)} AND number <= (SELECT number
      FROM session WHERE kind = ${holder.kind} AND holder = ${nameOf(holder)}
      ORDER BY number DESC LIMIT 1 OFFSET ${SESSIONS_OF_ONE_MAX})`;
    this.sql.run`
      DELETE FROM session WHERE number <= (SELECT number FROM session ORDER BY number DESC
        LIMIT 1 OFFSET ${SESSIONS_MAX})`;
    return expiresMs;
  }

  /** The open session; null: there is none, or it is over. */
  find(hash: Uint8Array, nowMs: number): Session | null {
    const row = this.#row(hash);
    if (row === undefined || row.expires_ms <= nowMs) return null;
    return { holder: holderOf(row), expiresMs: row.expires_ms };
  }

  /** Closes the session, if there is one. */
  close(hash: Uint8Array): void {
    this.sql.run`DELETE FROM session WHERE locator = ${locatorOf(hash)} AND hash = ${hash.slice().buffer}`;
  }

  /** Closes all sessions of the holder of this one, except this one. @returns their number. */
  closeOthers(hash: Uint8Array): number {
    const row = this.#row(hash);
    if (row === undefined) return 0;
    return this.sql.all`
      DELETE FROM session WHERE kind = ${row.kind} AND holder = ${row.holder} AND number <> ${row.number}
      RETURNING number`.length;
  }

  /** Uses a sign-in link up. @returns false: it was used before, or has expired. */
  useLink({ hash, expiresMs }: UsedLink, nowMs: number): boolean {
    // Kept for longer than a link works, in case the clock is set back.
    this.sql.run`DELETE FROM used_link WHERE expires_ms < ${nowMs - SIGN_IN_LINK_MS}`;
    if (expiresMs <= nowMs || this.isLinkUsed(hash)) return false;
    this.sql.run`INSERT INTO used_link (hash, expires_ms) VALUES (${hash.slice().buffer}, ${expiresMs})`;
    return true;
  }

  isLinkUsed(hash: Uint8Array): boolean {
    return this.sql.all`SELECT 1 FROM used_link WHERE hash = ${hash.slice().buffer}`.length > 0;
  }

  #row(hash: Uint8Array): SessionRow | undefined {
    const rows = this.sql.all<SessionRow>`SELECT * FROM session WHERE locator = ${locatorOf(hash)}`;
    return rows.find((each) => sameHash(new Uint8Array(each.hash), hash));
  }
}

function nameOf(holder: Holder): string {
  return holder.kind === "admin" ? "admin" : holder.id;
}

function holderOf({ kind, holder, admin_proof }: SessionRow): Holder {
  if (kind === "admin") return { kind, proof: new Uint8Array(admin_proof ?? new ArrayBuffer(0)) };
  return { kind: kind as "token" | "member", id: holder };
}

/** The first six bytes, for the index. The rest is compared in constant time. */
export function locatorOf(hash: Uint8Array): number {
  return hash.slice(0, 6).reduce((value, byte) => value * 256 + byte, 0);
}
