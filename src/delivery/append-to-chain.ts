import type { JobConfig } from "../job/config.ts";
import { type Append, type Candidate, ForgottenError } from "../object/append.ts";
import { settled } from "../platform.ts";
import { homeOf, ROOT } from "../storage/splits.ts";
import { segmentOf } from "./chain.ts";
import type { JobReader } from "./job-reader.ts";
import { KnownLog } from "./known-logs.ts";
import { nodeOf, SEGMENTS_MAX } from "./nodes.ts";

/** How often in a row a log may answer without bringing an append further. */
const STALLED_MAX = 3;

/** Shards that are asked in parallel: as many calls as an invocation may have open. */
const SHARDS_AT_ONCE = 6;

export type ChainResult = { kind: "taken" } | { kind: "stale"; job: JobConfig };

/**
 * Commits messages once, wherever in a job's log they may have been before. Each goes to its shard,
 * as far as the splits are known; if a shard has handed it on, it says so, and nothing is taken.
 * @param build makes the append for the messages that are left; it is what costs, so it is not
 *   called for what is known.
 * @param candidates all messages that `build` knows.
 * @param known what the caller knows of the log, and what it learns on the way.
 * @returns stale: the job has changed; build everything again from what comes back.
 * @throws ForgottenError for an append of what is sent again.
 */
export async function appendToChain(
  logs: DurableObjectNamespace<JobReader>,
  job: JobConfig,
  build: (without: ReadonlySet<string>) => Append,
  candidates: readonly Candidate[],
  known: KnownLog = new KnownLog(),
): Promise<ChainResult> {
  const run = new Run(logs, job, build, candidates, known);
  for (let left = run.left(candidates); left.length > 0; left = run.left(candidates)) {
    const shards = [...Map.groupBy(left, (message) => homeOf(message, known.splits))];
    const results = await settled(shards, SHARDS_AT_ONCE, ([shard, messages]) => run.append(shard, messages));
    for (const result of results) {
      if (result.status === "rejected") throw result.reason;
      if (result.value !== null) return { kind: "stale", job: result.value };
    }
  }
  return { kind: "taken" };
}

/** One append, over as many shards as it takes. */
class Run {
  readonly #logs: DurableObjectNamespace<JobReader>;
  readonly #job: JobConfig;
  readonly #build: (without: ReadonlySet<string>) => Append;
  readonly #candidates: readonly Candidate[];
  readonly #known: KnownLog;
  /** Ids of messages that the log has. */
  readonly #taken = new Set<string>();
  /** Ids of messages that a node has forgotten about. */
  readonly #forgotten = new Set<string>();
  /** What each sealed node has been asked for, by ids: what it does not hold, it never will. */
  readonly #asked = new Map<number, Set<string>>();
  /** The same of nodes that still took records: another append may have brought them some since. */
  readonly #askedOpen = new Map<number, Set<string>>();
  /** What is known is from before. */
  #isRemembered: boolean;

  constructor(
    logs: DurableObjectNamespace<JobReader>,
    job: JobConfig,
    build: (without: ReadonlySet<string>) => Append,
    candidates: readonly Candidate[],
    known: KnownLog,
  ) {
    this.#logs = logs;
    this.#job = job;
    this.#build = build;
    this.#candidates = candidates;
    this.#known = known;
    this.#isRemembered = known.facts > 0;
  }

