/**
 * The actions that can happen in an episode, one at a time. Each action makes all its random draws
 * before its first `await`.
 */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { nodeAt } from "../../src/ship/reader/job-nodes.ts";
import { controlPlane } from "../../src/state/control/plane.ts";
import { restorable } from "../faults/restoring.ts";
import type { Minted, MintOptions } from "../support/oracle.ts";
import { api } from "../support/runtime/api.ts";
import type { World } from "../support/runtime/world.ts";
import { alive, type WorldJob } from "../support/runtime/world-jobs.ts";
import type { Breakdowns } from "./breakdowns.ts";
import type { Copies } from "./copies.ts";
import { anyFields, anyFilter, anyJob } from "./job-kinds.ts";
import type { Random } from "./random.ts";
import { misbehaviour } from "./stores.ts";

export interface Scene {
  readonly world: World;
  readonly random: Random;
  readonly breakdowns: Breakdowns;
  /** Requests that were not acknowledged; clients repeat them until they are. */
  readonly repeats: { events: readonly Minted[]; key: string; ndjson: boolean }[];
  /** Isolates that are still running, each with the configuration it last read. */
  readonly isolates: World["isolate"][];
  keys: number;
  readonly copies: Copies;
}

export interface Deed {
  readonly weight: number;
  readonly name: string;
  /** @returns a description for the trace; null: there was nothing to act on. */
  run(scene: Scene): Promise<string | null>;
}

const JOBS_MAX = 5;

/** Of a job: enough for segments of several shards. */
const NODES_MAX = 8;

const DAY_MS = 86_400_000;
const SCRIPTS = ["shop", "mailer", "cron"];

/** Events with a random time: mostly now, sometimes past, future, or at the edge of a day. */
function mint({ world, random }: Scene, count: number, more: MintOptions = {}): Minted[] {
  const now = world.clock.nowMs();
  const at = random.weighted([
    { weight: 12, at: now },
    { weight: 3, at: now - random.int(0, 3 * DAY_MS) },
    { weight: 1, at: now + random.int(0, 2 * DAY_MS) },
    { weight: 1, at: now - (now % DAY_MS) - 3 },
    { weight: 1, at: 0 },
  ]).at;
  return world.mint(count, {
    at,
    days: random.pick([1, 1, 1, 2, 5]),
    stepMs: random.pick([1, 1_000, 60_000]),
    scriptName: random.pick(SCRIPTS),
    outcome: random.pick(["ok", "ok", "exception"]),
    form: random.pick(["record", "trace"]),
    ...more,
  });
}

const someJob = ({ world, random }: Scene, filter: (job: WorldJob) => boolean = () => true): WorldJob | null => {
  const jobs = world.jobs.all.filter((job) => !job.deleted && filter(job));
  return jobs.length === 0 ? null : random.pick(jobs);
};

/** Enabling takes effect 250 ms early, so no event is taken in near the switch. */
async function pauseForClocks({ world }: Scene): Promise<void> {
  world.clock.advance(1_000);
}

/** Set-aside things that one answer lists. */
type Aside = { id: string; resendable: boolean }[];

/**
 * Sends one set-aside thing again, or deletes it, as a user would.
 * @param which in [0, 1), of those that there are.
 * @returns what came of it, in words; null: nothing is set aside.
 */
export async function sendAgain(which: number): Promise<string | null> {
  const { body } = await api<Aside | null>("GET", "/logship/set-aside");
  const all = body.result ?? [];
  const aside = all[Math.floor(which * all.length)];
  if (aside === undefined) return null;
  // An object of a job that was deleted with what it held is all that cannot be sent again.
  if (!aside.resendable && aside.id.startsWith("object-"))
    return `${aside.id} is deleted: ${(await api("DELETE", `/logship/set-aside/${aside.id}`)).status}`;
  return `${aside.id}: ${(await api("POST", `/logship/set-aside/${aside.id}/resend`)).status}`;
}

