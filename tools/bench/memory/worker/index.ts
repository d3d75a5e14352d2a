/**
 * The shipper as it is, with nothing around its durable objects, and the real network: for
 * measuring its memory from outside. Only the clock is played, so that no alarm fires by itself,
 * and the queue.
 */

import { APPEND_MAX_RAW_BYTES } from "../../../../src/base/limits.ts";
import { platform } from "../../../../src/base/platform.ts";
import { load } from "../../../../src/formats/queue/load-records.ts";
import { Delivery } from "../../../../src/formats/queue/retries.ts";
import worker, * as shipper from "../../../../src/index.ts";
import { JobsCache } from "../../../../src/ship/consumer/jobs-cache.ts";
import { randomIds } from "../../../../src/ship/intake/ids.ts";
import { prepare } from "../../../../src/ship/job/build.ts";
import { type JobConfig, stampOf } from "../../../../src/ship/job/config.ts";
import { headOf } from "../../../../src/ship/log/heads.ts";
import { traceLog } from "../../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../../src/ship/reader/job-nodes.ts";
import { controlPlane } from "../../../../src/state/control/plane.ts";
import { DeliveredBatch } from "../../queue-batch.ts";
import { ASK_HEADER, type Consuming, type CutSize, type Stacking } from "./commands.ts";
import { MessagePool } from "./pool.ts";

// All that the deployment binds, whatever is added to it.
export * from "../../../../src/index.ts";

/**
 * A reader begins to upload as soon as it has cut. Here attempts end at once and change nothing,
 * until uploads are measured.
 */
let areHeld = true;

/** In place of the one above. */
export class JobReader extends shipper.JobReader {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const { attempts } = this;
    const upload = attempts.uploadOne.bind(attempts);
    attempts.uploadOne = async (object) => {
      if (!areHeld) await upload(object);
    };
  }
}

/** Far in the real future, so that no alarm fires by itself. */
let nowMs = Date.parse("2100-11-20T12:00:00Z");

platform.now = () => nowMs;

/** How long uploads are waited for, in ms. */
const UPLOAD_MS = 100_000;

/** Messages that are consumed one by one until something is cut, at most. */
const CUT_MESSAGES_MAX = 20;

/** Texts that are worth a collection, in UTF-16 units. */
const LARGE_UNITS = 100_000;

let pool: MessagePool | null = null;
let held: Uint8Array | null = null;

function poolOfMessages(): MessagePool {
  if (pool === null) throw new Error("no messages were brought");
  return pool;
}

/** The runtime is started with a flag that shows its collector. @throws if it was not. */
function collect(): void {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("the runtime does not show its collector");
  gc();
}

/** One batch of the queue, of so many messages, and readers that read it. */
async function consume({ messages, collecting }: Consuming, env: Env): Promise<void> {
  const bodies = poolOfMessages().take(messages, nowMs);
  const batch = batchOf(bodies, collecting);
  await worker.queue(batch as never, collecting ? collectingEnv(env) : env);
  batch.assertAcknowledged();
  await traceLog(env.TRACE_LOG, 0).drive();
}

/** @param collecting before each message is read. */
function batchOf(bodies: readonly ArrayBuffer[], collecting: boolean): DeliveredBatch {
  const messages = bodies.map((body) => ({
    get body(): ArrayBuffer {
      if (collecting) collect();
      return body;
    },
    ...{ sentMs: nowMs, attempts: 1 },
  }));
  return new DeliveredBatch(messages);
}

/** Collects garbage before the log is called: what was built for it is complete by then. */
function collectingEnv(env: Env): Env {
  const getByName: Env["TRACE_LOG"]["getByName"] = (name) => {
    collect();
    return env.TRACE_LOG.getByName(name);
  };
  return { ...env, TRACE_LOG: { getByName } as Env["TRACE_LOG"] };
}

/** Single messages, until a job's reader has cut an object. */
async function cut(job: number, env: Env): Promise<void> {
  for (let messages = 0; messages < CUT_MESSAGES_MAX; messages++) {
    await consume({ messages: 1, collecting: false }, env);
    if ((await objectsOf(job, 1, env)).length > 0) return;
  }
  throw new Error("nothing was cut");
}

async function objectsOf(job: number, limit: number, env: Env): Promise<CutSize[]> {
  const { entries } = await nodeAt(env.READERS, job, 0).objects(0, limit);
  return entries.map(({ records, raw_bytes, bytes }) => ({ records, rawBytes: raw_bytes, bytes }));
}

/**
 * Objects of the same fragments again and again, as building others would take minutes: to the log
 * they are like any.
 */
