import { utf8Length } from "../../base/bytes.ts";
import { FUNCTIONS_MAX, SWITCHES_MAX } from "../../base/limits.ts";
import type { RowOf } from "../../base/storage/row-of.ts";
import { Tables } from "../../base/storage/sql.ts";
import { DAY_MS } from "../../base/time.ts";
import type { OptOut, Window } from "../../ship/job/config.ts";
import { isOpen, optOutWindows, remembered } from "../../ship/job/windows.ts";
import type { CONTROL_STEPS } from "./control-migrations.ts";
import type { KeptSettings, TailConsumer } from "./function-schema.ts";

/** `unset` ships, like `on`: attaching the function, or sending its events, is opting in. */
export type Logging = "on" | "off" | "unset";

/** The settings of a function. */
export interface FunctionSetting {
  name: string;
  logging: Logging;
  /** As sent; null: none. */
  tailConsumers: TailConsumer[] | null;
  /** JSON of KeptSettings. Absent: none. */
  kept?: string;
  /** Absent: none. */
  expect?: readonly Expectation[];
  modifiedMs: number;
}

/** How often a kind of event is expected of a function. */
export interface Expectation {
  /** As of `SeenKind`. */
  kind: string;
  /** null: events up to {@link setMs} do not count, so that nothing is learned of them. */
  everyMinutes: number | null;
  /** When that was set, in ms since the epoch. */
  setMs: number;
}

/** Expectations of one function; as many forgotten ones are remembered, the latest. */
export const EXPECTED_MAX = 16;

/** How long forgotten events are remembered, in ms: counts of yesterday still name them. */
const FORGOTTEN_MS = 3 * DAY_MS;

/** Only what is named changes. */
export interface FunctionPatch {
  logging?: Logging;
  tailConsumers?: TailConsumer[] | null;
  /** JSON of KeptSettings: each key changes by itself. null: none any more. */
  kept?: string | null;
  /** Replaces the one of its kind. null: none any more. */
  expect?: Omit<Expectation, "setMs"> | null;
}

export type FunctionSet = { kind: "refused"; why: string } | { kind: "set"; switch: Switch };

/** The last switch of a function's logging, off or on again. */
export interface Switch {
  /** This change made it. */
  now: boolean;
  /** 0: never. */
  version: number;
  windows: readonly Window[];
}

/**
 * Most JSON of all opt-outs, in bytes. A shard of the log keeps it in one row of at most 1.9 MB.
 * Closing a window adds nine bytes, and at most {@link FUNCTIONS_MAX} are open.
 */
const OPT_OUTS_MAX_BYTES = 1_800_000;

type SettingRow = RowOf<typeof CONTROL_STEPS, "function_setting"> & { logging: "on" | "off" | null };

/**
 * Part of the control plane: settings of functions, and when their logging was off. A function
 * without settings has no row, unless it was off recently.
 */
export class FunctionSettings extends Tables {
  /** By name. */
  list(): FunctionSetting[] {
    return this.sql.all<SettingRow>`
      SELECT * FROM function_setting WHERE coalesce(logging, tail_consumers, kept, expect) IS NOT NULL ORDER BY name`.map(
      settingOf,
    );
  }

  /** null: nothing is set. */
  get(name: string): FunctionSetting | null {
    const row = this.#row(name);
    return row !== null && isSet(row) ? settingOf(row) : null;
  }

  optOuts(): OptOut[] {
    return this.sql.all<SettingRow>`SELECT * FROM function_setting WHERE windows <> '[]' ORDER BY name`.map(
      ({ name, windows }) => ({ scriptName: name, windows: JSON.parse(windows) as Window[] }),
    );
  }

  /**
   * Call it in a transaction.
   * @param nextVersion called if logging is switched; gives the version of the switch.
   */
  set(name: string, patch: FunctionPatch, nowMs: number, nextVersion: () => number): FunctionSet {
    const row = this.#row(name);
    const logging = patch.logging ?? row?.logging ?? "unset";
    const tailConsumers = patch.tailConsumers === undefined ? (row?.tail_consumers ?? null) : json(patch.tailConsumers);
    const before = row === null ? [] : (JSON.parse(row.windows) as Window[]);
    const kept = withKept(row?.kept ?? null, patch.kept);
    const expect = withExpected(row?.expect ?? null, patch.expect, nowMs);
    const unchanged =
      logging === (row?.logging ?? "unset") &&
      tailConsumers === (row?.tail_consumers ?? null) &&
      kept === (row?.kept ?? null) &&
      expect === (row?.expect ?? null);
    if (unchanged) return { kind: "set", switch: { now: false, version: row?.switched_version ?? 0, windows: before } };
    const switched = isOpen(before) !== (logging === "off");
    const windows = switched ? optOutWindows(before, logging === "off", nowMs) : before;
    const keeps = logging !== "unset" || tailConsumers !== null || kept !== null || expect !== null;
    const added = row === null && keeps;
    if (switched || added) this.#forgetOld(nowMs);
    const isFull = patch.expect != null && expectedOf(expect).filter(isExpected).length > EXPECTED_MAX;
    const why = isFull
      ? `exceeded max kinds of events expected of a Worker (${EXPECTED_MAX})`
      : this.#refusal(name, windows, added, switched && logging === "off");
    if (why !== null) return { kind: "refused", why };
    const version = switched ? nextVersion() : (row?.switched_version ?? 0);
    if (keeps || windows.length > 0) {
      this.sql.replace("function_setting", {
        ...{ name, logging: logging === "unset" ? null : logging, tail_consumers: tailConsumers, kept, expect },
        ...{ windows: JSON.stringify(windows), switched_version: version, modified_ms: nowMs },
      });
    } else {
      this.sql.run`DELETE FROM function_setting WHERE name = ${name}`;
    }
    return { kind: "set", switch: { now: switched, version, windows } };
  }

