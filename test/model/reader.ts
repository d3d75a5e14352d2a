import type { Batch, Item, Page, Prepared, Upload } from "./block.ts";
import type { Job } from "./config.ts";
import { idsOf, prepare, type Rec, recordsOf } from "./parts.ts";
import { read } from "./read.ts";
import { INTERVAL, PAGE_MAX } from "./scale.ts";
import { some } from "./some.ts";
import { Dies, expectLost, Lost, type Step, type Task } from "./task.ts";
import { Thing } from "./thing.ts";
import { discardUnmade, tryUnmade, type Unmade } from "./unmade.ts";
import { upload } from "./upload.ts";
import { stampsOf } from "./verdict.ts";
import type { World } from "./world.ts";

export interface ReaderState {
  job: Job | null;
  stamp: string;
  /** null: it is new, and takes the shard's. */
  cursor: number | null;
  sealed: boolean;
  /** Deaths on an open entry, by block. */
  tries: Record<string, number>;
  unmade: Unmade[];
  batches: Batch[];
  objects: Upload[];
  next: number;
  counts: Record<"received" | "filtered" | "delivered" | "setAside" | "newer" | "discarded", number>;
}

interface How {
  segment: number;
  from: number;
  cut: boolean;
}

export interface Pulled {
  cursor: number;
  sealed: boolean;
  stamp: string;
  isEmpty: boolean;
}

export interface ReaderStatus {
  received: number;
  /** Oldest of what keeps `last_complete` back. */
  oldest: number;
  isEmpty: boolean;
  /** What `received` is made of (invariant 6). */
  sum: number;
}

const emptyState = (): ReaderState => ({
  job: null,
  stamp: "",
  cursor: null,
  sealed: false,
  tries: {},
  unmade: [],
  batches: [],
  objects: [],
  next: 1,
  counts: { received: 0, filtered: 0, delivered: 0, setAside: 0, newer: 0, discarded: 0 },
});

/** A reader: one job, one shard, one segment. */
export class Reader extends Thing {
  job: number;
  shardN: number;
  segment: number;
  s = emptyState();
  // Memory.
  pulling = false;
  uploading = new Set<number>();

  constructor(w: World, name: string, job: number, shardN: number, segment: number) {
    super(w, name);
    this.job = job;
    this.shardN = shardN;
    this.segment = segment;
  }
  forget(): void {
    this.pulling = false;
    this.uploading.clear();
  }
  begin(): void {
    if (this.hasNewer()) this.setAlarm(this.w.now);
    if (!this.w.is("noAlarmAtStart")) this.wakeLater();
  }
  /** Its own alarm cuts and uploads what it has, and tries what a newer release may read. */
  wakeLater(): void {
    const { s, w } = this;
    if (w.is("noReaderAlarm")) return;
    if (this.waiting().length > 0) this.setAlarm(w.now + 6);
    else if (s.batches.length > 0) this.setAlarm(w.now + INTERVAL);
    else if (this.hasNewer() && !w.is("textNewerWithoutAlarm")) this.setAlarm(w.now + 200);
  }
  *onAlarm(): Task {
    const { s, w } = this;
    for (const unmade of [...s.unmade]) if (unmade.why === "newer") tryUnmade(this, unmade);
    for (const batch of [...s.batches]) this.cut(batch);
    for (const { number } of this.waiting().slice(0, 4)) {
      try {
        yield* upload(this, number);
      } catch (error) {
        expectLost(error);
      }
    }
    if (!w.is("noAlarmAfterUpload")) this.wakeLater();
  }

