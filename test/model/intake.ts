import { append } from "./append.ts";
import { idsOf, type Part, type Rec, sizeOf } from "./parts.ts";
import { ANEW, DAY, DEAD_RETRIES, MESSAGE_MAX, QUEUE_LIFE, RETRIES, SKEW } from "./scale.ts";
import { some } from "./some.ts";
import { expectLost, Fault, Lost, type Step, type Task } from "./task.ts";
import type { Copy, Isolate, World } from "./world.ts";

function hash(id: string): number {
  let h = 7;
  for (const c of id) h = (Math.imul(h, 31) + c.charCodeAt(0)) >>> 0;
  return h >>> 8;
}

export function send(w: World, parts: Part[]): void {
  // The bytes say which release is needed, so equal ones say the same.
  const newHead = w.does.heads && hash(`head ${idsOf(parts)}`) % 4 === 0;
  const message = { id: w.nextMessage++, parts, newHead };
  w.queue.push({ message, attempts: 0, visibleAt: w.now, sentMs: w.now, dead: false, triedMs: 0, refused: 0 });
}

/**
 * Sends what an isolate has taken in. Days may pass between two steps of a run; no invocation lasts
 * so long, so nothing is promised of one that does.
 */
function sendFirst(w: World, parts: Part[]): void {
  for (const { id, takenMs } of parts) {
    const own = w.accepted.get(id)?.copies.find(({ stamp }) => stamp === takenMs);
    if (own !== undefined && w.now - own.trueMs > DAY) w.note(id, "any");
  }
  send(w, parts);
}

/** What an isolate takes in at once: its parts, and the copies of them that the oracle notes. */
class Request {
  w: World;
  isolate: Isolate;
  takenMs: number;
  parts: Part[] = [];
  private copies: Copy[] = [];

  constructor(w: World, isolate: Isolate, key: string | null) {
    this.w = w;
    this.isolate = isolate;
    this.takenMs = w.now + isolate.clock;
    if (key !== null) this.addKeyed(key);
    else {
      const id = `p${w.nextPart++}`;
      this.add(id, id, hash(id) % this.isolate.shards, false, this.records(id, 1 + w.random.below(3)));
    }
  }
  private records(part: string, n: number): Rec[] {
    const { random } = this.w;
    const record = (_: unknown, i: number): Rec => ({
      id: `${part}.${i}`,
      fn: random.below(3),
      value: random.below(12),
      day: random.below(2),
    });
    return Array.from({ length: n }, record);
  }
  /** Cuts are made in the body as sent, by a rule that never changes: here, every two events. */
  private addKeyed(key: string): void {
    const { w } = this;
    const body = w.bodies.get(key) ?? this.records(key, 3 + w.random.below(2));
    w.bodies.set(key, body);
    const most = w.is("cutsBySettings") && w.random.chance(0.5) ? 3 : 2;
    for (let i = 0; i * most < body.length; i++) {
      const id = `${key}_${i}`;
      // A name of its own where the same id stands for other records: the mutant does that.
      const name = most === 3 ? `${id}#3` : id;
      const records = body.slice(i * most, i * most + most);
      for (const rec of records) w.partsOfRecord.set(rec.id, [...(w.partsOfRecord.get(rec.id) ?? []), name]);
      this.add(id, name, hash(id) % this.isolate.keyShards, true, records);
    }
  }
  private add(id: string, name: string, shard: number, keyed: boolean, records: Rec[]): void {
    const { w, takenMs, isolate } = this;
    const mayPoison = w.does.poison && w.random.chance(0.1);
    const noted = w.accepted.get(name);
    const known = noted ?? { id, records, copies: [] };
    w.accepted.set(name, known);
    const sane = Math.abs(isolate.clock) <= SKEW;
    const own = { stamp: takenMs, trueMs: w.now, ackMs: Number.POSITIVE_INFINITY, sane };
    known.copies.push(own);
    this.copies.push(own);
    this.parts.push({ id, takenMs, shard, keyed, records, poison: !noted && !keyed && mayPoison });
  }
  /** From here on it is promised. */
  ack(): void {
    for (const each of this.copies) each.ackMs = Math.min(each.ackMs, this.w.now);
  }
}

/**
 * Takes a request in: over the queue, over the packer, or directly where it is too large for the
 * queue or the queue refuses.
 */
