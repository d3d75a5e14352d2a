import { passes } from "./config.ts";
import { isRead } from "./kept.ts";
import { checkPast } from "./past.ts";
import type { Shard } from "./shard.ts";
import { some } from "./some.ts";
import { Fault } from "./task.ts";
import { isAny, namesOf, verdict } from "./verdict.ts";
import type { World } from "./world.ts";

/**
 * Records of a job in its stores: how many stores have each.
 * @throws Fault if one store has a record twice.
 */
export function inStore(w: World, job: number): Map<string, number> {
  const count = new Map<string, number>();
  const seen = new Set<string>();
  for (const [place, { records }] of w.stores) {
    const [store = "", key = ""] = place.split("|");
    if (!key.startsWith(`${job}/`)) continue;
    for (const { id } of records) {
      if (seen.has(`${store}${id}`) && !isAny(w, job, id)) throw new Fault(`job ${job} has ${id} twice in ${store}`);
      seen.add(`${store}${id}`);
      count.set(id, (count.get(id) ?? 0) + 1);
    }
  }
  return count;
}

/** Invariants 5 and 6, and no record twice, at any time. */
export function checkAlways(w: World): void {
  for (const { id } of w.plane.s.jobs) inStore(w, id);
  for (const reader of w.readers.values()) {
    const { received, sum } = reader.status();
    if (received !== sum && !w.exemptJobs.has(reader.job))
      throw new Fault(`${reader.name}: received ${received} is not ${sum}`);
  }
  for (const { s, name } of w.shards.values()) {
    const unread = Object.values(s.unreadable).map(({ message }) => message.parts);
    const bytes = unread.map((parts) => parts.map(({ id, takenMs }) => `${id}@${takenMs}`).join());
    if (new Set(bytes).size < bytes.length) throw new Fault(`${name} counts unreadable bytes twice`);
    const { processed, routed, notEnabled, notRouted, setAside, discarded } = s.counts;
    if (processed !== routed + notEnabled + notRouted + setAside + discarded)
      throw new Fault(`${name}: ${JSON.stringify(s.counts)}`);
  }
}

/** Nothing is left anywhere, sums agree, and each job has each record that it must have. */
export function checkEnd(w: World): void {
  checkAlways(w);
  if (w.queue.length > 0) throw new Fault("the queue is not empty");
  for (const shard of w.shards.values()) checkShard(w, shard);
  const isTaken = ([, { id, copies }]: [string, { id: string; copies: { ackMs: number }[] }]): boolean =>
    w.taken.has(id) && copies.some(({ ackMs }) => ackMs < Number.POSITIVE_INFINITY);
  const all = [...w.accepted].filter(isTaken).reduce((sum, [, { records }]) => sum + records.length, 0);
  const processed = [...w.shards.values()].reduce((sum, { s }) => sum + s.counts.processed, 0);
  if (processed < all && w.restores === 0) throw new Fault(`processed ${processed} of ${all}`);
  for (const reader of w.readers.values())
    if (!reader.isEmpty() && !w.exemptJobs.has(reader.job)) throw new Fault(`${reader.name} still has something`);
  for (const { name, s } of w.restores === 0 ? w.erased : [])
    if (s.cursor !== null || s.job !== null) throw new Fault(`${name} lives again after it was erased`);
  for (const { kind, job } of w.changes)
    if ((kind === "create" || kind === "rerun") && job !== undefined && !w.exemptJobs.has(job)) checkJob(w, job);
  for (const place of w.stores.keys()) checkObject(w, place);
}