  canRead(format: number): boolean {
    return format % 2 === 1 || this.release >= 2;
  }
  /** *delete a job*: storage and alarm are gone, and what runs dies. */
  erase(): void {
    this.s = emptyState();
    this.w.die(this.name);
    this.alarm = null;
    this.w.erased.add(this);
  }
  private hasNewer(): boolean {
    return this.s.unmade.some(({ why }) => why === "newer");
  }
  private waiting(): Upload[] {
    return this.s.objects.filter(({ state }) => state === "waiting");
  }
  isEmpty(): boolean {
    return this.s.batches.length === 0 && this.s.unmade.length === 0 && this.waiting().length === 0;
  }
  status(): ReaderStatus {
    const { s, w } = this;
    const pending = [...s.batches, ...this.waiting()];
    const times = pending.map(({ oldest }) => oldest);
    if (!w.is("completeWithoutUnmade"))
      times.push(...s.unmade.flatMap(({ item: { parts } }) => parts.map(({ takenMs }) => takenMs)));
    if (s.unmade.some(({ item }) => item.parts.length === 0)) times.push(0);
    const { filtered, delivered, setAside, newer, discarded, received } = s.counts;
    const sum =
      pending.reduce((n, { records }) => n + records.length, 0) + (filtered + delivered + setAside + newer + discarded);
    return { received, oldest: Math.min(...times), isEmpty: this.isEmpty(), sum };
  }

  /** *pull*: one at a time. Reads pages and commits each, cuts at the last one, begins uploads. */
  *pull(how: How): Step<Pulled> {
    const { s, w } = this;
    while (this.pulling && !w.is("pullsAtOnce") && !w.is("pullsAtOnceNoCompare")) yield;
    this.pulling = true;
    try {
      if (w.is("textNewReaderStores")) s.cursor ??= how.from;
      if (s.sealed || how.segment > this.segment) yield* this.pullJob(how.cut);
      else yield* this.pullEntries(how);
      for (const { number } of this.waiting())
        if (!this.uploading.has(number)) w.start(this.name, "upload", upload(this, number));
      return { cursor: s.cursor ?? how.from, sealed: s.sealed, stamp: s.stamp, isEmpty: this.isEmpty() };
    } finally {
      this.pulling = false;
    }
  }
  /** A page has as many records as fit, or one block. */
  private *read(after: number, jobAlone = false): Step<Page> {
    const { w, s, job, segment } = this;
    const shard = w.shard(this.shardN);
    return yield* w.ask(shard, () => {
      const most = jobAlone ? 0 : w.faults ? 1 + w.random.below(PAGE_MAX) : PAGE_MAX;
      return read(shard, { job, segment, after, stamp: s.stamp, most });
    });
  }
  /** *reader is full*: a page without items, for the job alone. */
  private *pullJob(cut: boolean): Task {
    this.take(yield* this.read(0, true));
    if (cut) this.cutAll();
  }
  /**
   * A new reader begins at `from`. It stores nothing until a page has brought its job: the job may
   * be forgotten, and this reader erased.
   */
  private *pullEntries({ from, cut }: How): Task {
    const { s, w } = this;
    const until = w.now + 30;
    for (let round = 0; round < 4 && w.now < until; round++) {
      const after = s.cursor ?? (w.is("newReaderFromZero") ? 0 : from);
      if (this.isFull()) {
        s.sealed = true;
        w.log(() => `${this.name} seals at ${after}`);
        return;
      }
      const isAll = yield* this.commit(yield* this.read(after), after);
      if (isAll && cut) this.cutAll();
      if (isAll) return;
    }
  }
  /** It ends between two blocks. */
  private isFull(): boolean {
    const { s, w } = this;
    const mayBe = w.does.segments && !w.cured && s.objects.length > 0 && this.segment < 3;
    return mayBe && w.random.chance(0.25);
  }
  /** Takes the job that the page carries. */
  private take({ job }: Page): void {
    if (job === null) return;
    this.s.job = job.job;
    this.s.stamp = job.stamp;
    if (job.job.discard) this.discardAll();
  }
  /**
   * *unmade*: what to commit of each item. Before it makes an open entry it notes one more try for
   * this entry, and takes the note back after; each may kill it.
   */
  private *make(items: readonly Item[], job: Job): Step<(Prepared | Unmade["why"])[]> {
    const { s, w } = this;
    const list: (Prepared | Unmade["why"])[] = [];
    for (const { n, group, parts, off } of items) {
      const isMade = group !== null && !w.is("readerMakesAll") && (!w.is("noUnmade") || this.canRead(group.format));
      if (isMade && this.canRead(group.format)) {
        list.push({ ...group, format: w.is("readersFormat") ? job.format : group.format });
        continue;
      }
      if (isMade || !this.canRead(job.format)) {
        if (!isMade && w.is("noUnmade")) throw new Lost("cannot read it");
        list.push("newer");
        continue;
      }
      if (w.is("textOneTrying")) s.tries = { [n]: s.tries[n] ?? 0 };
      const tries = s.tries[n] ?? 0;
      if (tries >= 3 && !w.is("noUnmade")) {
        list.push("poison");
        continue;
      }
      s.tries[n] = tries + 1;
      yield;
      if (!w.cured && parts.some(({ poison }) => poison)) throw new Dies(this.name);
      list.push({ ...prepare(job, parts, off), format: job.format });
      s.tries[n] = tries;
    }
    return list;
  }
  /** Makes open entries, and then commits all in one transaction. @returns whether that was all. */
  private *commit(page: Page, after: number): Step<boolean> {
    const { s, w } = this;
    const job = page.job?.job ?? s.job;
    const made = job === null ? [] : yield* this.make(page.items, job);
    yield;
    const isMoved = (s.cursor ?? after) !== after;
    if (isMoved && !w.is("pullsAtOnceNoCompare")) return false;
    this.take(page);
    if (s.job === null) return true;
    this.add(page.items, made);
    const { end, isAll } = page;
    const moveLater = function* (): Task {
      yield;
      s.cursor = end;
    };
    if (w.is("cursorAfterwards")) w.start(this.name, "cursor", moveLater());
    else s.cursor = end;
    for (const { n } of page.items) delete s.tries[n];
    if (s.job.discard) this.discardAll();
    const items = page.items.map(({ n, parts, group }) => `${n}[${idsOf(parts)}]${group ? "g" : ""}`);
    w.log(() => `${this.name} commits ${items.join(" ")} to ${end}`);
    this.wakeLater();
    return isAll;
  }
  /** Adds items to counts, batches and `unmade`. */
  private add(items: readonly Item[], made: (Prepared | Unmade["why"])[]): void {
    const { counts, unmade } = this.s;
    for (const [i, item] of items.entries()) {
      const what = some(made[i]);
      if (what === "poison" || what === "newer") {
        const received = item.group?.received ?? recordsOf(item.parts, item.off);
        unmade.push({ item, why: what });
        counts.received += received;
        counts[what === "poison" ? "setAside" : "newer"] += received;
        continue;
      }
      counts.received += what.received;
      counts.filtered += what.filtered;
      for (const records of what.fragments) this.put(records, what.format);
    }
  }

