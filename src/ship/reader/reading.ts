import { PAGE_MAX_BYTES } from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, platform } from "../../base/platform.ts";
import { readTemplate } from "../../formats/object/keys.ts";
import { loadOffered } from "../../formats/queue/load-records.ts";
import type { MacKey } from "../../formats/queue/mac.ts";
import { prepare } from "../job/build.ts";
import { type JobConfig, stampOf } from "../job/config.ts";
import { readJobConfig } from "../job/snapshot.ts";
import type { JobShare } from "../log/append-types.ts";
import { addedMs, type Group, type Item } from "../log/blocks.ts";
import type { Pull, Pulled } from "../log/driver.ts";
import { nodeOf, placeOf } from "../log/nodes.ts";
import type { Page } from "../log/shard-answers.ts";
import { traceLog } from "../log/trace-log.ts";
import type { Batches } from "./batches.ts";
import type { ReaderState } from "./reader-state.ts";
import { DEATHS_MAX, type Unmade, type UnmadeEntry, type UnmadeState } from "./unmade.ts";

/** Deadline of one page, in ms. */
const READ_MS = 10_000;

/** After this time no further page is read, in ms: the shard waits for the answer. */
const PULL_MS = 8_000;

/** What it needs of the reader that it is part of. */
export interface ReadingHost {
  state: ReaderState;
  batches: Batches;
  unmade: Unmade;
  macKeys(): readonly MacKey[];
  /** Takes a configuration. To be called in a transaction. */
  follow(job: JobConfig, nowMs: number): void;
  /** false: this segment has reached its size. */
  hasRoom(): boolean;
  transaction<T>(change: () => T): T;
  /** Sets the alarm. To be called in a transaction. */
  arm(): void;
  /** Begins to upload, and sets the alarm. */
  upload(): void;
  holds(): boolean;
}

/** What an entry of the log is to the job. */
interface Made {
  n: number;
  share: Omit<JobShare, "id" | "stamp">;
  group: Group;
}

/** Why an entry was not made. */
interface NotMade {
  entry: UnmadeEntry;
  state: UnmadeState;
  why: string;
}

/**
 * Reads the log, page by page. A page is committed in one transaction: what it brings is in batches
 * and counted, and the cursor stands behind it.
 */
export class Reading {
  readonly #env: Pick<Env, "TRACE_LOG">;
  readonly #host: ReadingHost;
  readonly #name: string | undefined;
  readonly #storage: DurableObjectStorage;
  #pulling: Promise<Pulled> | null = null;

  constructor(ctx: DurableObjectState, env: Pick<Env, "TRACE_LOG">, host: ReadingHost) {
    this.#env = env;
    this.#host = host;
    this.#name = ctx.id.name;
    this.#storage = ctx.storage;
  }

