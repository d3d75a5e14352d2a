import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import { DAY_MS } from "../../base/time.ts";
import { fairly, TRACED } from "../../formats/record/shares.ts";
import type { Source } from "../../formats/record/source.ts";
import { keyOf, named, ofKey, type Ran, type RanIn, SUMMED } from "./health-keys.ts";
import type { TRACE_LOG_STEPS } from "./log-migrations.ts";

/** A version of a function that was seen. Its first sight is its deployment. */
export interface VersionSeen {
  version: string;
  /** What its owner calls it; "": nothing. */
  tag: string;
  /** Who names it; "": it is unknown. */
  source: Source;
  /** By time of intake, in ms since the epoch. */
  firstMs: number;
  /** Within a day. */
  lastMs: number;
}

/** Versions of a function that are kept, the newest. */
export const VERSIONS_KEPT = 20;

/** So many in all of what the platform traces, and of each sender, and of all senders together. */
const MAX = { traced: 4_000, sender: 200, senders: 1_000 } as const;

/** How long after it was last seen a version is forgotten, in ms. */
const FORGET_MS = 90 * DAY_MS;

type Row = RowOf<typeof TRACE_LOG_STEPS, "function_version">;

/** When each version of a function was first seen: health is forgotten before. */
export class FunctionVersions extends Tables {
  /** To be called with each slot that is over. A version costs a row when new, and one a day. */
  see(entries: ReadonlyMap<string, Ran>): void {
    let counts: Map<Source, number> | undefined;
    for (const [key, { firstMs, lastMs, tag = "" }] of entries) {
      const { version, ...of } = ofKey(key);
      if (key === SUMMED || version === "") continue;
      const name = keyOf({ ...of, version: "" });
      const known = this.sql.first<Row>`
        SELECT * FROM function_version WHERE function = ${name} AND version = ${version}`;
      if (known === null) {
        counts ??= this.#counts();
        if (!this.#takeRoom(name, of.source, counts)) continue;
      } else if (!isNews(known, firstMs, lastMs)) continue;
      this.sql.replace("function_version", {
        ...{ function: name, version, tag, source: of.source },
        firstMs: Math.min(known?.first_ms ?? firstMs, firstMs),
        lastMs: Math.max(known?.last_ms ?? lastMs, lastMs),
      });
    }
  }

  /** @param lately what may be in no row yet. @returns the newest first. */
  of(scriptName: string, lately: readonly RanIn[]): VersionSeen[] {
    const rows = this.sql.all<Row>`SELECT * FROM function_version WHERE ${named(scriptName)}`;
    const fresh = lately
      .filter(({ version }) => version !== "")
      .map(({ version, source, health: { tag = "", firstMs, lastMs } }) => ({ version, tag, source, firstMs, lastMs }));
    return joinedVersions([...rows.map(seenIn), ...fresh]);
  }

  /** @returns when a version of one of these functions was first seen; null: in no row yet. */
  firstOf(functions: readonly string[]): (name: string, version: string) => number | null {
    const rows = this.sql.all<Row>`
      SELECT * FROM function_version WHERE function IN (SELECT value FROM json_each(${JSON.stringify(functions)}))`;
    const first = new Map(rows.map((row) => [JSON.stringify([row.function, row.version]), row.first_ms]));
    return (name, version) => first.get(JSON.stringify([name, version])) ?? null;
  }

  forget(scriptName: string): void {
    this.sql.run`DELETE FROM function_version WHERE ${named(scriptName)}`;
  }

  sweep(nowMs: number): void {
    this.sql.run`DELETE FROM function_version WHERE last_ms < ${nowMs - FORGET_MS}`;
  }

  /** By source. Of all rows, so it is asked once a slot: senders may make up each version. */
  #counts(): Map<Source, number> {
    const rows = this.sql.all<{ source: Source; n: number }>`
      SELECT source, count(*) AS n FROM function_version GROUP BY source`;
    return new Map(rows.map(({ source, n }) => [source, n]));
  }

  /**
   * The oldest of the function makes room; senders make up functions, too.
   * @param counts are kept up. @returns whether there is room for one.
   */
  #takeRoom(name: string, source: Source, counts: Map<Source, number>): boolean {
    const gone = this.sql.all`
      DELETE FROM function_version WHERE function = ${name} AND version IN (SELECT version FROM function_version
        WHERE function = ${name} ORDER BY last_ms DESC, first_ms DESC LIMIT -1 OFFSET ${VERSIONS_KEPT - 1})
      RETURNING version`;
    const own = (counts.get(source) ?? 0) - gone.length;
    const senders = [...counts].reduce((sum, [each, n]) => sum + (each === TRACED ? 0 : n), -gone.length);
    const hasRoom = source === TRACED ? own < MAX.traced : own < MAX.sender && senders < MAX.senders;
    counts.set(source, own + Number(hasRoom));
    return hasRoom;
  }
}

/** Each version once, the newest first; of too many, those of the platform stay. */
export function joinedVersions(all: readonly VersionSeen[]): VersionSeen[] {
  const byName = Map.groupBy(all, ({ version, source }) => JSON.stringify([version, source]));
  const each = [...byName.values()].map((same) => ({
    ...(same.find(({ tag }) => tag !== "") ?? (same[0] as VersionSeen)),
    firstMs: Math.min(...same.map(({ firstMs }) => firstMs)),
    lastMs: Math.max(...same.map(({ lastMs }) => lastMs)),
  }));
  const newest = (a: VersionSeen, b: VersionSeen): number => b.firstMs - a.firstMs;
  return fairly(each.sort(newest), VERSIONS_KEPT, ({ source }) => source).sort(newest);
}

function seenIn({ version, tag, source, first_ms: firstMs, last_ms: lastMs }: Row): VersionSeen {
  return { version, tag, source, firstMs, lastMs };
}

function isNews({ first_ms, last_ms }: Row, firstMs: number, lastMs: number): boolean {
  return firstMs < first_ms || lastMs - last_ms >= DAY_MS;
}