  /** A batch has one format and one day. */
  put(records: readonly Rec[], format: number): void {
    const { s, w } = this;
    const day = records[0]?.day;
    if (day === undefined) return;
    let batch = s.batches.find(
      (each) => (each.format === format || w.is("mixesFormats")) && (each.records[0]?.day === day || w.is("mixesDays")),
    );
    if (!batch) {
      batch = { format, records: [], oldest: Number.POSITIVE_INFINITY };
      s.batches.push(batch);
    }
    batch.records.push(...records);
    batch.oldest = Math.min(batch.oldest, ...records.flatMap(({ id }) => stampsOf(w, id)));
    if (batch.records.length >= 5) this.cut(batch);
  }
  private cut(batch: Batch): void {
    const { s } = this;
    const number = s.next++;
    s.batches = s.batches.filter((each) => each !== batch);
    this.w.log(() => `${this.name} cuts ${number}: ${batch.records.map(({ id }) => id).join()}`);
    s.objects.push({ ...batch, number, key: this.key(number), state: "waiting" });
  }
  key(number: number): string {
    return `${this.job}/${this.shardN}/${this.segment}/${number}`;
  }
  private cutAll(): void {
    for (const batch of [...this.s.batches]) this.cut(batch);
    this.wakeLater();
  }
  private discardAll(): void {
    const { s } = this;
    for (const { records } of s.batches) s.counts.discarded += records.length;
    s.batches = [];
    for (const object of this.waiting())
      if (!this.uploading.has(object.number)) {
        object.state = "discarded";
        s.counts.discarded += object.records.length;
      }
    for (const unmade of [...s.unmade]) discardUnmade(this, unmade);
  }
}
