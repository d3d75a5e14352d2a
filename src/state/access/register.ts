import { DurableObject } from "cloudflare:workers";
import { ACCESS_SHARDS, ACCESS_SPREAD_AT, ACCESS_SPREAD_MS } from "../../base/limits.ts";
import { answered, platform } from "../../base/platform.ts";
import { migrate } from "../../base/storage/migrate.ts";
import { sameHash } from "../../formats/secrets/credentials.ts";
import { ACCESS_STEPS } from "./access-migrations.ts";
import { AuditBook, type AuditEntry, type Audited } from "./audit-book.ts";
import type { CopiedSecret, Identified, Known, Proof } from "./proofs.ts";
import { Copied } from "./replica.ts";
import type { Role } from "./roles.ts";
import { type Holder, Sessions, type UsedLink } from "./sessions.ts";
import { type Added, Holders, type Member, type Token } from "./tokens-and-members.ts";

/** The owner of a session. */
export interface SignedIn {
  known: Known | "admin";
  /** When the session ends, since the epoch. */
  expiresMs: number;
}

/** What the register answers to a question about a proof. */
export interface RegisterAnswer extends Identified {
  /** For so long, in ms, the questions of this isolate go to the shards. 0: they need not. */
  spreadMs: number;
}

/** Deadline of a shard that has to drop its copy, in ms: the caller of a change waits. */
const DROP_MS = 3_000;

/** Deadline of the register for its shards, in ms. */
const SOURCE_MS = 2_000;

/**
 * Tokens, members and sessions, and what they changed: the object `access`. It stores hashes of
 * secrets only. Every request with a token or a key asks here, so a revoked one is refused from the
 * next request on.
 *
 * Where that is more than it can answer, isolates ask its {@link ACCESS_SHARDS} shards instead:
 * objects of this class that store nothing and hold a copy of tokens and members in memory. The
 * question goes to any of them: most requests may come with one and the same token.
 */
