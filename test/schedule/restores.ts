import type { Book, Change, Job } from "./book.ts";
import type { DurableThing } from "./objects.ts";
import { stored } from "./oracle.ts";
import type { Saved } from "./storage.ts";
import type { World } from "./world.ts";

/** What can be restored to an earlier time. */
const KINDS = ["CONTROL", "TRACE_LOG", "READERS"];

/** An object as it was, and what the jobs had then. */
interface Point {
  thing: DurableThing;
  disk: Saved[];
  atMs: number;
  had: Map<Job, Set<string>>;
  /** Shards of the log. */
  shards: Set<string>;
}

/**
 * Objects are restored to an earlier time, and the book notes what is not promised then
 * (docs/delivery.md, *Restores*).
 */
export class Restores {
  readonly #world: World;
  readonly #book: Book;
  #point: Point | null = null;

  constructor(world: World, book: Book) {
    this.#world = world;
    this.#book = book;
  }

  /** Saves an object now, or restores the one that was saved. */
  saveOrRestore(): void {
    if (this.#point === null) this.#save();
    else this.#restore(this.#point);
  }

  #save(): void {
    const { objects, scheduler } = this.#world;
    const kind = scheduler.random.pick(KINDS);
    const things = [...objects.things.values()].filter((each) => each.kind === kind && !each.disk.isDirty);
    if (things.length === 0) return;
    const thing = scheduler.random.pick(things);
    const had = new Map(this.#book.jobs.map((job) => [job, new Set(stored(this.#world, job).keys())]));
    this.#point = { thing, disk: thing.disk.save(), atMs: scheduler.nowMs, had, shards: this.#shards() };
  }

  #shards(): Set<string> {
    const things = [...this.#world.objects.things.values()];
    return new Set(things.filter(({ kind }) => kind === "TRACE_LOG").map(({ name }) => name));
  }

  #restore({ thing, disk, atMs, had, shards }: Point): void {
    this.#point = null;
    this.#book.restores += 1;
    this.#world.scheduler.log(() => `${thing.name} is restored to ${new Date(atMs).toISOString()}`);
    thing.restore(disk);
    if (thing.kind !== "READERS") this.#undone(atMs);
    if (thing.kind !== "CONTROL") {
      this.#lose(thing, had);
      return;
    }
    for (const job of this.#book.jobs) job.isRestored = true;
    // One that began since is not told of changes until it asks.
    this.#book.isLate ||= [...this.#shards()].some((name) => !shards.has(name));
  }

  /** What a job did not have then may be lost, or come twice. */
  #lose(thing: DurableThing, had: ReadonlyMap<Job, Set<string>>): void {
    const id = /^job (\d+) /.exec(thing.id.name)?.[1];
    for (const job of this.#book.jobs) {
      // The id of a job whose creation had no answer is not known: it may be this one.
      if (id !== undefined && job.id !== null && Number(id) !== job.id) continue;
      if (id !== undefined) job.isRestored = true;
      for (const sent of this.#book.sent.keys())
        if (had.get(job)?.has(sent) !== true) (id === undefined ? this.#book : job).lost.add(sent);
    }
  }

  /**
   * Changes since are undone: those of a control plane for good, those of a shard until the control
   * plane answers it, which is not known here.
   */
  #undone(atMs: number): void {
    const { nowMs } = this.#world.scheduler;
    const undo = <T>(changes: Change<T>[]): void => {
      if (changes.every(({ untilMs }) => untilMs <= atMs)) return;
      const then = changes.findLast(({ untilMs }) => untilMs <= atMs) ?? (changes[0] as Change<T>);
      for (const change of changes) if (change.untilMs > atMs) change.untilMs = Number.POSITIVE_INFINITY;
      changes.push({ to: then.to, fromMs: nowMs, untilMs: Number.POSITIVE_INFINITY });
    };
    for (const changes of this.#book.logging.values()) undo(changes);
    for (const { enabled, filters, since } of this.#book.jobs) {
      // One that starts in the past is on since then, but only since its creation was answered.
      const createdMs = filters[0]?.untilMs ?? 0;
      if (since !== null && createdMs > atMs)
        for (const change of enabled) if (change.to) change.untilMs = Number.POSITIVE_INFINITY;
      undo(enabled);
      undo(filters);
    }
  }
}
