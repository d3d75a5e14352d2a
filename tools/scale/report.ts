/** The results as tables, for the terminal or, as Markdown, for docs/scale.md. */
import { PRICES } from "../../src/base/prices.ts";
import { table as text } from "../bench/table.ts";
import { BOUNDS } from "./bounds.ts";
import type { CellResult, Figure, LoadResult } from "./cell.ts";
import type { Cost } from "./costs.ts";
import { needs } from "./million.ts";
import type { Endured, Unread } from "./outages.ts";
import { PARTS } from "./stages/outage.ts";

export interface Results {
  loads: readonly LoadResult[];
  cells: readonly CellResult[];
  costs: readonly Cost[];
  outages: readonly Endured[];
  unread: readonly Unread[];
}

/** All tables that there is something for. */
export function report({ loads, cells, costs, outages, unread }: Results, asMarkdown: boolean): string {
  const table = asMarkdown ? markdown : plain;
  const parts: string[] = [];
  if (loads.length > 0) parts.push("LOADS, with one job", loadTable(byRate(loads), table));
  const [only] = cells;
  if (cells.length === 1 && only !== undefined) parts.push("THE CELL", figureTable(only, table));
  if (cells.length > 1) {
    parts.push("CELLS: how much of each limit is used", cellTable(byRate(cells), table));
    parts.push("OVER HALF of a limit", overHalf(byRate(cells), table), "LIMITS", boundTable(table));
    const highest = Math.max(...cells.map(({ load }) => load.eventsPerSecond));
    for (const cell of cells) {
      if (cell.load.eventsPerSecond !== highest || cell.jobs !== 1) continue;
      parts.push(
        `A MILLION A SECOND, from ${amount(cell.load.isolates)} isolates with ${cell.load.shards} shards, one job`,
        millionTable(cell, table),
      );
    }
  }
  const { queueOperations, objectRequests, rowsWritten } = PRICES;
  const prices = [queueOperations, objectRequests, rowsWritten].map(({ dollars }) => `$${dollars}`).join(", ");
  if (costs.length > 0)
    parts.push(`COSTS of a million events, one job (operations, requests, rows: ${prices} a million)`);
  if (costs.length > 0) parts.push(costTable(costs, table));
  if (outages.length > 0) parts.push("OUTAGES, run through, and how long they may take", outageTable(outages, table));
  if (unread.length > 0)
    parts.push("UNREAD: until one reader that does not answer harms other jobs", unreadTable(unread, table));
  return parts.join("\n\n");
}

function byRate<T extends { load: LoadResult["load"] }>(results: readonly T[]): T[] {
  return results.toSorted(
    ({ load: a }, { load: b }) =>
      a.eventsPerSecond - b.eventsPerSecond || a.isolates - b.isolates || a.shards - b.shards,
  );
}

/** Nothing is to use more of a limit. */
const HALF = 0.5;

type Table = (header: readonly string[], rows: readonly (readonly string[])[]) => string;

const plain: Table = text;

