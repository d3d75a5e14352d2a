import { DurableObject } from "cloudflare:workers";
import { DEDUP_MS, SENT_FORMS_MAX } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { settled as allSettled, answered, platform } from "../../base/platform.ts";
import { Alarm } from "../../base/storage/alarm.ts";
import { Sql } from "../../base/storage/sql.ts";
import { readKeyShards } from "../../config.ts";
import { created, deleted, type JobDraft, updated } from "../../ship/job/change.ts";
import {
  CLOCK_SKEW_MS,
  isLost,
  type JobConfig,
  type JobsSnapshot,
  versionIn,
  type Window,
} from "../../ship/job/config.ts";
import type { JobBody } from "../../ship/job/job-schema.ts";
import { enabledWindows, isSettling } from "../../ship/job/windows.ts";
import { traceLog } from "../../ship/log/trace-log.ts";
import type { AttachmentFact, Seen } from "../functions/attachments.ts";
import type { LocalCode, StoredCode } from "../functions/local-types.ts";
import { Attachments } from "./attachments.ts";
import { CONTROL_STEPS } from "./control-migrations.ts";
import { ControlState, configOf, type JobRow } from "./control-state.ts";
import { type FunctionPatch, type FunctionSetting, FunctionSettings } from "./function-settings.ts";
import { LocalStore } from "./local-store.ts";
import { type Rerun, type RerunAsk, type RerunRefusal, RerunRows } from "./rerun-rows.ts";
import { PATIENCE, Rollout } from "./rollout.ts";
import type { SavedSearch, SearchDraft, SearchOwner } from "./saved-searches.ts";
import { SearchSlots } from "./search-slots.ts";

export interface StoredJob {
  body: Omit<JobBody, "destination_conf">;
  config: JobConfig;
  createdMs: number;
  modifiedMs: number;
  /** The newest first; absent: it was not asked for, or of a release that knows of none. */
  reruns?: readonly Rerun[];
}

/**
 * The changes since a state: everything as it is now, or nothing. Name the returned state in the
 * next call.
 */
export type ConfigSnapshot = JobsSnapshot | { state: JobsSnapshot["state"]; jobs: null };

/** `missing` as of {@link JobChange}. */
export type RerunBegun = { kind: "begun"; rerun: Rerun; missing: readonly number[] } | RerunRefusal;

/** `missing`: shards of the log that have not confirmed it yet; the alarm sends it again. */
export type JobChange =
  | { kind: "changed"; job: StoredJob; missing: readonly number[] }
  | { kind: "refused"; why: string }
  | { kind: "conflict" | "gone" };

/** `setting` null: none any more. `missing` as of {@link JobChange}. */
export type FunctionChange =
  | { kind: "changed"; setting: FunctionSetting | null; missing: readonly number[] }
  | { kind: "refused"; why: string };

/** `missing` as of {@link JobChange}. */
export type SearchChange =
  | { kind: "changed"; search: SavedSearch; missing: readonly number[] }
  | { kind: "refused"; why: string }
  | { kind: "gone" };

/**
 * How long it counts that a handler could not tell a shard of a message, in ms: longer than a dead
 * letter waits for its next delivery (`retry_delay` in wrangler.jsonc), which says so again.
 */
const UNNOTED_MS = 14_400_000;

/**
 * How long the shards may take to say what they know, before the first change of an instance, in
 * ms.
 */
const ASK_MS = 1_000;

/**
 * The account's jobs and the settings of its functions: the one place where they change. Before a
 * change is answered, it is sent to all shards of the log, which decide by their copies. A handler
 * of the queue that cannot reach this object misses no change.
 */