export function* intake(w: World, key: string | null): Task {
  const { random } = w;
  const isolate = random.pick(w.isolates);
  if (key !== null && !(yield* mayUseKeys(w, isolate))) return;
  const request = new Request(w, isolate, key);
  const { parts } = request;
  const part = some(parts[0]);
  const how = random.below(5);
  w.log(() => `intake ${idsOf(parts)} @${request.takenMs} to ${parts.map(({ shard }) => shard).join()} how ${how}`);
  if (how <= 2 && how > 0 && key === null) {
    // If the packer does not answer in time, the isolate sends its own message: a second copy.
    const box = { part, isIn: false };
    const place = w.is("packsAcrossShards") ? 0 : part.shard;
    w.packer.set(place, [...(w.packer.get(place) ?? []), box]);
    const until = w.now + 5 + random.below(25);
    while (!box.isIn && w.now < until) yield;
    if (box.isIn) return request.ack();
  }
  // All parts of a message, and of an append, belong to one shard.
  for (const n of new Set(parts.map(({ shard }) => shard))) {
    const own = parts.filter(({ shard }) => shard === n);
    if (!(yield* how === 0 ? directly(w, own) : toQueue(w, own))) return;
    // Its answer was late, so that it was sent twice.
    if (how === 3) sendFirst(w, own);
  }
  request.ack();
}

/** Requests with keys are refused where KEY_SHARDS differs from that of the control plane. */
function* mayUseKeys(w: World, isolate: Isolate): Step<boolean> {
  const { keyShards } = isolate;
  if (w.is("keyShardsUnchecked")) return true;
  if (isolate.mayUseKeys === null) {
    const may = yield* w.ask(w.plane, () => w.plane.hasKeyShards(keyShards));
    // It may have been started anew since.
    if (isolate.keyShards !== keyShards) return false;
    isolate.mayUseKeys = may;
  }
  return isolate.mayUseKeys;
}

function* directly(w: World, parts: Part[]): Step<boolean> {
  const shard = w.shard(some(parts[0]).shard);
  for (let tries = 0; tries < 5; tries++) {
    try {
      const { mark, version } = w.plane.s;
      const state = (): { mark: number; version: number } =>
        w.random.chance(0.7) ? { mark: 0, version: 0 } : { mark, version };
      yield* w.ask(shard, () => append(shard, { parts, records: parts, groups: [], state: state(), queueDoneMs: 0 }));
      return true;
    } catch (error) {
      expectLost(error);
    }
  }
  return false;
}

function* toQueue(w: World, parts: Part[]): Step<boolean> {
  for (let tries = 0; tries < 3; tries++) {
    try {
      yield;
      if (w.faults && w.random.chance(0.05)) throw new Lost("request");
      sendFirst(w, parts);
      yield;
      if (w.faults && w.random.chance(0.05)) throw new Lost("answer");
      return true;
    } catch (error) {
      expectLost(error);
    }
  }
  return false;
}

/** Attempts of the queue, and those after which a handler sends anew. */
export const retriesOf = (w: World): number => (w.does.dead ? DEAD_RETRIES : RETRIES);
export const anewOf = (w: World): number => retriesOf(w) - RETRIES + ANEW;

/** The packer sends what waits for one shard; a part may be in its message twice. */
export function flushPacker(w: World): void {
  const { random } = w;
  const waiting = [...w.packer].filter(([, list]) => list.length > 0);
  if (waiting.length === 0) return;
  const [place, all] = random.pick(waiting);
  let list = all;
  while (sizeOf(list.map(({ part }) => part)) > MESSAGE_MAX && !w.is("packsWithoutBound")) list = list.slice(0, -1);
  w.packer.set(place, all.slice(list.length));
  // It dies; isolates keep their copy until it answers.
  if (w.faults && random.chance(0.1)) return;
  const parts = list.map(({ part }) => part);
  sendFirst(w, random.chance(0.1) ? [...parts, ...parts.slice(0, 1)] : parts);
  // Its answer is lost.
  if (w.faults && random.chance(0.15)) return;
  for (const box of list) box.isIn = true;
}

/**
 * What the queue does by itself: dead letters after some attempts, deletion after 14 days in each.
 * It is a fault if that happens to a message whose shard answered: it had to be sent anew, or held.
 */
export function queueTurns(w: World): void {
  const retries = retriesOf(w);
  for (const each of [...w.queue]) {
    const isOld = w.now - each.sentMs > QUEUE_LIFE;
    if (!isOld && each.attempts < retries) continue;
    w.queue.splice(w.queue.indexOf(each), 1);
    const isDeleted = isOld || each.dead;
    w.log(() => `queue: ${idsOf(each.message.parts)} ${isDeleted ? "deleted" : "to dead letters"}`);
    if (each.refused >= 3)
      throw new Fault(
        `${isDeleted ? "deleted" : "a dead letter"}, though its shard answered: ${idsOf(each.message.parts)}`,
      );
    if (isDeleted) for (const { id } of each.message.parts) w.note(id, "lack");
    else w.queue.push({ ...each, dead: true, attempts: 0, refused: 0, sentMs: w.now, visibleAt: w.now });
  }
}
