/** The results as tables, for the terminal or, as Markdown, for docs/scale.md. */
import { PRICES } from "../../src/prices.ts";
import { table as text } from "../bench/table.ts";
import { BOUNDS } from "./bounds.ts";
import type { CellResult, Figure, LoadResult } from "./cell.ts";
import type { Cost } from "./costs.ts";
import { needs } from "./million.ts";

/** Nothing is to use more of a limit. */
const HALF = 0.5;

export type Table = (header: readonly string[], rows: readonly (readonly string[])[]) => string;

export const plain: Table = text;

export const markdown: Table = (header, rows) =>
  [header, header.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** What every load is. */
export function loadTable(loads: readonly LoadResult[], table: Table): string {
  const rows = loads.map(({ load, taken, consumed, played }) => {
    const bytes = taken.messages.reduce((sum, { body }) => sum + body.byteLength, 0);
    const records = taken.messages.reduce((sum, message) => sum + message.records, 0);
    const log = busiest(played.objects.filter(({ kind }) => kind.startsWith("DeliveryLog")));
    const ledger = busiest(played.objects.filter(({ kind }) => kind.startsWith("AccountLedger")));
    return [
      amount(load.eventsPerSecond),
      amount(load.isolates),
      amount(taken.messages.length / taken.seconds),
      amount(records / taken.messages.length),
      bytesText(bytes / taken.messages.length),
      amount(played.batches / played.seconds),
      taken.cpuUs.toFixed(0),
      consumed.cpuUs.toFixed(0),
      ...[log, ledger].flatMap((object) => [amount(object?.requests ?? 0), bytesText(object?.bytesIn ?? 0)]),
      bytesText(log?.waitingBytes ?? 0),
      ...[log, ledger].map((object) => bytesText((object?.growth ?? 0) * 86_400)),
      `${Math.round(played.seconds)} s`,
    ];
  });
  const header = [
    ...["events/s", "isolates", "messages/s", "events each", "size each", "batches/s"],
    ...["intake µs/event", "consumer µs/event"],
    ...["log requests/s", "in/s", "ledger requests/s", "in/s"],
    ...["log: waiting", "log grows a day", "ledger grows a day", "simulated"],
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
  { head: "own bound", of: ({ bound }) => bound === "ownCalls" },
  ...["DeliveryLog", "AccountLedger", "ControlPlane"].flatMap((kind) =>
    (["objectRequests", "objectCpu", "objectBytes", "objectStorage"] as const).map((name) => ({
      head: `${kind.replace(/[A-Z][a-z]+$/, (last) => last)} ${{ objectRequests: "requests", objectCpu: "CPU", objectBytes: "bytes", objectStorage: "15 days" }[name]}`,
      of: ({ bound, of }: Figure) => bound === name && of.startsWith(kind),
    })),
  ),
  { head: "all else", of: () => true },
];

/** How much of each limit a cell uses, in percent. */
export function cellTable(cells: readonly CellResult[], table: Table): string {
  const used = COLUMNS.filter(({ head }) => !/^ControlPlane (?:bytes|15)/.test(head));
  const rows = cells.map(({ load, jobs, figures, consumed }) => {
    const seen = new Set<Figure>();
    const shares = used.map(({ of }) => {
      const own = figures.filter((figure) => !seen.has(figure) && of(figure));
      for (const figure of own) seen.add(figure);
      return Math.max(0, ...own.map(({ share }) => share));
    });
    const once = consumed.isOnce ? "yes" : "NO";
    return [amount(load.eventsPerSecond), `${jobs}`, amount(load.isolates), ...shares.map(percent), once];
  });
  return table(["events/s", "jobs", "isolates", ...used.map(({ head }) => head), "once"], rows);
}

/** Every figure of a cell. */
export function figureTable({ figures }: CellResult, table: Table): string {
  return table(
    ["", "figure", "amount", "limit", "share", "how"],
    figures.map(({ bound, of, what, value, share, how }) => {
      const { limit, unit } = BOUNDS[bound];
      return [of, what, `${amount(value)} ${unit}`, amount(limit), percent(share), how];
    }),
  );
}

/** What is over half of its limit, and from which rate on. */
export function overHalf(cells: readonly CellResult[], table: Table): string {
  const rows = cells.flatMap(({ load, jobs, figures }) =>
    figures
      .filter(({ share }) => share > HALF)
      .map(({ bound, of, what, value, share, how }) => [
        `${amount(load.eventsPerSecond)} × ${jobs} × ${amount(load.isolates)}`,
        of,
        what,
        `${amount(value)} ${BOUNDS[bound].unit}`,
        amount(BOUNDS[bound].limit),
        percent(share),
        how,
      ]),
  );
  return table(["events/s × jobs × isolates", "", "figure", "amount", "limit", "share", "how"], rows);
}

export function boundTable(table: Table): string {
  return table(
    ["limit", "", "source"],
    Object.entries(BOUNDS).map(([name, { limit, unit, source }]) => [name, `${amount(limit)} ${unit}`, source]),
  );
}

export function millionTable(cell: CellResult, table: Table): string {
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
export function costTable(costs: readonly Cost[], table: Table): string {
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

/** Prices that the columns are multiplied by, in dollars for a million. */
export const PRICE_LINE = `queue operations $${PRICES.queueOperations.dollars}, requests of durable objects $${PRICES.objectRequests.dollars}, rows $${PRICES.rowsWritten.dollars} a million`;

function percent(share: number): string {
  const value = share * 100;
  const shown = value >= 10 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : "0";
  return share > HALF ? `**${shown} %**` : `${shown} %`;
}

function amount(value: number): string {
  if (value >= 1e9) return `${significant(value / 1e9)} G`;
  if (value >= 1e6) return `${significant(value / 1e6)} M`;
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
