import { EVENTS_MAX_COUNT } from "./base/limits.ts";
import { Memory } from "./base/memory.ts";
import { platform } from "./base/platform.ts";
import { readConfig, readIsLocal, readMacKeys, readSubrequests } from "./config.ts";
import { watch } from "./operate/alerts/watch.ts";
import { replays } from "./operate/replay/replays.ts";
import { followReruns } from "./operate/replay/reruns.ts";
import { queueWaits } from "./operate/status/queue-waits.ts";
import { consumeDead, consumeEvents } from "./ship/consumer/consume.ts";
import type { ConsumerContext } from "./ship/consumer/context.ts";
import { Gatherer } from "./ship/intake/gather.ts";
import { handleTail } from "./ship/intake/tail.ts";
import { tailContext } from "./ship/intake/tail-context.ts";
import { Viewers } from "./ship/intake/viewers.ts";
import { everyJob } from "./ship/job/config.ts";
import { JobsCache } from "./ship/job/jobs-cache.ts";
import { LogShards } from "./ship/log/log-shards.ts";
import { traceLog } from "./ship/log/trace-log.ts";
import { isOver } from "./ship/reader/job-status.ts";
import { handleScheduled } from "./ship/scheduled.ts";
import { controlPlane } from "./state/control/plane.ts";
import { checkAttachments } from "./state/functions/attachments.ts";
import { createApp } from "./web/app.ts";

/** The dead-letter queue, as wrangler.jsonc names it. */
const DEAD_QUEUE = "logship-events-dead";

/**
 * The handlers of one isolate, with what it remembers between events: the configuration it read
 * last, and what it gathers. A second worker shares none of that, as another isolate would.
 */
export function createWorker(memory: Memory = new Memory(platform), viewers: Viewers = new Viewers()) {
  const app = createApp(platform, memory, viewers);
  const jobsCache = new JobsCache();
  const [traced, handed] = [new Gatherer("tail"), new Gatherer("rpc")];

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
      memory,
      macKeys: readMacKeys(env),
      callsMax: readSubrequests(env),
      platform,
    };
  }

  return {
    fetch: app.fetch,

    async tail(items, env, ctx) {
      requireItems(items, EVENTS_MAX_COUNT);
      const isTraced = items.every(isTraceItem) || readIsLocal(env);
      await handleTail(items, tailContext(env, ctx, isTraced ? traced : handed, viewers));
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
          { what: "reruns", run: () => followReruns(env, platform.now()) },
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
          { what: "watch", run: async () => watch(env.WATCH).check(await queueWaits(env.EVENTS, platform)) },
        ],
        platform,
      });
      // Last, so that a typo delays no cut. The jobs that it stops report it, too.
      if (!config.ok) throw new Error(`configuration: ${config.faults.join("; ")}`);
    },
  } satisfies ExportedHandler<Env>;
}

/**
 * What the runtime made, and what came by RPC. A function that is bound to this Worker can call the
 * handlers of its default export by RPC, with arguments of its own. RPC carries plain objects,
 * built-in types and stubs; objects of the classes below cannot be sent, not even by a function
 * that has one. These classes have no global name, so they are told by a method of their prototype,
 * which nothing that RPC carries has.
 */
function isOfClassWith(method: string, value: unknown): boolean {
  // A stub has every method, and the type of a function.
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return typeof prototype === "object" && prototype !== null && Object.hasOwn(prototype, method);
}

/** @throws TypeError unless it is a batch of the platform's queue, with its own messages. */
function requireBatch(batch: MessageBatch<unknown>): void {
  const isMade = isOfClassWith("ackAll", batch) && batch.messages.every((message) => isOfClassWith("ack", message));
  if (!isMade) throw new TypeError("queue() takes batches of Cloudflare's queues only");
}

/** @throws TypeError unless it comes from the platform's clock. */
function requireTick(controller: ScheduledController): void {
  if (!isOfClassWith("noRetry", controller)) throw new TypeError("scheduled() is for Cloudflare's clock only");
}

/**
 * Whether the runtime made it: its class has a tag that RPC does not carry. In local development,
 * the trace items of another process are plain objects.
 */
export function isTraceItem(item: unknown): boolean {
  return Object.prototype.toString.call(item) === "[object TraceItem]";
}

/**
 * What is no {@link isTraceItem} is taken, too, as by `Shipper.ship`, and not as traced.
 * @throws TypeError unless it is an array of objects, of at most this many.
 */
function requireItems(items: unknown, atMost: number): void {
  const isList = Array.isArray(items) && items.length <= atMost;
  if (!isList || !items.every((item) => typeof item === "object" && item !== null && !Array.isArray(item)))
    throw new TypeError("tail() takes trace items only");
}