export const DEEDS: readonly Deed[] = [
  {
    name: "post",
    weight: 12,
    async run(scene) {
      const { world, random } = scene;
      const large = random.chance(0.08);
      const events = large
        ? mint(scene, random.int(1, 2), { padding: random.int(100_000, 700_000) })
        : mint(scene, random.int(1, random.chance(0.1) ? 1_500 : 120));
      const key = `key-${scene.keys++}`;
      const ndjson = random.chance(0.5);
      const status = await world.post(events, { key, ndjson });
      if (status !== 202) scene.repeats.push({ events, key, ndjson });
      return `${events.length} events, ${large ? "large, " : ""}${key}: ${status ?? "no answer"}`;
    },
  },
  {
    name: "repeat",
    weight: 3,
    async run({ world, repeats }) {
      const request = repeats.shift();
      if (request === undefined) return null;
      // A repeated request needs the same bytes.
      const status = await world.post(request.events, request);
      if (status !== 202) repeats.push(request);
      return `${request.key}: ${status ?? "no answer"}`;
    },
  },
  {
    name: "tail",
    weight: 6,
    async run(scene) {
      const events = mint(scene, scene.random.int(1, 5), { form: "trace" });
      await scene.world.tail(events);
      return `${events.length} events`;
    },
  },
  {
    name: "ship",
    weight: 3,
    async run(scene) {
      const events = mint(scene, scene.random.int(1, 40));
      const key = `key-${scene.keys++}`;
      return `${events.length} events: ${(await scene.world.ship(events, key)) ? "taken" : "refused"}`;
    },
  },
  {
    name: "deliver",
    weight: 14,
    async run(scene) {
      const { world, random } = scene;
      const dead = random.chance(0.1);
      const due = world.queue.due({ dead });
      if (due.length === 0) return null;
      const batches = Array.from({ length: random.chance(0.3) ? 2 : 1 }, () => {
        const some = random.shuffled(due).slice(0, random.int(1, 100));
        return random.chance(0.1) ? [...some, ...some.slice(0, 3)] : some;
      });
      const lossRate = random.pick([0, 0, 0.1, 1]);
      const lost = new Set(due.filter(() => random.chance(lossRate)));
      const crash = random.chance(0.15);
      const delivering = batches.map((batch) =>
        world.queue.deliver(batch, world.isolate.queue, world.env, (message) => lost.has(message)),
      );
      if (crash) {
        world.injected();
        await abortAllDurableObjects();
      }
      const outcomes = await Promise.all(delivering);
      if (lost.size > 0) world.injected();
      const words = outcomes.map(({ acked, retried }) => `${acked} acknowledged, ${retried} to come again`);
      return `${words.join("; ")}${crash ? ", in a crash of everything" : ""}`;
    },
  },
  {
    name: "time passes",
    weight: 8,
    async run({ world, random }) {
      const seconds = random.weighted([
        { weight: 10, s: random.int(1, 40) },
        { weight: 5, s: random.int(40, 600) },
        { weight: 1, s: random.int(600, 20_000) },
        { weight: 0.3, s: random.int(1, 3) * 86_400 },
      ]).s;
      world.clock.advance(seconds * 1_000);
      return `${seconds} s`;
    },
  },
  {
    name: "alarms",
    weight: 9,
    async run({ world, copies }) {
      await world.runAlarms();
      await copies.runAlarm();
      return "";
    },
  },
  {
    name: "cron",
    weight: 3,
    async run({ world }) {
      // A failed run has no effect; the next run is five minutes later.
      const failed = await world.runCron().then(
        () => false,
        () => true,
      );
      return failed ? "failed" : "";
    },
  },
  {
    name: "flush",
    weight: 2,
    async run(scene) {
      const job = someJob(scene);
      if (job === null) return null;
      return `job ${job.id}: ${(await api("POST", `/logship/jobs/${job.id}/flush`)).status}`;
    },
  },
  {
    name: "crash of everything",
    weight: 2,
    async run({ world, random }) {
      const running = random.pick([() => world.runAlarms(), () => world.deliverDue(), async () => {}]);
      world.injected();
      // The call fails if its object dies.
      const done = running().catch(() => {});
      await abortAllDurableObjects();
      await done;
      return "";
    },
  },
  {
    name: "breakdown",
    weight: 7,
    run: async ({ breakdowns }) => breakdowns.arm(),
  },
  {
    name: "queue fails",
    weight: 3,
    run: async ({ breakdowns }) => breakdowns.armSends(),
  },
  {
    name: "store",
    weight: 6,
    async run(scene) {
      const job = someJob(scene, () => true);
      const bucket = job?.buckets.at(-1);
      if (job === null || bucket === undefined) return null;
      const { words, rules } = misbehaviour(scene.random, job);
      await bucket.control.script(rules);
      scene.world.injected();
      return `of job ${job.id}: ${words}`;
    },
  },
  {
    name: "stores are well",
    weight: 3,
    async run({ world }) {
      for (const { buckets } of world.jobs.all) for (const { control } of buckets) await control.script([]);
      return "";
    },
  },
  {
    name: "readers go down",
    weight: 1,
    async run(scene) {
      const job = someJob(scene);
      return job === null ? null : scene.breakdowns.breakReaders(job.id);
    },
  },
  {
    name: "readers are well",
    weight: 1,
    run: async ({ breakdowns }) => (breakdowns.mendReaders() === 0 ? null : ""),
  },
  {
    name: "a segment is full",
    weight: 2,
    async run(scene) {
      const { world, random } = scene;
      const job = someJob(scene);
      const place = random.next();
      if (job === null) return null;
      const nodes = await world.nodes(job.id);
      const node = nodes[Math.floor(place * nodes.length)];
      if (node === undefined || nodes.length >= NODES_MAX) return null;
      // As soon as it reads the next page, unless it dies before.
      await alive(() =>
        runInDurableObject(nodeAt(env.READERS, job.id, node), (reader) => {
          reader.segmentMaxBytes = 1;
        }),
      );
      return `job ${job.id}: node ${node} of ${nodes}`;
    },
  },
  {
    name: "LOG_SHARDS",
    weight: 2,
    async run({ world, random }) {
      const shards = String(random.pick([1, 2, 4]));
      Object.assign(world.env, { LOG_SHARDS: shards });
      return shards;
    },
  },
  {
    name: "the control plane is restored",
    weight: 1,
    async run(scene) {
      const { world } = scene;
      const job = someJob(scene);
      if (job === null) return null;
      const restore = await alive(() => restorable(() => controlPlane(env.CONTROL)));
      // What is lost changes nothing but versions.
      await world.jobs.change(job, { enabled: job.enabled });
      await alive(restore);
      world.injected();
      return `to before a change of job ${job.id}`;
    },
  },
  {
    name: "send again",
    weight: 4,
    run: async ({ random }) => (await sendAgain(random.next())) ?? null,
  },
  {
    name: "replay",
    weight: 2,
    async run(scene) {
      const job = someJob(scene);
      return job === null ? null : `job ${job.id}: ${await scene.copies.begin(job.id)}`;
    },
  },
  {
    name: "new isolate",
    weight: 2,
    async run({ world, random, isolates }) {
      if (random.chance(0.5) && isolates.length > 1) {
        world.isolate = random.pick(isolates);
        return "an older one";
      }
      world.coldIsolate();
      isolates.push(world.isolate);
      return "cold";
    },
  },
  {
    name: "create job",
    weight: 2,
    async run(scene) {
      const { world, random } = scene;
      if (world.jobs.all.filter(({ deleted }) => !deleted).length >= JOBS_MAX) return null;
      await pauseForClocks(scene);
      const job = await world.createJob(anyJob(random));
      return `job ${job.id}`;
    },
  },
  {
    name: "enable or disable",
    weight: 2,
    async run(scene) {
      const job = someJob(scene);
      if (job === null) return null;
      await pauseForClocks(scene);
      await scene.world.jobs.change(job, { enabled: !job.enabled });
      return `job ${job.id}: ${job.enabled ? "enabled" : "disabled"}`;
    },
  },
  {
    name: "filter",
    weight: 2,
    async run(scene) {
      const job = someJob(scene);
      if (job === null) return null;
      const { filter, keeps } = anyFilter(scene.random);
      await scene.world.jobs.refilter(job, filter, keeps, await scene.world.inFlight());
      return `job ${job.id}: ${filter ?? "none"}`;
    },
  },
  {
    name: "limits",
    weight: 1,
    async run(scene) {
      const job = someJob(scene);
      if (job === null) return null;
      const records = scene.random.pick([0, 1_000, 5_000]);
      await scene.world.jobs.change(job, { max_upload_records: records });
      return `job ${job.id}: ${records} records`;
    },
  },
  {
    name: "format",
    weight: 1,
    async run(scene) {
      const job = someJob(scene, ({ samples }) => !samples);
      if (job === null) return null;
      const fields = anyFields(scene.random, job);
      await scene.world.jobs.change(job, { output_options: { field_names: fields } });
      return `job ${job.id}: ${fields}`;
    },
  },
  {
    name: "destination",
    weight: 1,
    async run(scene) {
      const job = someJob(scene);
      if (job === null) return null;
      job.mayBeInBoth = true;
      await scene.world.jobs.move(job);
      return `job ${job.id}`;
    },
  },
  {
    name: "delete job",
    weight: 1,
    async run(scene) {
      const job = someJob(scene);
      if (job === null) return null;
      const discard = scene.random.chance(0.4);
      await scene.world.jobs.remove(job, { discard });
      return `job ${job.id}${discard ? ", with what it holds" : ""}`;
    },
  },
  {
    name: "switch a function",
    weight: 1,
    async run(scene) {
      const name = scene.random.pick(SCRIPTS);
      const on = scene.world.jobs.off.has(name);
      await pauseForClocks(scene);
      await scene.world.jobs.setLogging(name, on);
      return `${name} ${on ? "on" : "off"}`;
    },
  },
];
