/**
 * The shipper as it is, with nothing around its durable objects, and the real network: for
 * measuring its memory from outside. Only the clock is played, so that no alarm fires by itself,
 * and the queue.
 */

import { platform } from "../../../../src/base/platform.ts";
import worker, * as shipper from "../../../../src/index.ts";
import { traceLog } from "../../../../src/ship/log/trace-log.ts";
import { nodeAt } from "../../../../src/ship/reader/job-nodes.ts";
import { DeliveredBatch } from "../../queue-batch.ts";

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

/** Texts that are worth a collection, in UTF-16 units. */
const LARGE_UNITS = 100_000;

/** That the queue has yet to deliver. */
const waiting: ArrayBuffer[] = [];
let held: Uint8Array | null = null;

/** The runtime is started with a flag that shows its collector. @throws if it was not. */
function collect(): void {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) throw new Error("the runtime does not show its collector");
  gc();
}

/** Brings messages: one after the other, each behind its length. */
function bring(frames: ArrayBuffer): void {
  const view = new DataView(frames);
  for (let at = 0; at < frames.byteLength; ) {
    const from = at + 4;
    at = from + view.getUint32(at);
    waiting.push(frames.slice(from, at));
  }
}

/**
 * One batch of the queue, of so many messages, and readers that read it. @param collecting garbage
 * before a message is read and before a log is called, so that resident memory is what is held;
 * otherwise the runtime decides.
 */
async function consume({ messages, collecting }: { messages: number; collecting: boolean }, env: Env): Promise<void> {
  const brought = waiting.splice(0, messages);
  if (brought.length < messages) throw new Error("too few messages were brought");
  const batch = new DeliveredBatch(
    brought.map((bytes) => {
      // What the queue delivers counts, and what was brought was there before.
      const copy = bytes.slice(0);
      return {
        get body(): ArrayBuffer {
          if (collecting) collect();
          return copy;
        },
        ...{ sentMs: nowMs, attempts: 1 },
      };
    }),
  );
  await worker.queue(batch as never, collecting ? collectingEnv(env) : env);
  batch.assertAcknowledged();
  await traceLog(env.TRACE_LOG, 0).drive();
  brought.length = 0;
}

/** Collects garbage before the log is called: what was built for it is complete by then. */
function collectingEnv(env: Env): Env {
  const getByName: Env["TRACE_LOG"]["getByName"] = (name) => {
    collect();
    return env.TRACE_LOG.getByName(name);
  };
  return { ...env, TRACE_LOG: { getByName } as Env["TRACE_LOG"] };
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
  ...{ collect, bring, collectOften, consume, drive },
  hold: (bytes: number) => {
    held = bytes === 0 ? null : new Uint8Array(bytes).fill(1);
    return held?.length ?? 0;
  },
  /** Moves the clock. */
  pass: (ms: number) => {
    nowMs += ms;
  },
  /** Objects that a job has cut: how many, and the first one. */
  objects: async (job: number, env) => {
    const { total, entries } = await nodeAt(env.READERS, job, 0).objects(0, 1);
    return { total, rawBytes: entries[0]?.raw_bytes, bytes: entries[0]?.bytes };
  },
};

/** What was asked last, by its number: a request that breaks off is repeated, and runs once. */
let asked: { number: string; answer: Promise<unknown> } | null = null;

async function answerTo(path: string, request: Request, env: Env): Promise<Response | null> {
  const [, name = "", number = ""] = /^\/bench\/(\w+)\/(\d+)$/.exec(path) ?? [];
  const command = COMMANDS[name];
  if (command === undefined) return null;
  const argument = (name === "bring" ? await request.arrayBuffer() : await request.json()) as never;
  if (asked?.number !== number) asked = { number, answer: (async () => command(argument, env))() };
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
