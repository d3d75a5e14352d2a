import { waitUntil } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { readConfig, readIsLocal, readPreviewRecent, readSealKeys, readSubrequests } from "./config.ts";
import { controlPlane } from "./control/plane.ts";
import { driveDebts, owe } from "./debts/debt-store.ts";
import { appendToChain } from "./delivery/append-to-chain.ts";
import { KnownLogs } from "./delivery/known-logs.ts";
import { checkAttachments } from "./functions/attachments.ts";
import { Audience } from "./intake/audience.ts";
import { Gatherer } from "./intake/gather.ts";
import { handleTail } from "./intake/tail.ts";
import { tailContext } from "./intake/tail-context.ts";
import { everyJob } from "./job/config.ts";
import { EVENTS_MAX_COUNT } from "./limits.ts";
import { showLive } from "./live/push.ts";
import { Memory } from "./memory.ts";
import { consumeDead, consumeEvents } from "./pipeline/consume.ts";
import type { ConsumerCalls } from "./pipeline/context.ts";
import { JobsCache } from "./pipeline/jobs-cache.ts";
import { RecentTurns } from "./pipeline/recent.ts";
import { SilentLogs } from "./pipeline/silent-logs.ts";
import { platform } from "./platform.ts";
import { replays } from "./replay/replays.ts";
import { isTraceItem, requireBatch, requireItems, requireTick } from "./runtime-made.ts";
import { handleScheduled } from "./scheduled.ts";
import { pinIds } from "./set-aside/pin-ids.ts";
import { watch } from "./status/watch.ts";
import { KnownSplits } from "./trace-log/known-splits.ts";
import { LogShards } from "./trace-log/log-shards.ts";
import { accountLedger, ledgerShard } from "./trace-log/trace-log.ts";

/** The dead-letter queue, as wrangler.jsonc names it. */
const DEAD_QUEUE = "logship-events-dead";

/**
 * The handlers of one isolate, with what it remembers between events: the configuration it read
 * last, and what it gathers. A second worker shares none of that, as another isolate would.
 */
export function createWorker(memory: Memory = new Memory(platform), audience: Audience = new Audience()) {
  const app = createApp(platform, memory, audience);
  const jobsCache = new JobsCache();
  const [traced, handed] = [new Gatherer("tail"), new Gatherer("rpc")];
  const recentTurns = new RecentTurns();
  const silent = new SilentLogs();
  const knownLogs = new KnownLogs();
  const splits = new KnownSplits();

  function consumer(env: Env): ConsumerCalls {
    const shard = (n: number) => ledgerShard(env.TRACE_LOG, n);
    return {
      jobs: () => jobsCache.refresh(controlPlane(env.CONTROL)),
      append: (job, build, messages) => appendToChain(env.READERS, job, build, messages, knownLogs.of(job.id)),
      splits,
      async count(outcome, n, known) {
        const newer: unknown = await shard(n).count(outcome, known);
        jobsCache.learn(newer);
        return newer;
      },
      counted: (ids, n, known) => shard(n).counted(ids, known),
      expectAgain: (messages, n, known, how) => shard(n).expectAgain(messages, known, how),
      arrivals: {
        handsOverRecent: () => readPreviewRecent(env) && recentTurns.take(platform.now()),
        show: (records) => waitUntil(showLive(env.LIVE, records)),
      },
      owe: (debts) => owe(env.DEBTS, debts),
      silent,
      setAside: (message, n, known) => shard(n).setAside(message, known),
      asideAs: (notes, n, known) => shard(n).asideAs(notes, known),
      memory,
      sealKeys: readSealKeys(env),
      callsMax: readSubrequests(env),
      platform,
    };
  }

  return {
    fetch: app.fetch,

    async tail(items, env, ctx) {
      requireItems(items, EVENTS_MAX_COUNT);
      const isTraced = items.every(isTraceItem) || readIsLocal(env);
      await handleTail(items, tailContext(env, ctx, isTraced ? traced : handed, audience));
    },

    async queue(batch, env) {
      requireBatch(batch);
      const consume = batch.queue === DEAD_QUEUE ? consumeDead : consumeEvents;
      await consume(batch, consumer(env));
    },

    async scheduled(controller, env) {
      requireTick(controller);
      const config = readConfig(env);
      const control = controlPlane(env.CONTROL);
      const ledger = new LogShards(env.TRACE_LOG, splits);
      await handleScheduled({
        jobs: async () => {
          const known = await jobsCache.refresh(control);
          return known === null ? null : everyJob(known);
        },
        debts: () => driveDebts(env.DEBTS, accountLedger(env.TRACE_LOG)),
        logs: env.READERS,
        forget: (id) => control.forget(id),
        chores: [
          { what: "ledger", run: () => Promise.all([ledger.sweep(), pinIds(ledger, env.READERS)]) },
          { what: "control plane", run: () => control.drive() },
          { what: "replays", run: () => replays(env.REPLAYS).drive() },
          {
            what: "attachments",
            async run() {
              if (!config.ok) return;
              const { upstream, accountId } = config.config;
              await checkAttachments({
                upstream,
                accountId,
                due: (atMost) => control.attachmentsDue(atMost),
                note: (seen) => control.noteAttachments(seen),
                platform,
              });
            },
          },
          { what: "watch", run: () => watch(env.WATCH).check() },
        ],
        platform,
      });
      // Last, so that a typo delays no cut. The jobs that it stops report it, too.
      if (!config.ok) throw new Error(`configuration: ${config.faults.join("; ")}`);
    },
  } satisfies ExportedHandler<Env>;
}
