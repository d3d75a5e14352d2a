import { waitUntil } from "cloudflare:workers";
import { createApp } from "./app.ts";
import { readConfig, readIsLocal, readPreviewRecent, readSealKeys, readSubrequests } from "./config.ts";
import { controlPlane } from "./control/plane.ts";
import { isOver } from "./delivery/job-status.ts";
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
import type { ConsumerContext } from "./pipeline/context.ts";
import { JobsCache } from "./pipeline/jobs-cache.ts";
import { RecentTurns } from "./pipeline/recent.ts";
import { platform } from "./platform.ts";
import { replays } from "./replay/replays.ts";
import { isTraceItem, requireBatch, requireItems, requireTick } from "./runtime-made.ts";
import { handleScheduled } from "./scheduled.ts";
import { watch } from "./status/watch.ts";
import { LogShards } from "./trace-log/log-shards.ts";
import { traceLog } from "./trace-log/trace-log.ts";

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

  function consumer(env: Env): ConsumerContext {
    const log = (shard: number) => traceLog(env.TRACE_LOG, shard);
    return {
      jobs: () => jobsCache.refresh(controlPlane(env.CONTROL)),
      append: async (shard, append) => log(shard).append(append),
      known: async (shard, parts) => log(shard).known(parts),
      expectAgain: async (shard, parts, how) => log(shard).expectAgain(parts, how),
      hold: async (shard, message) => log(shard).hold(message),
      unnoted: async (takenInMs) => controlPlane(env.CONTROL).unnoted(takenInMs),
      // `send` would detach the buffer, also when it fails.
      sendAnew: (message) => env.EVENTS.sendBatch([{ body: new Uint8Array(message), contentType: "bytes" }]),
      arrivals: {
        handsOverRecent: () => readPreviewRecent(env) && recentTurns.take(platform.now()),
        show: (records) => waitUntil(showLive(env.LIVE, records)),
      },
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
      const log = async () => new LogShards(env, (await jobsCache.refresh(control))?.shards);
      await handleScheduled({
        jobs: async () => {
          const known = await jobsCache.refresh(control);
          return known === null ? null : { jobs: everyJob(known), shards: known.shards };
        },
        driveLog: async () => (await log()).drive(),
        isOver: (jobId, deletedMs) => isOver(env, jobId, deletedMs),
        env,
        forget: (id) => control.forget(id),
        chores: [
          { what: "log", run: async () => (await log()).each((shard) => shard.sweep()) },
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
