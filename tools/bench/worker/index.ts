/**
 * The shipper with a meter around its Durable Objects: the same code, bundled the same way, in the
 * same runtime, on the same storage. tools/bench/run.ts sends commands over HTTP, and measures from
 * outside.
 */
import worker, * as shipper from "../../../src/index.ts";
import {
  ASK_HEADER,
  type DaysSketches,
  type KindName,
  type MakeObject,
  type PrepareCpu,
  type Scenario,
  type SketchWork,
  type StackingKind,
  type TextSearch,
  type WordSearch,
  type Work,
} from "../protocol.ts";
import { playThePlatform } from "./clock.ts";
import { prepare, run } from "./cpu.ts";
import { append, grown, pack } from "./growth.ts";
import { hold } from "./held-uploads.ts";
import { BUCKET, shipKind, stackKind, withStacked } from "./kinds.ts";
import { meteredEnv, meteredState } from "./meter.ts";
import { findWord, keepSketches, makeObject, searchText } from "./search.ts";
import { begin, counts, deliveredTo, pass } from "./simulate.ts";

type ObjectClass = new (ctx: DurableObjectState, env: Env) => { ctx: DurableObjectState; alarm?(): Promise<void> };

/** A metered Durable Object class of the shipper; the simulation fires its alarm. */
function metered(name: string, original: unknown): ObjectClass {
  return class extends (original as ObjectClass) {
    constructor(ctx: DurableObjectState, env: Env) {
      super(meteredState(ctx, name), { ...meteredEnv(env), ...BUCKET });
    }

    /** As on the platform: an alarm counts as not set while its handler runs. */
    async fireAlarm(): Promise<void> {
      await this.ctx.storage.deleteAlarm();
      await this.alarm?.();
    }

    databaseBytes(): number {
      return this.ctx.storage.sql.databaseSize;
    }
  };
}

export const ControlPlane = metered("ControlPlane", shipper.ControlPlane);
/** Its uploads are held while kinds are stacked, and its log is played for them. */
export class JobReader extends metered("JobReader", shipper.JobReader) {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, { ...env, TRACE_LOG: withStacked(env.TRACE_LOG) });
    hold((this as unknown as shipper.JobReader).attempts);
  }
}
export const TraceLog = metered("TraceLog", shipper.TraceLog);
export const AccessRegister = metered("AccessRegister", shipper.AccessRegister);
export const Watch = metered("Watch", shipper.Watch);
export const Replays = metered("Replays", shipper.Replays);
export const Live = metered("Live", shipper.Live);
export const Packer = metered("Packer", shipper.Packer);
export const SketchStore = metered("SketchStore", shipper.SketchStore);

playThePlatform();

const COMMANDS: { readonly [name: string]: (argument: never, env: Env) => unknown } = {
  ping: () => null,
  begin: (scenario: Scenario, env) => begin(env, scenario),
  pass,
  counts,
  delivered: (jobs: number[], env) => deliveredTo(env, jobs),
  prepare: (what: PrepareCpu) => prepare(what),
  run: (work: Work | SketchWork) => run(work),
  pack: (records: number) => pack(records),
  append: (_: null, env) => append(env),
  grown: (jobId: number, env) => grown(env, jobId),
  stackKind: (what: StackingKind, env) => stackKind(what, env),
  makeObject: (what: MakeObject) => makeObject(what),
  keepSketches: (what: DaysSketches, env) => keepSketches(what, env),
  findWord: (what: WordSearch, env) => findWord(what, env),
  searchText: (what: TextSearch) => searchText(what),
  shipKind: (kind: KindName, env) => shipKind(kind, env),
};

/** What was asked last, by its number: who did not hear the answer asks again. */
let asked: { number: string; answer: Promise<unknown> } | null = null;

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    const command = COMMANDS[pathname.replace("/bench/", "")];
    // Anything else is for the shipper's own API: jobs are created over HTTP.
    if (command === undefined) return worker.fetch(request, env, ctx);
    const argument = (await request.json()) as never;
    const number = request.headers.get(ASK_HEADER) ?? "";
    if (asked === null || asked.number !== number) asked = { number, answer: (async () => command(argument, env))() };
    return Response.json((await asked.answer) ?? null);
  },
} satisfies ExportedHandler<Env>;