const markdown: Table = (header, rows) =>
  [header, header.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** What every load is. */
function loadTable(loads: readonly LoadResult[], table: Table): string {
  const rows = loads.map(({ load, taken, consumed, played }) => {
    const bytes = taken.messages.reduce((sum, { body }) => sum + body.byteLength, 0);
    const records = taken.messages.reduce((sum, message) => sum + message.records, 0);
    const reader = busiest(played.objects.filter(({ kind }) => kind.startsWith("JobReader")));
    const shard = busiest(played.objects.filter(({ kind }) => kind.startsWith("TraceLog")));
    return [
      amount(load.eventsPerSecond),
      amount(load.isolates),
      `${load.shards}`,
      amount(taken.messages.length / taken.seconds),
      amount(records / taken.messages.length),
      bytesText(bytes / taken.messages.length),
      amount(played.batches / played.seconds),
      taken.cpuUs.toFixed(0),
      consumed.cpuUs.toFixed(0),
      ...[shard, reader].flatMap((object) => [
        amount(object?.requests ?? 0),
        bytesText(object?.waitingBytes ?? 0),
        bytesText((object?.growth ?? 0) * 86_400),
      ]),
      bytesText((shard?.bytesIn ?? 0) + (shard?.bytesOut ?? 0)),
      `${Math.round(played.seconds)} s`,
    ];
  });
  const header = [
    ...["events/s", "isolates", "shards", "messages/s", "events each", "size each", "batches/s"],
    ...["intake µs/event", "consumer µs/event"],
    ...["log requests/s", "waiting", "grows a day", "reader requests/s", "waiting", "grows a day"],
    ...["log in and out/s", "simulated"],
  ];
  return table(header, rows);
}

function busiest<T extends { requests: number }>(objects: readonly T[]): T | undefined {
  return objects.toSorted((a, b) => b.requests - a.requests)[0];
}

const COLUMNS: readonly { head: string; of: (figure: Figure) => boolean }[] = [
  { head: "isolate CPU", of: ({ bound }) => bound === "isolateCpu" },
  { head: "queue messages", of: ({ bound }) => bound === "queueMessages" },
  { head: "consumers", of: ({ bound }) => bound === "consumers" },
  { head: "batch CPU", of: ({ bound }) => bound === "batchCpu" },
  { head: "batch calls", of: ({ bound, of }) => bound === "calls" && of === "consumer" },
  ...["TraceLog", "JobReader", "ControlPlane"].flatMap((kind) =>
    (["objectRequests", "objectCpu", "objectBytes", "objectStorage"] as const).map((name) => ({
      head: `${kind} ${{ objectRequests: "requests", objectCpu: "CPU", objectBytes: "bytes", objectStorage: "15 days" }[name]}`,
      of: ({ bound, of }: Figure) => bound === name && of.startsWith(kind),
    })),
  ),
  { head: "all else", of: () => true },
];

/** How much of each limit a cell uses, in percent. */
function cellTable(cells: readonly CellResult[], table: Table): string {
  const used = COLUMNS.filter(({ head }) => !/^ControlPlane (?:bytes|15)/.test(head));
  const rows = cells.map(({ load, jobs, figures, isOnce }) => {
    const seen = new Set<Figure>();
    const shares = used.map(({ of }) => {
      const own = figures.filter((figure) => !seen.has(figure) && of(figure));
      for (const figure of own) seen.add(figure);
      return Math.max(0, ...own.map(({ share }) => share));
    });
    const once = isOnce ? "yes" : "**no**";
    const { eventsPerSecond, isolates, shards } = load;
    return [amount(eventsPerSecond), `${jobs}`, amount(isolates), `${shards}`, ...shares.map(percent), once];
  });
  return table(["events/s", "jobs", "isolates", "shards", ...used.map(({ head }) => head), "once"], rows);
}

/** Every figure of a cell. */
function figureTable({ figures }: CellResult, table: Table): string {
  return table(
    ["", "figure", "amount", "limit", "share", "how"],
    figures.map(({ bound, of, what, value, share, how }) => {
      const { limit, unit } = BOUNDS[bound];
      return [of, what, `${amount(value)} ${unit}`, amount(limit), percent(share), how];
    }),
  );
}

/** What is over half of its limit, and from which rate on. */
function overHalf(cells: readonly CellResult[], table: Table): string {
  const rows = cells.flatMap(({ load, jobs, figures }) =>
    figures
      .filter(({ share }) => share > HALF)
      .map(({ bound, of, what, value, share, how }) => [
        `${amount(load.eventsPerSecond)} × ${jobs} × ${amount(load.isolates)} × ${load.shards}`,
        of,
        what,
        `${amount(value)} ${BOUNDS[bound].unit}`,
        amount(BOUNDS[bound].limit),
        percent(share),
        how,
      ]),
  );
  return table(["events/s × jobs × isolates × shards", "", "figure", "amount", "limit", "share", "how"], rows);
}

function boundTable(table: Table): string {
  return table(
    ["limit", "", "source"],
    Object.entries(BOUNDS).map(([name, { limit, unit, source }]) => [name, `${amount(limit)} ${unit}`, source]),
  );
}

function millionTable(cell: CellResult, table: Table): string {
  return table(
    ["", "figure", "at a million/s", "limit", "share", "needed, at half each", "one breaks at, events/s"],
    needs(cell).map(({ of, what, unit, value, limit, share, parts, breaksAt }) => [
      of,
      what,
      `${amount(value)} ${unit}`,
      amount(limit),
      percent(share),
      amount(parts),
      amount(breaksAt),
    ]),
  );
}

/** For a million events, by list price; nothing is included. */
function costTable(costs: readonly Cost[], table: Table): string {
  const rows = costs.map(({ eventsPerSecond, isolates, eventsPerMessage, messages, bill }) => {
    const { queueOperations, objectRequests, rowsWritten } = bill.perMillion;
    return [
      amount(eventsPerSecond),
      amount(isolates),
      amount(eventsPerMessage),
      amount(messages),
      ...[queueOperations, objectRequests, rowsWritten].map((billed) => amount(billed.amount)),
      ...[queueOperations, objectRequests, rowsWritten].map((billed) => dollars(billed.dollars)),
      dollars(bill.dollars),
    ];
  });
  const header = [
    ...["events/s", "isolates", "events a message", "messages"],
    ...["queue operations", "object requests", "rows"],
    ...["queue", "requests", "rows"].map((name) => `${name} $`),
    "all $",
  ];
  return table(header, rows);
}

/** What holds the events while a part is down. */
const HELD_IN: Readonly<Record<Endured["part"], string>> = {
  store: "the job's reader",
  reader: "the log",
  log: "the queue",
  control: "nothing waits; changes are refused",
  queue: "nothing waits; events go to the log",
  consumer: "the queue",
};

function outageTable(outages: readonly Endured[], table: Table): string {
  const rows = outages.map((each) => [
    PARTS[each.part],
    amount(each.eventsPerSecond),
    HELD_IN[each.part],
    each.enduredHours === null ? "no end" : hoursText(each.enduredHours),
    hoursText(each.hours),
    amount(each.messages),
    `${each.lost}`,
    `${each.doubled}`,
    each.otherLate === null ? "" : `${each.otherLate}`,
    Number.isFinite(each.untilDeliveredS) ? `${Math.ceil(each.untilDeliveredS / 60)} min` : "never",
  ]);
  const header = [
    ...["down", "events/s", "events wait in", "may be down for"],
    ...["was down for", "messages", "lost", "doubled", "late for the other job", "then all delivered in"],
  ];
  return table(header, rows);
}

function unreadTable(all: readonly Unread[], table: Table): string {
  const shards = all[0]?.hours.map((each) => each.shards) ?? [];
  return table(
    ["events/s", "bytes an event in the log", ...shards.map((each) => `with ${each} shard${each === 1 ? "" : "s"}`)],
    all
      .toSorted((a, b) => a.eventsPerSecond - b.eventsPerSecond)
      .map(({ eventsPerSecond, bytes, hours }) => [
        amount(eventsPerSecond),
        amount(bytes),
        ...hours.map((each) => hoursText(each.hours)),
      ]),
  );
}

function hoursText(hours: number): string {
  return hours > 72 ? `${amount(hours / 24)} days` : `${amount(hours)} h`;
}

function percent(share: number): string {
  const value = share * 100;
  const shown = value >= 10 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : "0";
  return share > HALF ? `**${shown} %**` : `${shown} %`;
}

function amount(value: number): string {
  if (value >= 1e9) return `${significant(value / 1e9)}e9`;
  if (value >= 1e6) return `${significant(value / 1e6)}e6`;
  return significant(value);
}

function bytesText(value: number): string {
  const unit = value >= 1e9 ? 1e9 : value >= 1e6 ? 1e6 : value >= 1e3 ? 1e3 : 1;
  return `${significant(value / unit)} ${{ 1e9: "GB", 1e6: "MB", 1e3: "kB", 1: "B" }[unit]}`;
}

/** Three digits that count. */
function significant(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString("en-US");
  return `${Number(value.toPrecision(value >= 1 ? 3 : 2))}`;
}

function dollars(value: number): string {
  return value === 0 ? "0" : `$${value < 0.1 ? value.toFixed(4) : value.toFixed(2)}`;
}