  /** The version at which logging of a function was last switched; 0: never, or deleted. */
  switchedVersion(name: string): number {
    return this.#row(name)?.switched_version ?? 0;
  }

  /** Marks every function with windows as switched at this version. */
  overtake(version: number): void {
    this.sql.run`UPDATE function_setting SET switched_version = ${version} WHERE windows <> '[]'`;
  }

  /** Deletes windows too old for any event in the queue, and rows kept only for them. */
  #forgetOld(nowMs: number): void {
    const rows = this.sql.all<SettingRow>`SELECT * FROM function_setting WHERE windows <> '[]'`;
    for (const row of rows) {
      const { name, windows } = row;
      const all = JSON.parse(windows) as Window[];
      const kept = remembered(all, nowMs);
      if (kept.length === 0 && !isSet(row)) this.sql.run`DELETE FROM function_setting WHERE name = ${name}`;
      else if (kept.length < all.length)
        this.sql.run`UPDATE function_setting SET windows = ${JSON.stringify(kept)} WHERE name = ${name}`;
    }
  }

  /** @returns why a function cannot be set; null: it can. Ending an opt-out is never refused. */
  #refusal(name: string, windows: readonly Window[], added: boolean, opens: boolean): string | null {
    const { n } = this.sql.one<{ n: number }>`SELECT count(*) AS n FROM function_setting`;
    if (added && n >= FUNCTIONS_MAX) return `exceeded max functions with settings allowed (${FUNCTIONS_MAX})`;
    if (!opens) return null;
    if (windows.length > SWITCHES_MAX)
      return `logging of a Worker can be switched off ${SWITCHES_MAX} times within 15 days`;
    const others = this.optOuts().filter(({ scriptName }) => scriptName !== name);
    const bytes = utf8Length(JSON.stringify([...others, { scriptName: name, windows }]));
    return bytes > OPT_OUTS_MAX_BYTES ? "logging of too many Workers was switched off within 15 days" : null;
  }

  #row(name: string): SettingRow | null {
    return this.sql.first`SELECT * FROM function_setting WHERE name = ${name}`;
  }
}

function isSet({ logging, tail_consumers, kept, expect }: SettingRow): boolean {
  return logging !== null || tail_consumers !== null || kept !== null || expect !== null;
}

function expectedOf(text: string | null): Expectation[] {
  return text === null ? [] : (JSON.parse(text) as Expectation[]);
}

/** The column after a change of what is expected. The same again, except null, changes nothing. */
function withExpected(before: string | null, change: FunctionPatch["expect"], nowMs: number): string | null {
  if (change == null) return change === null ? null : before;
  const known = expectedOf(before);
  const same = known.find(({ kind }) => kind === change.kind);
  if (same !== undefined && change.everyMinutes !== null && same.everyMinutes === change.everyMinutes) return before;
  const others = [...known.filter(({ kind }) => kind !== change.kind), { ...change, setMs: nowMs }];
  const forgotten = others
    .filter((each) => !isExpected(each) && nowMs - each.setMs < FORGOTTEN_MS)
    .slice(-EXPECTED_MAX);
  return JSON.stringify(others.filter((each) => isExpected(each) || forgotten.includes(each)));
}

function isExpected({ everyMinutes }: Expectation): boolean {
  return everyMinutes !== null;
}

/** The column after a change of what is kept. */
function withKept(before: string | null, change: string | null | undefined): string | null {
  if (change == null) return change === null ? null : before;
  const after = Object.assign({}, ...[before ?? "{}", change].map((text) => JSON.parse(text) as KeptSettings));
  return Object.keys(after).length === 0 ? null : JSON.stringify(after);
}

function settingOf({ name, logging, tail_consumers, kept, expect, modified_ms }: SettingRow): FunctionSetting {
  return {
    name,
    logging: logging ?? "unset",
    tailConsumers: tail_consumers === null ? null : (JSON.parse(tail_consumers) as TailConsumer[]),
    ...(kept !== null && { kept }),
    ...(expect !== null && { expect: expectedOf(expect) }),
    modifiedMs: modified_ms,
  };
}

function json(value: readonly TailConsumer[] | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