  left(messages: readonly Candidate[]): Candidate[] {
    return messages.filter(({ id }) => !this.#taken.has(id));
  }

  /**
   * Commits messages to a shard, until all are taken or some belong to another one.
   * @returns the job, if it has changed.
   */
  async append(shard: number, messages: readonly Candidate[]): Promise<JobConfig | null> {
    const known = this.#known;
    let append: Append | null = null;
    let stalled = 0;
    for (;;) {
      const own = this.left(messages);
      if (own.length === 0 || own.some((message) => homeOf(message, known.splits) !== shard)) return null;
      const segment = known.sealedOf(shard);
      // Each answer is to bring it further; a log that says the same again and again is not asked
      // without end.
      if (stalled > STALLED_MAX || segment >= SEGMENTS_MAX) throw new Error("the log gives no answer that leads on");
      const node = nodeOf(shard, segment);
      if (await this.#askFirst(shard, segment, own)) continue;
      // It is what costs: as long as it is the same, it is not built again.
      if (append?.messages.length !== own.length) append = this.#buildOf(own);
      const log = segmentOf(this.#logs, this.#job.id, node);
      const result = await log.append(append);
      const before = this.#progress();
      switch (result.kind) {
        case "taken":
          for (const { id } of own) this.#taken.add(id);
          return null;
        case "stale":
          return result.job as JobConfig;
        case "forgotten":
          throw new ForgottenError(this.#job.id);
        case "behind":
          stalled += 1;
          if (this.#isRemembered && node !== ROOT) {
            // A node that is known of has its job. It may have been restored to an earlier time.
            this.#isRemembered = false;
            known.forget();
          } else if (known.sealedOf(shard) >= segment) {
            // Another run may have forgotten meanwhile what this node is to be told.
            known.learn(node, await log.configure(this.#job, node, known.before(node)));
          }
          continue;
        case "full":
          known.learn(node, { ...result, sealed: true });
          noteAsked(this.#asked, node, own);
          break;
        case "known":
          known.learn(node, { sealed: false, ...result });
          break;
      }
      for (const id of result.ids) this.#taken.add(id);
      stalled = this.#progress() > before ? 0 : stalled + 1;
    }
  }

  /**
   * Asks by ids alone, once each: the sealed segments for what they may hold; the last one if it
   * may well have some.
   * @returns whether anything new came of it.
   */
  async #askFirst(shard: number, segments: number, messages: readonly Candidate[]): Promise<boolean> {
    const before = this.#progress();
    for (let segment = 0; segment < segments; segment++) {
      const node = nodeOf(shard, segment);
      await this.#ask(
        node,
        messages.filter((message) => this.#known.mayHold(node, message)),
        this.#asked,
      );
    }
    if (this.left(messages).some(({ isSuspect }) => isSuspect))
      await this.#ask(nodeOf(shard, segments), messages, this.#askedOpen);
    return this.#progress() > before;
  }

  async #ask(node: number, messages: readonly Candidate[], asked: Map<number, Set<string>>): Promise<void> {
    const open = this.left(messages).filter(({ id }) => !asked.get(node)?.has(id));
    if (open.length === 0) return;
    noteAsked(asked, node, open);
    const answer = await segmentOf(this.#logs, this.#job.id, node).holds(open);
    this.#known.learn(node, answer);
    if (answer.sealed) noteAsked(this.#asked, node, open);
    for (const id of answer.ids) this.#taken.add(id);
    for (const id of answer.forgotten) this.#forgotten.add(id);
  }

  /** @throws ForgottenError for what is sent again, if it is unknown whether a node had it. */
  #buildOf(messages: readonly Candidate[]): Append {
    const own = new Set(messages.map(({ id }) => id));
    const append = this.#build(new Set(this.#candidates.map(({ id }) => id).filter((id) => !own.has(id))));
    const isAgain = append.again !== undefined && !append.again.isKept;
    if (isAgain && messages.some(({ id }) => this.#forgotten.has(id))) throw new ForgottenError(this.#job.id);
    return append;
  }

  /** Grows with everything that brings the append further. */
  #progress(): number {
    return this.#known.facts + this.#taken.size;
  }
}

function noteAsked(asked: Map<number, Set<string>>, node: number, messages: readonly Candidate[]): void {
  const ids = asked.get(node) ?? new Set();
  asked.set(node, ids);
  for (const { id } of messages) ids.add(id);
}
