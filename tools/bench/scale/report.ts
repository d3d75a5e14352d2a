/** The results as tables, as in docs/scale.md. */
import type { Measured, MeasuredObject } from "../measure.ts";
import { amount, bytesText, table } from "../table.ts";
import { BOUNDS, type Cell, type Figure, needsOf } from "./figures.ts";
import { type Outage, PARTS } from "./outage.ts";

/** Nothing is to use more of a limit. */
const HALF = 0.5;

/** What every load is, with one job. */
export function loadTable(loads: readonly Measured[]): string {
  const header = [
    ...["events/s", "isolates", "shards", "messages/s", "events each", "size each", "batches/s"],
    ...["intake µs/event", "consumer µs/event"],
    ...["log requests/s", "waiting", "grows a day", "reader requests/s", "waiting", "grows a day"],
    ...["log in and out/s", "simulated"],
  ];
  const rows = loads.map(({ load, seconds, events, messages, messageBytes, batches, tailMs, consumerMs, objects }) => {
    const [log, reader] = ["TraceLog", "JobReader"].map((name) => busiest(objects, name));
    return [
      ...[amount(load.eventsPerSecond), amount(load.isolates), `${load.shards}`, amount(messages / seconds)],
      ...[amount(events / messages), bytesText(messageBytes / messages), amount(batches / seconds)],
      ...[tailMs, consumerMs].map((ms) => ((ms * 1_000) / events).toFixed(0)),
      ...[log, reader].flatMap((object) => [
        amount(((object?.calls ?? 0) + (object?.alarms ?? 0)) / seconds),
        bytesText(object?.waitingBytes ?? 0),
        bytesText(((object?.grownBytes ?? 0) / seconds) * 86_400),
      ]),
      bytesText(((log?.bytesIn ?? 0) + (log?.bytesOut ?? 0)) / seconds),
      `${Math.round(seconds)} s`,
    ];
  });
  return table(header, rows);
}

function busiest(objects: readonly MeasuredObject[], className: string): MeasuredObject | undefined {
  return objects.filter((object) => object.className === className).toSorted((a, b) => b.calls - a.calls)[0];
}

const OBJECT_HEADS = { objectRequests: "requests", objectCpu: "CPU", objectBytes: "bytes", objectStorage: "15 days" };

const COLUMNS: readonly { head: string; of: (figure: Figure) => boolean }[] = [
  { head: "isolate CPU", of: ({ bound }) => bound === "isolateCpu" },
  { head: "queue messages", of: ({ bound }) => bound === "queueMessages" },
  { head: "consumers", of: ({ bound }) => bound === "consumers" },
  { head: "batch CPU", of: ({ bound }) => bound === "batchCpu" },
  { head: "batch calls", of: ({ bound, of }) => bound === "calls" && of === "consumer" },
  ...["TraceLog", "JobReader"].flatMap((kind) =>
    Object.entries(OBJECT_HEADS).map(([bound, head]) => ({
      head: `${kind} ${head}`,
      of: (figure: Figure) => figure.bound === bound && figure.of.startsWith(kind),
    })),
  ),
  { head: "all else", of: () => true },
];

/** How much of each limit a cell uses, in percent. */
export function cellTable(cells: readonly Cell[]): string {
  const rows = cells.map(({ load, jobs, figures, isOnce }) => {
    const seen = new Set<Figure>();
    const shares = COLUMNS.map(({ of }) => {
      const own = figures.filter((figure) => !seen.has(figure) && of(figure));
      for (const figure of own) seen.add(figure);
      return Math.max(0, ...own.map(({ share }) => share));
    });
    const { eventsPerSecond, isolates, shards } = load;
    const once = isOnce ? "yes" : "**no**";
    return [amount(eventsPerSecond), `${jobs}`, amount(isolates), `${shards}`, ...shares.map(percent), once];
  });
  return table(["events/s", "jobs", "isolates", "shards", ...COLUMNS.map(({ head }) => head), "once"], rows);
}

/** Figures of cells: those over half of their limit, or of a single cell all. */
export function figureTable(cells: readonly Cell[]): string {
  const rows = cells.flatMap(({ load, jobs, figures }) =>
    figures
      .filter(({ share }) => cells.length === 1 || share > HALF)
      .map(({ bound, of, what, value, share, how }) => [
        `${amount(load.eventsPerSecond)} × ${jobs} × ${amount(load.isolates)} × ${load.shards}`,
        ...[of, what, `${amount(value)} ${BOUNDS[bound].unit}`, amount(BOUNDS[bound].limit), percent(share), how],
      ]),
  );
  return table(["events/s × jobs × isolates × shards", "", "figure", "amount", "limit", "share", "how"], rows);
}

export function boundTable(): string {
  const rows = Object.entries(BOUNDS).map(([name, { limit, unit, source }]) => [
    name,
    `${amount(limit)} ${unit}`,
    source,
  ]);
  return table(["limit", "", "source"], rows);
}

export function millionTable(cell: Cell): string {
  return table(
    ["", "figure", "at a million/s", "limit", "share", "needed, at half each", "one breaks at, events/s"],
    needsOf(cell).map(({ bound, of, what, value, share, parts, breaksAt }) => [
      ...[of, what, `${amount(value)} ${BOUNDS[bound].unit}`, amount(BOUNDS[bound].limit)],
      ...[percent(share), amount(parts), amount(breaksAt)],
    ]),
  );
}

export function outageTable(outages: readonly Outage[]): string {
  const rows = outages.map((each) => [
    ...[PARTS[each.part].title, amount(each.eventsPerSecond), PARTS[each.part].heldIn],
    each.enduredHours === null ? "no end" : hoursText(each.enduredHours),
    ...[hoursText(each.downS / 3_600), amount(each.events), `${each.lost}`, `${each.doubled}`],
    ...[each.otherLate === null ? "" : `${each.otherLate}`, `${Math.ceil(each.untilDeliveredS / 60)} min`],
  ]);
  const header = [
    ...["down", "events/s", "events wait in", "may be down for"],
    ...["was down for", "events", "lost", "doubled", "late for the other job", "then all delivered in"],
  ];
  return table(header, rows);
}

function hoursText(hours: number): string {
  return hours > 72 ? `${amount(hours / 24)} days` : `${amount(hours)} h`;
}

function percent(share: number): string {
  const value = share * 100;
  const shown = value >= 10 ? value.toFixed(0) : value >= 0.1 ? value.toFixed(1) : "0";
  return share > HALF ? `**${shown} %**` : `${shown} %`;
}
