import type { RecordLine } from "../../formats/record/line.ts";

/** The latest event of one kind. */
export interface SeenKind {
  /** Its type; of a scheduled event, its cron, see {@link cronKind}. */
  kind: string;
  /** In ms since the epoch; stored in whole seconds. */
  lastMs: number;
  /** A sender says so, which may make up kinds; absent: the platform traced it. */
  sent?: true;
}

/**
 * Kinds of one function that are kept: the latest. A Worker may have many crons, of which several
 * run in the same minute.
 */
export const KINDS_KEPT = 32;

/** Longest kind, in UTF-16 code units; what is longer is left out. */
export const KIND_MAX = 128;

/** Longest expression of a cron in a kind. */
export const CRON_MAX = 100;

export const SCHEDULED = "scheduled";
const CRON = "cron ";

export function cronKind(cron: string): string {
  return CRON + cron;
}

/** The expression of a cron's kind; null: it is of another type. */
export function cronOf(kind: string): string | null {
  return kind.startsWith(CRON) ? kind.slice(CRON.length) : null;
}

const FETCH = '"fetch"';
const IS_SCHEDULED = '"scheduled"';

/** Intake writes it first in the event. */
const CRON_FIRST = /^\{"Cron":"([^"\\]{1,100})"/;

/** The kinds of one function's events. Of most records only a few bytes are compared. */
export class KindTally {
  #fetchMs = -1;
  readonly #others = new Map<string, number>();

  /** @param atMs time of the event, in ms since the epoch. */
  add(record: Pick<RecordLine, "isText" | "text" | "EventType">, atMs: number): void {
    if (record.isText("EventType", FETCH)) {
      this.#fetchMs = Math.max(this.#fetchMs, atMs);
      return;
    }
    const kind = kindIn(record);
    if (kind !== null) this.#others.set(kind, Math.max(this.#others.get(kind) ?? 0, atMs));
  }

  kinds(): SeenKind[] {
    const all = [...this.#others].map(([kind, lastMs]) => ({ kind, lastMs }));
    return latest(this.#fetchMs < 0 ? all : [{ kind: "fetch", lastMs: this.#fetchMs }, ...all]);
  }
}

/** null: it is too long, or the cron is not where intake writes it. */
function kindIn(record: Pick<RecordLine, "isText" | "text" | "EventType">): string | null {
  if (record.isText("EventType", IS_SCHEDULED)) {
    const [, cron] = CRON_FIRST.exec(record.text("Event") ?? "") ?? [];
    return cron === undefined ? null : cronKind(cron);
  }
  const { EventType: type } = record;
  return type.length > KIND_MAX || cronOf(type) !== null ? null : type;
}

/** Each kind once. Where the platform traced any, what senders say of the function is dropped. */
export function addedKinds(a: readonly SeenKind[] | undefined, b: readonly SeenKind[]): readonly SeenKind[] {
  if (a === undefined) return b;
  const both = [...a, ...b];
  const traced = both.filter(({ sent }) => sent === undefined);
  const last = new Map<string, SeenKind>();
  for (const each of traced.length > 0 ? traced : both)
    if (each.lastMs > (last.get(each.kind)?.lastMs ?? -1)) last.set(each.kind, each);
  return latest([...last.values()]);
}

function latest(kinds: SeenKind[]): SeenKind[] {
  return kinds.length <= KINDS_KEPT ? kinds : kinds.sort((a, b) => b.lastMs - a.lastMs).slice(0, KINDS_KEPT);
}
