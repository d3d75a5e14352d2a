import { AsyncLocalStorage } from "node:async_hooks";
import { Random } from "../model/random.ts";

/** Of Node itself: the source's own timers are the scheduler's. */
const turnOfNode = setImmediate;

/**
 * What runs, and dies as a whole: an instance of a durable object, or an isolate with the handlers.
 * Whatever it does later, it does in its own name: timers and requests of the dead are dropped.
 */
export interface Life {
  readonly name: string;
  isAlive: boolean;
  /** By which its clock is wrong, in ms. */
  readonly skewMs: number;
  /** Messages leave once everything that was written before is on disk. */
  send(leave: () => void): void;
}

export const lives = new AsyncLocalStorage<Life>();

interface Event {
  dueMs: number;
  n: number;
  life: Life | null;
  run: (() => void) | null;
}

/**
 * A virtual clock and everything that is due. One event runs at a time, up to the point where all
 * that it has set going waits for another event. When an event is due is drawn from the seed, so
 * the seed alone decides the order.
 */
export class Scheduler {
  readonly random: Random;
  nowMs: number;
  /** Events so far. */
  count = 0;
  /** Delays, losses and deaths happen. */
  hasFaults = true;
  /** Events that isolates have lost, and could not count. */
  uncounted = 0;
  /** After each event. @param life whose it was. */
  afterEach: (life: Life | null) => void = () => {};
  /** Prints each line that has this word; "": all; undefined: none. */
  trace: string | undefined;
  readonly #heap: Event[] = [];
  #next = 0;

  constructor(seed: number, nowMs: number) {
    this.random = new Random(seed);
    this.nowMs = nowMs;
  }

  /** @param life that has to live for it, if any. @returns what cancels it. */
  at(dueMs: number, run: () => void, life: Life | null = null): () => void {
    const event: Event = { dueMs: Math.max(dueMs, this.nowMs), n: this.#next++, life, run };
    push(this.#heap, event);
    return () => {
      event.run = null;
    };
  }

  log(line: () => string): void {
    if (this.trace === undefined) return;
    const text = `${new Date(this.nowMs).toISOString().slice(5, 23)} ${line()}\n`;
    if (text.includes(this.trace)) process.stdout.write(text);
  }

  /** How long a message is on its way, or a disk takes, in ms: mostly little. */
  latency(): number {
    const { random } = this;
    if (!this.hasFaults) return random.below(3);
    const dice = random.next();
    if (dice < 0.9) return random.below(6);
    if (dice < 0.99) return random.below(300);
    return random.below(20_000);
  }

  soon(run: () => void, life: Life | null = null): () => void {
    return this.at(this.nowMs + this.latency(), run, life);
  }

  /** For what is outside: no death ends it. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(this.nowMs + ms, resolve);
    });
  }

  /** Runs events until `isOver`, or until none is due up to `untilMs`. */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    await new Promise(turnOfNode);
    while (!isOver()) {
      const event = this.#heap[0];
      if (event === undefined || event.dueMs > untilMs) break;
      pop(this.#heap);
      if (event.run === null || event.life?.isAlive === false) continue;
      this.nowMs = event.dueMs;
      this.count += 1;
      if (event.life === null) event.run();
      else lives.run(event.life, event.run);
      await new Promise(turnOfNode);
      this.afterEach(event.life);
    }
    if (!isOver()) this.nowMs = Math.max(this.nowMs, Math.min(untilMs, Number.MAX_SAFE_INTEGER));
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.n < b.n);
}

function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as Event;
    if (!isBefore(event, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Event[]): void {
  const last = heap.pop() as Event;
  if (heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
    if (!isBefore(heap[child] as Event, last)) break;
    heap[at] = heap[child] as Event;
    at = child;
  }
  heap[at] = last;
}