function checkShard(w: World, shard: Shard): void {
  const { s, name, n } = shard;
  if (w.keepMs === 0 && !w.does.keeps && s.blocks.length > 0)
    throw new Fault(
      `${name} keeps ${JSON.stringify(s.blocks.map(({ n, fresh, entries }) => ({ n, fresh, entries })))}`,
    );
  if (s.holds.length > 0) throw new Fault(`${name}: something is on hold`);
  if (Object.keys(s.unreadable).length > 0) throw new Fault(`${name}: something unreadable is on hold`);
  const left = s.blocks.find((block) => !isRead(shard, block));
  if (left) throw new Fault(`${name}: ${left.n} is not read`);
  if (w.noSums.has(`*/${n}`)) return;
  const isLeft = (id: string): boolean =>
    !w.exempt.has(id) &&
    !w.taken.has(id) &&
    (w.accepted.get(id)?.copies.some(({ ackMs }) => ackMs < Number.POSITIVE_INFINITY) ?? false);
  const unfinished = Object.keys(s.unfinished);
  if (unfinished.some(isLeft)) throw new Fault(`${name}: unfinished ${unfinished.join()}`);
  for (const [id, { appended, discarded }] of Object.entries(s.jobs)) {
    const job = Number(id);
    if (w.noSums.has(`${job}/${n}`) || w.blur.length > 0) continue;
    let unread = appended - discarded;
    for (const reader of w.readers.values())
      if (reader.job === job && reader.shardN === n) unread -= reader.s.counts.received;
    const isDiscarded = shard.jobOf(job)?.discard ?? false;
    if (isDiscarded && !w.is("textDiscardCounts") ? unread < 0 : unread !== 0)
      throw new Fault(`job ${job} in ${name}: unread ${unread} at the end`);
  }
}

function checkJob(w: World, id: number): void {
  const isDiscarded = w.plane.s.jobs.find((each) => each.id === id)?.discard ?? w.discards.has(id);
  const has = inStore(w, id);
  const stored = [...has.values()].reduce((sum, n) => sum + n, 0);
  const own = [...w.readers.values()].filter(({ job }) => job === id);
  const delivered = own.reduce((sum, { s }) => sum + s.counts.delivered, 0);
  const hasMoved = w.changes.some(({ kind, job }) => kind === "store" && job === id);
  const isErased = own.some((reader) => w.erased.has(reader));
  if (!isErased && w.noSums.size === 0 && (isDiscarded || hasMoved ? stored < delivered : stored !== delivered))
    throw new Fault(`job ${id}: ${stored} stored, ${delivered} counted as delivered`);
  for (const [name, { records }] of w.accepted)
    for (const rec of records) {
      const n = has.get(rec.id) ?? 0;
      if (n > 1 && !hasMoved && !isAny(w, id, rec.id)) throw new Fault(`job ${id} has ${rec.id} ${n} times`);
      const want = verdict(w, id, name, rec);
      const isInOnePart = new Set(namesOf(w, rec.id)).size === 1;
      if (want === 0 && n !== 0 && isInOnePart) throw new Fault(`job ${id} has ${rec.id}, which it must not`);
      if (want === 1 && n === 0 && !isDiscarded) throw new Fault(`job ${id} lacks ${rec.id}`);
    }
  if (isDiscarded || w.blur.length > 0 || w.forgotten.has(id)) return;
  checkPast(w, id, has);
}

/**
 * One day; and format and filter of one configuration in force between the intake of a record and
 * now.
 */
function checkObject(w: World, place: string): void {
  const { records, format } = some(w.stores.get(place));
  const id = Number(some(place.split("|")[1]).split("/")[0]);
  if (w.exemptJobs.has(id)) return;
  if (new Set(records.map(({ day }) => day)).size > 1) throw new Fault(`${place} mixes days`);
  const configs = configsOf(w, id);
  for (const rec of records) {
    if (isAny(w, id, rec.id)) continue;
    const copies = namesOf(w, rec.id).flatMap((name) => some(w.accepted.get(name)).copies);
    const takenMs = Math.min(...copies.map(({ trueMs }) => trueMs));
    const first = configs.findLastIndex(({ answeredMs }) => answeredMs <= takenMs);
    const wasInForce = configs
      .slice(Math.max(0, first))
      .some((each) => each.format === format && passes(each.mod, rec));
    if (!wasInForce && !w.blur.some(({ from }) => takenMs >= from - 10))
      throw new Fault(`${place} has ${rec.id} in format ${format}, which was not in force with a filter that takes it`);
  }
}
/** Filters and formats that a job had, in order. */
function configsOf(w: World, id: number): { answeredMs: number; mod: number; format: number }[] {
  const list: { answeredMs: number; mod: number; format: number }[] = [];
  for (const { job, mod, format, answeredMs } of w.changes) {
    if (job !== id || (mod === undefined && format === undefined)) continue;
    const last = list.at(-1) ?? { mod: 1, format: 0 };
    list.push({ answeredMs, mod: mod ?? last.mod, format: format ?? last.format });
  }
  return list;
}
