import { stampOf } from "./config.ts";
import { drop } from "./kept.ts";
import type { Pulled } from "./reader.ts";
import type { Shard } from "./shard.ts";
import { expectLost, type Task } from "./task.ts";

interface Due {
  job: number;
  segment: number;
  at: number;
}

/** Jobs with something unread, or a reader with an older version; sealed segments as well. */
export function due(shard: Shard): Due[] {
  const { s, w } = shard;
  const list: Due[] = [];
  for (const job of s.config?.jobs ?? []) {
    const { segment, stamp: its, older } = s.jobs[job.id] ?? { segment: 0, stamp: "", older: {} };
    const stamp = stampOf(shard.config, job);
    const isOlder = its !== "" && its !== stamp && !w.is("olderVersionNotDue");
    const times = shard.unreadOf(job.id).map(({ block: { atMs } }) =>
      // Further ahead than the longest delay: the clock had leapt.
      atMs > shard.time() + 300 ? w.now : atMs - shard.clock + 5,
    );
    if (isOlder) times.push(w.now);
    const notBefore = (key: string): number => shard.waits.get(key) ?? 0;
    if (times.length > 0) list.push({ job: job.id, segment, at: Math.max(Math.min(...times), notBefore(`${job.id}`)) });
    if (w.is("textSealedNotDriven")) continue;
    for (const [k, has] of Object.entries(older))
      if (has !== stamp)
        list.push({ job: job.id, segment: Number(k), at: Math.max(w.now, notBefore(`${job.id}/${k}`)) });
  }
  return list;
}

/** *drive*: pulls one segment of a reader, and then notes its answer in one transaction. */
export function* drive(shard: Shard, job: number, segment: number, cut: boolean): Task {
  const { w, s } = shard;
  const key = `${job}/${segment}`;
  if (shard.driving.has(key)) return;
  shard.driving.add(key);
  try {
    if (!shard.jobOf(job)) return;
    const state = shard.jobState(job);
    const isOlder = segment !== state.segment;
    const from = w.is("textSegmentFromZero") ? 0 : state.cursor;
    const how = { segment: state.segment, from, cut };
    const reader = w.reader(job, shard.n, segment);
    const pulled = yield* w.askLong(reader, "pull", () => reader.pull(how), 60);
    // It may have been forgotten since.
    if (!s.jobs[job] || !shard.jobOf(job)) return;
    settle(shard, job, segment, pulled);
    shard.waits.delete(isOlder ? key : `${job}`);
    drop(shard);
  } catch (error) {
    expectLost(error);
    const name = segment === (s.jobs[job]?.segment ?? 0) ? `${job}` : key;
    shard.waits.set(name, w.now + 5 + w.random.below(10));
  } finally {
    shard.driving.delete(key);
  }
  if (!w.is("noAlarmAfterDrive")) shard.wakeLater();
}

/** Cursor, version and segment, as the reader answers them. */
function settle(shard: Shard, job: number, segment: number, pulled: Pulled): void {
  const { s } = shard;
  const state = shard.jobState(job);
  if (segment !== state.segment) {
    if (segment in state.older) state.older[segment] = pulled.stamp;
    if (pulled.isEmpty) delete state.older[segment];
    return;
  }
  state.cursor = Math.max(state.cursor, pulled.cursor);
  s.last = Math.max(s.last, pulled.cursor);
  state.stamp = pulled.stamp;
  if (pulled.sealed) {
    state.older[segment] = pulled.stamp;
    state.segment = segment + 1;
    state.stamp = "";
  }
}