export class AccessRegister extends DurableObject<Env> {
  #opened: Tables | null = null;
  readonly #copied: Copied;
  /** Changes of access that are under way: no copy is handed out. */
  #changing = 0;
  readonly #pace = { second: 0, asked: 0, before: 0 };

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const ask = <T>(question: (register: DurableObjectStub<AccessRegister>) => Promise<T>): Promise<T> =>
      answered("the access register", SOURCE_MS, question(accessRegister(env.ACCESS)));
    this.#copied = new Copied(
      {
        copy: () => ask((register): Promise<CopiedSecret[] | null> => register.copy()),
        identify: (proof, keys) => ask((register): Promise<Identified> => register.identify(proof, keys)),
      },
      () => platform.now(),
    );
  }

  /** Shards have none, and so write nothing. */
  get #tables(): Tables {
    if (this.#opened !== null) return this.#opened;
    const { sql } = this.ctx.storage;
    migrate(this.ctx.storage, ACCESS_STEPS);
    this.#opened = { holders: new Holders(sql), sessions: new Sessions(sql), audit: new AuditBook(sql) };
    return this.#opened;
  }

  /**
   * Looks a proof up.
   * @param keys ids of the keys that did not prove the secret, if that is so: the answer says
   *   whether there is any such secret.
   */
  identify(proof: Proof, keys?: readonly string[]): RegisterAnswer {
    const now = platform.now();
    const { holders } = this.#tables;
    return {
      known: holders.of(proof, now),
      ...(keys !== undefined && { doubtful: holders.hasDoubtful(keys, now) }),
      spreadMs: this.#isBusy(now) ? ACCESS_SPREAD_MS : 0,
    };
  }

  /** {@link identify}, in a shard. */
  identifyHere(proof: Proof, keys?: readonly string[]): Promise<Identified> {
    return this.#copied.identify(proof, keys);
  }

  /** In a shard: drops the copy, before access is changed. */
  dropCopy(): void {
    this.#copied.drop();
  }

  /** What a shard holds; null: access is being changed. */
  copy(): CopiedSecret[] | null {
    return this.#changing > 0 ? null : this.#tables.holders.copy(platform.now());
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
    const { sessions } = this.#tables;
    return this.ctx.storage.transactionSync(() => {
      const now = platform.now();
      if (link !== null && !sessions.useLink(link, now)) return null;
      if (before !== null) sessions.close(before);
      return sessions.open(hash, holder, now);
    });
  }

  /** Whether a sign-in link has been used, by the hash of its code. */
  isLinkUsed(hash: Uint8Array): boolean {
    return this.#tables.sessions.isLinkUsed(hash);
  }

  /**
   * The owner of a session, with current permissions; null: no such session, or its owner is gone.
   * @param adminProof of a session opened with the current ADMIN_TOKEN; null: there is no such
   *   token.
   */
  sessionOf(hash: Uint8Array, adminProof: Uint8Array | null): { session: SignedIn | null } {
    const now = platform.now();
    const { sessions, holders } = this.#tables;
    const session = sessions.find(hash, now);
    if (session === null) return { session: null };
    const { holder, expiresMs } = session;
    if (holder.kind === "admin") {
      const isHolder = adminProof !== null && sameHash(holder.proof, adminProof);
      return { session: isHolder ? { known: "admin", expiresMs } : null };
    }
    const known = holders.byId(holder.kind, holder.id, now);
    if (known === null) return { session: null };
    return { session: { known, expiresMs: Math.min(expiresMs, known.expiresMs ?? Number.POSITIVE_INFINITY) } };
  }

  /** Closes a session, if there is one. */
  closeSession(hash: Uint8Array): void {
    this.#tables.sessions.close(hash);
  }

  /** Closes the other sessions of the owner of this one. @returns their number. */
  closeOtherSessions(hash: Uint8Array): number {
    return this.#tables.sessions.closeOthers(hash);
  }

  /** Ordered by creation. */
  tokens(): Token[] {
    return this.#tables.holders.tokens(platform.now());
  }

  /** @param checkedBy id of the key of the secret's check part; null: it has none. */
  addToken(
    token: Pick<Token, "id" | "name" | "permissions" | "expiresOn">,
    hash: Uint8Array,
    checkedBy: string | null = null,
  ): Promise<Added> {
    return this.#change((holders) => holders.addToken(token, hash, checkedBy, platform.now()));
  }

  /** @returns false: there is no such token. */
  removeToken(id: string): Promise<boolean> {
    return this.#change((holders) => holders.removeToken(id));
  }

  /** Ordered by address. */
  members(): Member[] {
    return this.#tables.holders.members();
  }

  /** null: there is no such member. */
  member(id: string): Member | null {
    return this.#tables.holders.member(id);
  }

  /** @param checkedBy as of {@link addToken}. */
  addMember(
    member: Pick<Member, "id" | "email" | "role">,
    hash: Uint8Array,
    checkedBy: string | null = null,
  ): Promise<Added> {
    return this.#change((holders) => holders.addMember(member, hash, checkedBy, platform.now()));
  }

  /**
   * @param from the role that the member must have. Earlier releases send none.
   * @returns the changed member; null: there is none, or it has another role.
   */
  setRole(id: string, role: Role, from: Role | null = null): Promise<Member | null> {
    return this.#change((holders) => holders.setRole(id, role, from, platform.now()));
  }

  /** @param from as of {@link setRole}. @returns false: as null there. */
  removeMember(id: string, from: Role | null = null): Promise<boolean> {
    return this.#change((holders) => holders.removeMember(id, from));
  }

  /** Notes a change, and deletes notes that are too old or too many. */
  note(entry: AuditEntry): void {
    const { audit } = this.#tables;
    this.ctx.storage.transactionSync(() => audit.note(entry, platform.now()));
  }

  /** Changes, newest first. */
  audit(offset: number, limit: number): { entries: Audited[]; total: number } {
    return this.#tables.audit.page(offset, limit, platform.now());
  }

  /**
   * Changes access once no shard has a copy of what it was. A copy that is asked for meanwhile is
   * not handed out, so from the change on each question meets it. Where no copy can be in use, no
   * shard is called, and the change is made before the first `await`.
   * @throws if a shard does not answer: then nothing is changed.
   */
  async #change<T>(run: (holders: Holders) => T): Promise<T> {
    const { holders } = this.#tables;
    this.#changing += 1;
    try {
      if (holders.copiedUntilMs() > platform.now()) await this.#dropCopies();
      return this.ctx.storage.transactionSync(() => run(holders));
    } finally {
      this.#changing -= 1;
    }
  }

  async #dropCopies(): Promise<void> {
    const drops = Array.from({ length: ACCESS_SHARDS }, (_, shard) =>
      answered("a shard of the access register", DROP_MS, accessShard(this.env.ACCESS, shard).dropCopy()),
    );
    const dropped = await Promise.allSettled(drops);
    for (const each of dropped) if (each.status === "rejected") throw each.reason;
  }

  /** Counts a question. @returns whether there were many in this second or the one before. */
  #isBusy(nowMs: number): boolean {
    const pace = this.#pace;
    const second = Math.floor(nowMs / 1_000);
    if (second !== pace.second) {
      pace.before = second === pace.second + 1 ? pace.asked : 0;
      pace.second = second;
      pace.asked = 0;
    }
    pace.asked += 1;
    return Math.max(pace.asked, pace.before) >= ACCESS_SPREAD_AT;
  }
}

interface Tables {
  holders: Holders;
  sessions: Sessions;
  audit: AuditBook;
}

/** The one register of the account. */
export function accessRegister(namespace: DurableObjectNamespace<AccessRegister>): DurableObjectStub<AccessRegister> {
  return namespace.getByName("access");
}

/** One of its shards, from 0 on. */
export function accessShard(
  namespace: DurableObjectNamespace<AccessRegister>,
  shard: number,
): DurableObjectStub<AccessRegister> {
  return namespace.getByName(`access ${shard}`);
}
