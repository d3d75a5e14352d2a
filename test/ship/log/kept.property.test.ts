/** What a shard keeps, and what jobs that start in the past get of it, against a list of blocks. */
import { evictDurableObject } from "cloudflare:test";
import * as fc from "fast-check";
import { beforeEach, expect, it, vi } from "vitest";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { ShardJobStatus } from "../../../src/ship/log/shard-answers.ts";
import { JOB_KNOWN_MS } from "../../../src/ship/log/trace-log.ts";
import { keepHours } from "../../support/runtime/keeping.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { job, record, snapshot } from "../consumer/scripted.ts";
import { type Control, control, gotOf, kept, message, open, page, readers, rowsOf, shard, stateOf } from "./shard.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const OFF = "off";

let clock: ReturnType<typeof setClock>;
let plane: Control;
beforeEach(() => {
  clock = setClock(NOON);
  plane = control([]);
  // What is read, the test reads.
  readers(() => ({}));
  vi.spyOn(console, "error").mockImplementation(() => {});
});

interface Part {
  /** Minutes before it comes. */
  age: number;
  functions: string[];
}
const part: fc.Arbitrary<Part> = fc.record({
  age: fc.constantFrom(-1, 0, 1, 70),
  functions: fc.array(fc.constantFrom("shop", "till", OFF), { minLength: 1, maxLength: 3 }),
});
type Step =
  | { what: "append"; parts: Part[] }
  | { what: "tick"; minutes: number }
  | { what: "read"; job: number; share: number }
  | { what: "begin"; age: number | null }
  | { what: "end"; job: number }
  | { what: "keep"; hours: number }
  | { what: "sweep" | "die" };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant("append"), parts: fc.array(part, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant("tick"), minutes: fc.constantFrom(0, 1, 29, 61) }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant("read"), job: fc.nat({ max: 3 }), share: fc.nat({ max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("begin"), age: fc.constantFrom(null, 0, 1, 30, 200) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("end"), job: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("keep"), hours: fc.constantFrom(0, 1, 2) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom("sweep", "die") }) },
) as fc.Arbitrary<Step>;

interface Block {
  n: number;
  atMs: number;
  /** What of each part is not of a function that was off; kept or not. */
  parts: { takenMs: number; outcomes: string[] }[];
  isKept: boolean;
  /** Goes when it is read. */
  isOver: boolean;
  offered: Map<number, string[]>;
}

/** A shard as the simplest list has it. */
class Model {
  blocks: Block[] = [];
  last = 0;
  keepMs = 24 * HOUR_MS;
  sinceMs = 0;
  newestMs = 0;
  readonly jobs = new Map<number, { config: JobConfig; cursor: number; received: number; lost: number[] | null }>();

  append(parts: Block["parts"], nowMs: number): void {
    const own = parts.filter(({ outcomes }) => outcomes.length > 0);
    const of = (id: number): string[] =>
      own.filter(({ takenMs }) => this.wants(id, takenMs)).flatMap((p) => p.outcomes);
    const offered = new Map(
      [...this.jobs.keys()].map((id) => [id, of(id)] as const).filter(([, all]) => all.length > 0),
    );
    if (own.length > 0 && (offered.size > 0 || this.keepMs > 0)) {
      this.last = Math.max(this.last + 1, nowMs * 1_024);
      this.blocks.push({ n: this.last, atMs: nowMs, parts: own, isKept: this.keepMs > 0, isOver: false, offered });
      for (const [id, all] of offered) this.of(id).received += all.length;
    }
    this.expire(nowMs);
    this.newestMs = Math.max(this.newestMs, ...parts.map(({ takenMs }) => takenMs));
  }

  expire(nowMs: number): void {
    for (const block of this.blocks.filter(({ isOver }) => !isOver)) {
      if (this.keepMs > 0 && nowMs - block.atMs <= this.keepMs + JOB_KNOWN_MS) break;
      block.isOver = true;
      const newestMs = Math.max(...block.parts.map(({ takenMs }) => takenMs));
      if (block.isKept) this.sinceMs = Math.max(this.sinceMs, Math.min(newestMs, nowMs));
    }
    if (this.keepMs === 0) this.sinceMs = Math.max(this.sinceMs, nowMs, this.newestMs);
    this.drop();
  }

  begin(id: number, config: JobConfig): void {
    const { since } = config;
    const isLost = since !== undefined && since <= this.sinceMs;
    this.jobs.set(id, { config, cursor: 0, received: 0, lost: isLost ? [since, this.sinceMs] : null });
    for (const block of since === undefined ? [] : this.blocks.filter(({ isKept }) => isKept)) {
      const own = block.parts.filter(({ takenMs }) => this.wants(id, takenMs)).flatMap(({ outcomes }) => outcomes);
      if (own.length > 0) block.offered.set(id, own);
      this.of(id).received += own.length;
    }
    this.drop();
  }

  end(id: number): void {
    this.jobs.delete(id);
    for (const { offered } of this.blocks) offered.delete(id);
    this.drop();
  }

