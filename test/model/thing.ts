import { DAY, SKEW } from "./scale.ts";
import { Lost, type Task } from "./task.ts";
import type { World } from "./world.ts";

/**
 * A Durable Object. A death loses all but the storage `s`, which is plain data, and the alarm; a
 * restore brings an older `s`.
 */
export abstract class Thing {
  w: World;
  name: string;
  abstract s: object;
  alarm: number | null = null;
  rings = false;
  started = false;
  lives = 0;
  clock = 0;
  release = 1;
  downUntil = 0;
  saved: { s: string; atMs: number } | null = null;

  constructor(w: World, name: string) {
    this.w = w;
    this.name = name;
  }
  /** What it does when it starts. */
  abstract begin(): void;
  /** Loses its memory. */
  abstract forget(): void;
  abstract onAlarm(): Task;

  time(): number {
    return this.w.now + this.clock;
  }
  /** Moves the alarm no later than it is: min(existing, next). */
  setAlarm(at: number): void {
    if (this.alarm === null || at < this.alarm) this.alarm = at;
  }
  wake(): void {
    const { random, does, faults, now, plane, release, seed } = this.w;
    if (faults && now < this.downUntil) throw new Lost("down");
    if (this.started) return;
    this.started = true;
    this.release = release;
    this.clock = random.below(2 * SKEW + 1) - SKEW;
    if (does.leaps && seed % 2 === 1 && this !== (plane as Thing) && faults && random.chance(0.15))
      this.clock += random.pick([30 * DAY, -3 * DAY, -DAY, 2 * DAY]);
    this.begin();
  }
  died(): void {
    this.started = false;
    this.lives += 1;
    if (this.rings) {
      this.rings = false;
      this.setAlarm(this.w.now + 2);
    }
    this.forget();
  }
}