export class ControlPlane extends DurableObject<Env> {
  readonly #sql: Sql;
  readonly #functions: FunctionSettings;
  readonly #attachments: Attachments;
  readonly #local: LocalStore;
  readonly #state: ControlState;
  readonly #rollout: Rollout;
  readonly #reruns: RerunRows;
  readonly #searches = new SearchSlots();
  readonly #sentForms = new Set<string>();
  /** Shards that have told this instance what they know, and those that it has asked. */
  readonly #told = new Set<number>();
  readonly #asked = new Set<number>();
  /** Tests override it, so that they do not wait. */
  readonly patience = { ...PATIENCE };

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { sql } = ctx.storage;
    this.#sql = new Sql(sql);
    this.#functions = new FunctionSettings(sql);
    this.#attachments = new Attachments(sql);
    this.#local = new LocalStore(sql);
    this.#state = new ControlState(sql, this.#functions);
    this.#reruns = new RerunRows(sql, this.#state);
    const alarm = new Alarm(ctx.storage);
    this.#rollout = new Rollout(ctx, env, { state: this.#state, alarm, patience: this.patience });
    alarm.begin(ctx, CONTROL_STEPS, () => this.keyShards());
  }

  /** All configurations, if anything has changed since that state; "" means no state. */
  configSince(state: string): ConfigSnapshot {
    const current = this.#state.state();
    return current === state ? { state, jobs: null } : this.#state.snapshot();
  }

  /**
   * A shard of the log asks whether what it has is in force. It is in the list from then on.
   * @param state that it has; "": none.
   * @returns as {@link ControlPlane.configSince}. It is to be taken, whatever its mark.
   */
  join(shard: number, state: string): ConfigSnapshot {
    this.#overtakeIfLost(state);
    this.#told.add(shard);
    this.#rollout.change(() => this.#state.addShard(shard));
    return this.configSince(state);
  }

  /** The shards of the log that have come into being, in order. */
  shards(): number[] {
    return this.#state.shards();
  }

  /**
   * Notes that a message that is a dead letter, or may become one, is unknown to its shard: then
   * the queue does not say that it waits. @param takenInMs of its oldest part; 0: unknown.
   */
  unnoted(takenInMs: number): void {
    const now = platform.now();
    const { unnotedMs } = this.standing();
    this.#sql.run`
      UPDATE control SET unnoted_ms = ${Math.min(unnotedMs ?? takenInMs, takenInMs)}, unnoted_at_ms = ${now}`;
  }

  /** The shards of the log, and the oldest intake of what none of them knows of; null: nothing. */
  standing(): { shards: number[]; unnotedMs: number | null } {
    // What a clock that was ahead has noted holds nothing back.
    const row = this.#sql.first<{ unnoted_ms: number }>`
      SELECT unnoted_ms FROM control WHERE abs(unnoted_at_ms - ${platform.now()}) < ${UNNOTED_MS}`;
    return { shards: this.#state.shards(), unnotedMs: row?.unnoted_ms ?? null };
  }

  /** KEY_SHARDS, as it was when this object came into being; null: it is malformed. */
  keyShards(): number | null {
    return this.#state.keyShards(readKeyShards(this.env));
  }

  /** @returns whether a caller may begin a search; see {@link SearchSlots}. */
  beginSearch(caller: string, search: string): boolean {
    return this.#searches.take(caller, search, platform.now());
  }

  endSearch(caller: string, search: string): void {
    this.#searches.free(caller, search);
  }

  list(): StoredJob[] {
    return this.#state
      .rows()
      .filter(({ deleted_ms }) => deleted_ms === null)
      .map(stored);
  }

  get(id: number): StoredJob | null {
    const row = this.#state.live(id);
    return row === null ? null : { ...stored(row), reruns: this.reruns(id) };
  }

  async create(draft: JobDraft): Promise<JobChange> {
    const isSure = await this.#askShards(true);
    const now = platform.now();
    let id = 0;
    const refusal = this.#rollout.change((): string | null => {
      const why = this.creationRefusal();
      if (why !== null) return why;
      id = this.#state.nextId(!isSure, now);
      const config = created(id, draft, this.#state.next(), now);
      const texts = { body: JSON.stringify(draft.body), config: JSON.stringify(config) };
      this.#sql.insert("job", { id, ...texts, created_ms: now, modified_ms: now });
      return null;
    });
    return refusal === null ? this.#confirmed(id, []) : { kind: "refused", why: refusal };
  }

  /**
   * @param basedOn the `modifiedVersion` of the job that the draft is based on; if it has changed,
   *   that is a conflict.
   * @param destinationChanged the destination differs, not only its seal.
   */
  async update(id: number, basedOn: number, draft: JobDraft, destinationChanged: boolean): Promise<JobChange> {
    await this.#askShards();
    const now = platform.now();
    let windows: Window[] = [];
    const change = this.#rollout.change((): "gone" | "conflict" | "changed" => {
      const row = this.#state.live(id);
      if (row === null) return "gone";
      const before = configOf(row);
      if (before.modifiedVersion !== basedOn) return "conflict";
      const config = updated(before, draft, destinationChanged, this.#state.next(), now);
      windows = config.windows;
      const set = { body: JSON.stringify(draft.body), config: JSON.stringify(config), modified_ms: now };
      this.#sql.update("job", id, set);
      return "changed";
    });
    return change === "changed" ? this.#confirmed(id, windows) : { kind: change };
  }

  /**
   * Removes the job from the list at once. Its log delivers what it holds, or drops it with
   * `discard`. A deleted job can still be discarded while its log drains. Its reruns are cancelled.
   * @param id of a job; with `isRerun`, of what carries one out.
   */
  async remove(id: number, discard: boolean, isRerun = false): Promise<JobChange> {
    await this.#askShards();
    const now = platform.now();
    let windows: Window[] = [];
    const change = this.#rollout.change((): "gone" | "changed" => {
      const row = this.#state.row(id);
      if (row === null) return "gone";
      const before = configOf(row);
      if ((before.rerunOf !== undefined) !== isRerun) return "gone";
      windows = enabledWindows(before.windows, false, now);
      // A caller that was answered "not in force yet" repeats the request until it is.
      if (before.deletedMs !== null && (before.discard || !discard))
        return this.#state.isConfirmed(before.version) ? "gone" : "changed";
      const given = this.#state.next();
      const remove = (each: JobRow, drops: boolean, closed: Window[]): void => {
        const config = deleted(configOf(each), drops, closed, given, now);
        const set = { config: JSON.stringify(config), deleted_ms: config.deletedMs, modified_ms: now };
        this.#sql.update("job", each.id, set);
      };
      remove(row, discard, windows);
      const open = new Set(this.#reruns.open(id).map((rerun) => rerun.id));
      for (const each of this.#state.rows()) if (open.has(each.id)) remove(each, true, []);
      return "changed";
    });
    if (change === "changed") return this.#confirmed(id, windows);
    // "Gone" also answers a caller whose first request got no answer.
    await settled(windows);
    return { kind: "gone" };
  }

  /** Begins a rerun. */
  async rerun(ask: RerunAsk): Promise<RerunBegun> {
    const isSure = await this.#askShards(true);
    const begun = this.#rollout.change(() => this.#reruns.begin(ask, isSure));
    if (typeof begun !== "number") return begun;
    const missing = await this.#rollout.bring();
    const rerun = this.reruns(ask.job).find(({ id }) => id === begun);
    return rerun === undefined ? { kind: "gone" } : { kind: "begun", rerun, missing };
  }

  /** Reruns of a job, or of all, the newest first. */
  reruns(of?: number): Rerun[] {
    return this.#reruns.list(of);
  }

  /** Notes how a rerun was found to have ended. */
  rerunEnded(id: number, end: object): void {
    this.#reruns.ended(id, end);
  }

  /** Why no job can be created; null: one can. */
  creationRefusal(): string | null {
    return this.#state.creationRefusal();
  }

  /** Deleted jobs whose logs may still hold something, and when they were deleted; no reruns. */
  draining(): { id: number; deletedMs: number }[] {
    return this.#state.rows().flatMap((row) => {
      const { id, deleted_ms: deletedMs } = row;
      return deletedMs === null || configOf(row).rerunOf !== undefined ? [] : [{ id, deletedMs }];
    });
  }

  /** Deletes the row of a job that was deleted long ago and whose log has gone. */
  forget(id: number): void {
    const old = platform.now() - DEDUP_MS;
    this.#rollout.change(() => {
      const deleted = this.#sql.run`DELETE FROM job WHERE id = ${id} AND deleted_ms < ${old}`;
      if (deleted > 0) this.#state.next();
    });
  }

  savedSearches(): SavedSearch[] {
    return this.#state.searches.list();
  }

  /** @param id null: a new one. @param by who makes it; of one that there is, that stays. */
  async putSearch(id: number | null, draft: SearchDraft, by: SearchOwner): Promise<SearchChange> {
    await this.#askShards();
    const { searches } = this.#state;
    const change = this.#rollout.change(() => {
      const before = searches.list().find((each) => each.id === id) ?? null;
      return id !== null && before === null
        ? null
        : searches.put(before, draft, by, this.#state.next(), platform.now());
    });
    if (typeof change === "string") return { kind: "refused", why: change };
    const missing = await this.#rollout.bring();
    const search = searches.list().find((each) => each.id === change);
    return search === undefined ? { kind: "gone" } : { kind: "changed", search, missing };
  }

  /** Its counts go with it. */
  async removeSearch(id: number): Promise<void> {
    await this.#askShards();
    this.#rollout.change(() => {
      this.#state.searches.remove(id);
      this.#state.next();
    });
    await this.#rollout.bring();
  }

  /** Settings of functions, by name. */
  functionSettings(): FunctionSetting[] {
    return this.#functions.list();
  }

  /** null: no settings. */
  functionSetting(name: string): FunctionSetting | null {
    return this.#functions.get(name);
  }

  /**
   * Sets what is named. If that switches logging, the answer waits until no clock can stamp an
   * event on the other side of the switch.
   * @param attachment what the platform has done with it meanwhile; kept even if the setting is
   *   refused.
   */
  async setFunction(
    name: string,
    patch: FunctionPatch,
    attachment: "made" | "given up" | null = null,
  ): Promise<FunctionChange> {
    await this.#askShards();
    const now = platform.now();
    const change = this.#rollout.change(() => {
      if (attachment === "made") this.#attachments.made(name, now);
      if (attachment === "given up") this.#attachments.giveUp(name);
      return this.#functions.set(name, patch, now, () => {
        const given = this.#state.next();
        this.#state.optOutsChanged(given, now);
        return given.version;
      });
    });
    if (change.kind === "refused") return change;
    const { version, windows } = change.switch;
    const setting = this.#functions.get(name);
    // Of an earlier switch, too: a repeated request is not in force before the first one is
    // confirmed.
    if (!this.#state.isConfirmed(version)) await this.#rollout.bring();
    await settled(windows);
    return { kind: "changed", setting, missing: this.#missingOf(version) };
  }

  /**
   * Functions that should be attached to this service, with their state; without those whose
   * logging is off.
   */
  attachments(): AttachmentFact[] {
    return this.#attachments.list();
  }

  /** null: not requested, or its logging is off. */
  attachment(name: string): AttachmentFact | null {
    return this.#attachments.get(name);
  }

  /** Names of functions to check, least recently tried first. */
  attachmentsDue(atMost: number): string[] {
    return this.#attachments.due(atMost, platform.now());
  }

  /**
   * Takes in what answers of the platform showed. An unknown attachment is watched from then on.
   */
  noteAttachments(seen: readonly Seen[]): void {
    this.ctx.storage.transactionSync(() => {
      for (const each of seen) this.#attachments.see(each);
    });
  }

  /**
   * Deletes the settings of a function, its attachment and its local code. Later events of it ship.
   * @returns null: there was nothing. A repeated call completes a deletion that is not confirmed
   *   yet.
   */
  async removeFunction(name: string): Promise<FunctionChange | null> {
    const had = this.ctx.storage.transactionSync(() => {
      const wasAttached = this.#attachments.giveUp(name);
      return this.#local.remove(name) || wasAttached;
    });
    const known =
      had || this.#functions.get(name) !== null || !this.#state.isConfirmed(this.#functions.switchedVersion(name));
    return known ? this.setFunction(name, { logging: "unset", tailConsumers: null, kept: null, expect: null }) : null;
  }

  /**
   * Stores the code of a function that runs locally, in place of the version before. @returns why
   * not; null: stored.
   */
  storeLocalFunction(name: string, code: LocalCode): string | null {
    return this.ctx.storage.transactionSync(() => this.#local.put(name, crypto.randomUUID(), code));
  }

  /** Changes with every upload. null: no such function runs locally. */
  localVersion(name: string): string | null {
    return this.#local.version(name);
  }

  /** null: no such function runs locally. */
  localFunction(name: string): StoredCode | null {
    return this.#local.get(name);
  }

  /**
   * Whether the form of this id is sent for the first time. Kept in memory: a second press of its
   * button follows at once.
   */
  isFirstSent(form: string): boolean {
    const isFirst = !this.#sentForms.has(form);
    this.#sentForms.add(form);
    const [oldest] = this.#sentForms;
    if (this.#sentForms.size > SENT_FORMS_MAX && oldest !== undefined) this.#sentForms.delete(oldest);
    return isFirst;
  }

  /**
   * Sends changes that were not confirmed. Each change arms it, in case this object dies before it
   * sends them.
   */
  override alarm(): Promise<void> {
    return this.#rollout.resume();
  }

  /** The same, for a second, independent clock. */
  drive(): Promise<void> {
    return this.#rollout.resume();
  }

  /**
   * Before the first change of an instance: a storage that was restored to an earlier time learns
   * from the shards what it has lost, and gives no version again. One that does not answer tells
   * later, when it joins.
   * @param isAgain also asks those that did not answer before.
   * @returns whether all have told.
   */
  async #askShards(isAgain = false): Promise<boolean> {
    const due = this.#state.shards().filter((shard) => !this.#told.has(shard) && (isAgain || !this.#asked.has(shard)));
    const answers = await allSettled(due, 16, async (shard) => {
      this.#asked.add(shard);
      const told = traceLog(this.env.TRACE_LOG, shard).configState() as Promise<string>;
      this.#overtakeIfLost(await answered(`log ${shard}`, ASK_MS, told));
      this.#told.add(shard);
    });
    for (const answer of answers)
      if (answer.status === "rejected")
        log.warn("a shard does not say what it knows", { error: errorText(answer.reason) });
    return this.#state.shards().every((shard) => this.#told.has(shard));
  }

  #overtakeIfLost(told: string): void {
    if (isLost(told, this.#state.state()))
      this.#rollout.change(() => this.#state.overtake(versionIn(told), platform.now()));
  }

  #missingOf(version: number): readonly number[] {
    return this.#state.isConfirmed(version) ? [] : this.#rollout.missing;
  }

  /** @param windows in which the job is, or was, enabled. */
  async #confirmed(id: number, windows: readonly Window[]): Promise<JobChange> {
    // As this call has stored it, whatever others do meanwhile.
    const row = this.#state.row(id);
    const missing = await this.#rollout.bring();
    await settled(windows);
    return row === null ? { kind: "gone" } : { kind: "changed", job: stored(row), missing };
  }
}

/**
 * Waits until no clock can stamp an event on the other side of the last switch. An earlier call of
 * the same change, whose answer was lost, may have made that switch.
 */
async function settled(windows: readonly Window[]): Promise<void> {
  if (isSettling(windows, platform.now())) await platform.sleep(2 * CLOCK_SKEW_MS);
}

function stored(row: JobRow): StoredJob {
  return {
    body: JSON.parse(row.body) as StoredJob["body"],
    config: configOf(row),
    createdMs: row.created_ms,
    modifiedMs: row.modified_ms,
  };
}

/** The one control plane of the account. */
export function controlPlane(namespace: DurableObjectNamespace<ControlPlane>): DurableObjectStub<ControlPlane> {
  return namespace.getByName("control");
}