  read(id: number, share: number): number {
    const unread = this.unread(id);
    const { n } = unread[Math.min(share, unread.length - 1)] ?? { n: this.of(id).cursor };
    this.of(id).cursor = n;
    this.drop();
    return n;
  }

  die(): void {
    for (const block of this.blocks) block.isOver = false;
  }

  unread(id: number): Block[] {
    return this.blocks.filter(({ n, offered }) => offered.has(id) && n > this.of(id).cursor);
  }

  of(id: number) {
    const found = this.jobs.get(id);
    if (found === undefined) throw new Error(`no job ${id}`);
    return found;
  }

  wants(id: number, takenMs: number): boolean {
    return takenMs >= (this.of(id).config.windows[0]?.fromMs ?? 0);
  }

  drop(): void {
    this.blocks = this.blocks.filter(
      ({ n, isOver, offered }) => !isOver || [...offered.keys()].some((id) => this.of(id).cursor < n),
    );
  }
}

it("a shard keeps and gives what a list of its blocks would, whatever comes, and however often it dies", async () => {
  const seen = { past: 0, lost: 0, dropped: 0 };
  let runs = 0;
  const run = async (steps: readonly Step[]): Promise<void> => {
    runs += 1;
    const at = runs;
    const model = new Model();
    let [version, events, jobs] = [1, 0, 0];
    const configure = async (): Promise<void> => {
      version += 1;
      const configs = [...model.jobs.values()].map(({ config }) => config);
      plane.now = snapshot(`epoch.${version}.mark`, configs, [
        { scriptName: OFF, windows: [{ fromMs: 0, untilMs: null }] },
      ]);
      await shard(at).configure(plane.now);
    };
    const append = async (parts: readonly Part[]): Promise<void> => {
      const nowMs = clock.nowMs();
      const made = parts.map(({ age, functions }) => {
        const takenInMs = nowMs - age * MINUTE_MS;
        const records = functions.map((ScriptName) => ({ ...record(`${++events}`), ScriptName }));
        const outcomes = records.filter(({ ScriptName }) => ScriptName !== OFF).map(({ Outcome }) => Outcome);
        return { message: message(events, { takenInMs, records }), part: { takenMs: takenInMs, outcomes } };
      });
      await shard(at).append(open(made.map((each) => each.message)));
      model.append(
        made.map((each) => each.part),
        nowMs,
      );
    };
    const take = async (each: Step): Promise<void> => {
      const ids = [...model.jobs.keys()];
      switch (each.what) {
        case "append":
          return append(each.parts);
        case "tick":
          return clock.advance(each.minutes * MINUTE_MS);
        case "sweep":
          await shard(at).sweep();
          return model.expire(clock.nowMs());
        case "keep":
          keepHours(each.hours);
          model.keepMs = each.hours * HOUR_MS;
          return;
        case "read": {
          const id = ids[each.job];
          if (id !== undefined) await page(id, model.read(id, each.share), { n: at });
          return;
        }
        case "begin": {
          if (model.jobs.size > 3) return;
          jobs += 1;
          const fromMs = clock.nowMs() - (each.age ?? 0) * MINUTE_MS;
          const windows = [{ fromMs, untilMs: null }];
          model.begin(jobs, job(jobs, { windows, ...(each.age !== null && { since: fromMs }) }));
          seen.past += each.age !== null && model.unread(jobs).length > 0 ? 1 : 0;
          seen.lost += model.of(jobs).lost === null ? 0 : 1;
          return configure();
        }
        case "end": {
          const id = ids[each.job];
          if (id === undefined) return;
          model.end(id);
          return configure();
        }
        case "die":
          // How far jobs have read is stored with it.
          await configure();
          await evictDurableObject(shard(at));
          return model.die();
      }
    };
    keepHours(24);
    await configure();
    for (const each of steps) {
      const before = model.blocks.length;
      await take(each);
      seen.dropped += before > model.blocks.length ? 1 : 0;
      expect(await rowsOf("block", at)).toBe(model.blocks.length);
      expect(await stateOf("kept_since_ms", at)).toEqual({ kept_since_ms: model.sinceMs });
      const all = model.blocks.filter(({ isKept }) => isKept).flatMap(({ parts }) => parts.flatMap((p) => p.outcomes));
      expect(await kept(at)).toEqual(all);
      const { jobs: status } = await shard(at).status([...model.jobs.keys()]);
      for (const [id, { cursor, received, lost }] of model.jobs) {
        const unread = model.unread(id).map(({ offered }) => offered.get(id));
        expect((await page(id, cursor, { n: at, maxBytes: 1e9 })).items.map((item) => gotOf(item).outcomes)).toEqual(
          unread,
        );
        const records = unread.flat().length;
        const said = (status as Record<number, ShardJobStatus>)[id];
        expect([said?.received, said?.unread?.records ?? 0, said?.lost]).toEqual([received, records, lost]);
        if (records === 0) expect(said?.hasPast).toBe(false);
      }
    }
  };
  const steps = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 30 }), run);
  await fc.assert(steps, { numRuns: 25 });
  // What is rare in a few courses is not in many.
  for (let n = 0; n < 12 && Object.values(seen).includes(0); n++) await fc.assert(steps, { numRuns: 10 });
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});