  /** One at a time: who asks meanwhile gets the same answer. */
  pull(how: Pull): Promise<Pulled> {
    this.#pulling ??= this.#pull(how).finally(() => {
      this.#pulling = null;
    });
    return this.#pulling;
  }

  async #pull({ segment, from, cut }: Pull): Promise<Pulled> {
    const { state } = this.#host;
    const { id, shard } = this.#place();
    const node = nodeOf(shard, segment);
    const startedMs = platform.now();
    for (;;) {
      const row = state.row();
      const cursor = row?.cursor ?? from;
      const stamp = row === null ? "" : stampOf(state.requireJob());
      const asked = traceLog(this.#env.TRACE_LOG, shard).read(id, segment, cursor, stamp, PAGE_MAX_BYTES);
      const answer = (await answered(`log ${shard}`, READ_MS, asked as Promise<unknown>)) as Page;
      const isSealed = row !== null && row.sealed_ms !== null;
      // The shard has not heard it yet: the next segment reads this.
      const page: Page = isSealed ? { ...answer, items: [], end: cursor, isAll: true } : this.#careful(answer);
      this.#begin(page, node, cursor);
      const job = jobOf(page) ?? state.requireJob();
      const made = job.discard ? [] : await this.#make(job, page.items);
      const isCut = this.#commit(page, cursor, made, cut);
      const { sealed_ms } = state.requireRow();
      const more = !page.isAll;
      if (more && sealed_ms === null && platform.now() - startedMs < PULL_MS) continue;
      if (!isCut) await this.#cutRest();
      this.#host.upload();
      const after = state.requireRow();
      return {
        ...{ cursor: after.cursor, more, sealed: after.sealed_ms !== null },
        ...{ holds: this.#host.holds(), stamp: stampOf(state.requireJob()) },
      };
    }
  }

  /** An instance that its alarm has woken may not know its name, for as long as it lives. */
  #place(): { id: number; shard: number } {
    const row = this.#host.state.row();
    if (row === null) return placeIn(this.#name);
    return { id: this.#host.state.requireJob().id, shard: placeOf(row.node).shard };
  }

  /** A new reader takes its job and its cursor from the shard, and from nowhere else. */
  #begin(page: Page, node: number, cursor: number): void {
    const { state, transaction } = this.#host;
    if (state.row() !== null) return;
    const job = jobOf(page);
    if (job === null) throw new Error("the log does not know the job");
    transaction(() => {
      state.begin(job, node, cursor);
      this.#host.follow(job, platform.now());
    });
  }

  /**
   * After a death, each entry that was begun then is a page by itself: only the one that kills its
   * reader is found guilty.
   */
  #careful(page: Page): Page {
    const begun = this.#host.unmade.begun();
    const at = page.items.findIndex(({ n }) => begun.has(n));
    const items = page.items.slice(0, Math.max(1, at));
    return at === -1 ? page : { ...page, items, end: items.at(-1)?.n ?? page.end, isAll: false };
  }

  /** Makes what open entries are to the job; prepared ones are ready. */
  async #make(job: JobConfig, items: readonly Item[]): Promise<(Made | NotMade)[]> {
    const made: (Made | NotMade)[] = [];
    for (const { group, open, ...entry } of items) {
      if (group !== undefined) made.push({ n: entry.n, share: entry, group });
      else made.push(await this.#tryOnce(job, { ...entry, open: open ?? [] }));
    }
    return made;
  }

  /** Notes the try before, so that an entry that kills its reader is found out. */
  async #tryOnce(job: JobConfig, entry: UnmadeEntry): Promise<Made | NotMade> {
    const { unmade, transaction } = this.#host;
    const deaths = transaction(() => unmade.begin(entry.n));
    if (deaths >= DEATHS_MAX) {
      log.error("an entry of the log kills its reader; it is set aside", { job: job.id, n: entry.n });
      return { entry, state: "poison", why: `its reader died with it ${deaths} times` };
    }
    // A death must find the note.
    await this.#storage.sync();
    return this.#makeOne(job, entry);
  }

  async #makeOne(job: JobConfig, entry: UnmadeEntry): Promise<Made | NotMade> {
    const readable = readJobConfig(job);
    if (readable === null)
      return { entry, state: "newer", why: "a newer version wrote the job, and this one cannot read it" };
    const offered = [];
    for (const message of entry.open) {
      const loading = loadOffered(message, this.#host.macKeys());
      if (typeof loading === "string") return { entry, state: "newer", why: loading };
      offered.push(...loading);
    }
    const { fragments, ...share } = prepare(readable, offered);
    const { hour, script } = readTemplate(readable.path);
    return { n: entry.n, share, group: { output: readable.output, template: { hour, script }, fragments } };
  }

  /**
   * Commits a page; the last one with the cut of all that waits, so that nothing waits in between.
   * @returns false: of too many batches, some are not cut yet.
   */
  #commit(page: Page, cursor: number, made: readonly (Made | NotMade)[], cut: boolean): boolean {
    const { state, batches, unmade, transaction } = this.#host;
    return transaction(() => {
      const nowMs = platform.now();
      // Another pull was faster.
      if (state.requireRow().cursor !== cursor) return true;
      const job = jobOf(page);
      if (job !== null && stampOf(job) !== stampOf(state.requireJob())) this.#host.follow(job, nowMs);
      const closes = page.isAll && cut && state.isReadable();
      const opened = this.#put(
        made.filter((each) => "group" in each),
        nowMs,
        closes,
      );
      const shares = made.map((each) =>
        "share" in each ? each.share : { received: each.entry.received, filtered: 0, sampledOut: 0 },
      );
      for (const each of made) {
        if ("group" in each) unmade.ended(each.n);
        else this.#setAside(each, nowMs);
      }
      // What is read late, or is of the past, came then.
      const cameMs = Math.min(nowMs, addedMs(page.items.at(-1)?.n ?? 0));
      state.read(shares, page.end, opened, cameMs);
      if (!this.#host.hasRoom()) state.seal(nowMs);
      if (closes) return batches.cutSome("interval", nowMs);
      this.#host.arm();
      return true;
    });
  }

  #setAside({ entry, state, why }: NotMade, nowMs: number): void {
    this.#host.unmade.store(entry, state, why, nowMs);
    if (state === "poison") this.#host.state.countUnmade(entry.received);
  }

  /** Entries of one format are put together. @returns how many batches that opened. */
  #put(made: readonly Made[], nowMs: number, closes = false): number {
    const { state, batches } = this.#host;
    const first = state.requireRow().next_batch;
    let opened = 0;
    let run: Group | null = null;
    const flush = (): void => {
      if (run !== null && run.fragments.length > 0) opened += batches.put(run, first + opened, nowMs, closes);
    };
    for (const { group } of made) {
      const { output, template, fragments }: Group = group;
      if (run !== null && JSON.stringify([run.output, run.template]) === JSON.stringify([output, template])) {
        run.fragments.push(...fragments);
        continue;
      }
      flush();
      run = { output, template, fragments: [...fragments] };
    }
    flush();
    return opened;
  }

  /** What is cut stays cut, even if this invocation ends before all is. */
  async #cutRest(): Promise<void> {
    const { batches, transaction } = this.#host;
    do await this.#storage.sync();
    while (!transaction(() => batches.cutSome("interval", platform.now())));
  }

  /**
   * Tries what waits for newer code, as this may be it.
   * @param isAsked now, whatever the time.
   */
  async retryUnmade(isAsked: boolean): Promise<void> {
    const { state, unmade } = this.#host;
    if (!state.hasJob()) return;
    for (const n of unmade.due(platform.now(), isAsked)) await this.retryOne(n);
  }

  /**
   * Tries to make an entry again. @returns whether it is made; null: it is not there (any more).
   */
  async retryOne(n: number): Promise<boolean | null> {
    const { state, unmade, transaction } = this.#host;
    const entry = unmade.get(n);
    if (entry === null) return null;
    const note = unmade.list().find((each) => each.n === n);
    const isHopeless = transaction(() => {
      if (unmade.begin(n) < DEATHS_MAX || note?.state !== "newer") return false;
      unmade.giveUp(n, `the newer code failed on it ${DEATHS_MAX} times`);
      state.countUnmade(entry.received);
      return true;
    });
    if (isHopeless) return false;
    await this.#storage.sync();
    let made: Made | NotMade | null = null;
    try {
      made = await this.#makeOne(state.requireJob(), entry);
    } catch (error) {
      log.error("an entry of the log cannot be made", { job: state.requireJob().id, n, error: errorText(error) });
    }
    return transaction(() => {
      // Discarded meanwhile.
      if (unmade.get(n) === null) return null;
      // As if it had died: what is not set aside yet is not tried without end.
      if (made === null && note?.state === "newer") return false;
      unmade.ended(n);
      if (made === null || !("group" in made)) return false;
      unmade.remove(n);
      if (note?.state === "poison") state.countUnmade(-entry.received);
      const opened = this.#put([made], platform.now());
      state.read([{ ...made.share, received: 0 }], 0, opened, platform.now());
      this.#host.arm();
      return true;
    });
  }
}

/** The configuration that a page brings; null: it brings none. It may be unreadable. */
function jobOf({ job }: Page): JobConfig | null {
  const { id, version, mark } = (job ?? {}) as Partial<JobConfig>;
  return typeof id === "number" && typeof version === "number" && typeof mark === "string" ? (job as JobConfig) : null;
}

/** @throws if the object has no such name. */
function placeIn(name = ""): { id: number; shard: number } {
  const [, id, shard] = /^job (\d+) log (\d+)/.exec(name) ?? [];
  if (id === undefined || shard === undefined) throw new Error("this object is no reader of the log");
  return { id: Number(id), shard: Number(shard) };
}