async function stack({ job: id, objects }: Stacking, env: Env): Promise<CutSize[]> {
  const job = await jobOf(id, env);
  const log = nodeAt(env.READERS, id, 0);
  const messages = Math.floor(APPEND_MAX_RAW_BYTES / poolOfMessages().rawBytesOf(1));
  const offered = await Promise.all(
    batchOf(poolOfMessages().take(messages, nowMs), false).messages.map(async (message) => {
      const loading = load(new Delivery(message as never));
      if (loading.kind !== "loaded") throw new Error(`a message is ${loading.kind}`);
      return loading.loaded;
    }),
  );
  const { fragments, ...share } = prepare(job, offered.flat());
  const heads = offered.flat().map((part) => headOf(part));
  const idOf = randomIds(1);
  while ((await log.objects(0, 0)).total < objects) {
    const parts = heads.map((head) => ({ ...head, id: idOf(0) }));
    const prepared = {
      ...{ output: job.output, template: { hour: false, script: false }, fragments },
      ...{ jobs: [{ id, stamp: stampOf(job), ...share }], parts: parts.map((part) => part.id) },
    };
    await traceLog(env.TRACE_LOG, 0).append({
      ...{ v: 1, parts, records: [], prepared: [prepared], queue: null },
      ...{ work: { batches: 0, entries: 0, offered: 0 }, state: "" },
    });
    await traceLog(env.TRACE_LOG, 0).drive();
  }
  return objectsOf(id, objects, env);
}

async function jobOf(id: number, env: Env): Promise<JobConfig> {
  const snapshot = await new JobsCache().refresh(controlPlane(env.CONTROL));
  const job = snapshot?.jobs.find((job) => job.id === id);
  if (job === undefined) throw new Error(`there is no job ${id}`);
  return job;
}

/**
 * Uploads all that a job has cut, and waits for it. @returns how many objects are not delivered.
 */
async function drive(job: number, env: Env): Promise<number> {
  areHeld = false;
  const { pendingObjects } = await nodeAt(env.READERS, job, 0).drive("manual", UPLOAD_MS);
  areHeld = true;
  return pendingObjects;
}

const parse = JSON.parse;
let isCollectingOften = false;

/**
 * From now on garbage is collected before and after an event is parsed, if it is a large one,
 * before the queue is called, and again and again while a search is answered.
 */
function collectOften(isOn: boolean): void {
  isCollectingOften = isOn;
  const collecting: typeof JSON.parse = (text, reviver) => {
    if (text.length < LARGE_UNITS) return parse(text, reviver);
    collect();
    const value: unknown = parse(text, reviver);
    collect();
    return value;
  };
  JSON.parse = isOn ? collecting : parse;
}

/** How often garbage is collected while a search is answered, in ms. */
const SEARCH_COLLECT_MS = 20;

/** The same answer, with its garbage collected as it is read. */
function collectedWhile(answer: Response): Response {
  if (answer.body === null) return answer;
  const timer = setInterval(collect, SEARCH_COLLECT_MS);
  const ends = new TransformStream({ flush: () => clearInterval(timer) });
  return new Response(answer.body.pipeThrough(ends), answer);
}

/** The queue of intake: it takes everything, and keeps nothing. */
const EVENTS = {
  sendBatch: async () => {
    if (isCollectingOften) collect();
  },
} as unknown as Env["EVENTS"];

const COMMANDS: { readonly [name: string]: (argument: never, env: Env) => unknown } = {
  ping: () => null,
  collect: () => collect(),
  hold: (bytes: number) => {
    held = bytes === 0 ? null : new Uint8Array(bytes).fill(1);
    return held?.length ?? 0;
  },
  /** Moves the clock. */
  pass: (ms: number) => {
    nowMs += ms;
  },
  collectOften,
  consume,
  cut,
  objects: (job: number, env) => objectsOf(job, 1, env),
  stack,
  drive,
};

/** What was asked last, by its number: who did not hear the answer asks again. */
let asked: { number: string; answer: Promise<unknown> } | null = null;

async function answerTo(path: string, request: Request, env: Env): Promise<Response | null> {
  if (path === "/bench/pool") {
    pool = new MessagePool(await request.arrayBuffer());
    return Response.json(null);
  }
  const command = COMMANDS[path.replace("/bench/", "")];
  if (command === undefined) return null;
  const argument = (await request.json()) as never;
  const number = request.headers.get(ASK_HEADER);
  const run = async (): Promise<unknown> => command(argument, env);
  if (number === null) return Response.json((await run()) ?? null);
  if (asked?.number !== number) asked = { number, answer: run() };
  return Response.json((await asked.answer) ?? null);
}

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    try {
      // Anything else is for the shipper's own API.
      const answer = (await answerTo(pathname, request, env)) ?? (await worker.fetch(request, { ...env, EVENTS }, ctx));
      return isCollectingOften && pathname.endsWith("/search") ? collectedWhile(answer) : answer;
    } catch (error) {
      // In few words: what `wrangler dev` would make of it is a page of HTML.
      return new Response(String(error), { status: 500 });
    }
  },
} satisfies ExportedHandler<Env>;
