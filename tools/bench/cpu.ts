/** CPU time of intake and pipeline, beside gzip alone of the same bytes. */
import { ALERTS } from "./alerts.ts";
import { EVERYTHING, FILTERED, type JobShape } from "./job-shapes.ts";
import { count, median, table } from "./table.ts";
import {
  ALIKE,
  type Data,
  type Effort,
  measureByTurns,
  prepareData,
  type Times,
  toGzip,
  WORK_NAMES,
  type Work,
} from "./works.ts";

const FULL: Effort = { records: 20_000, rounds: 21, warmUpRounds: 5 };
const QUICK: Effort = { records: 3_000, rounds: 5, warmUpRounds: 2 };

/** The names of works in the report. */
const TITLES: { readonly [work in Work]: string } = {
  gzip: "gzip alone, of what is shipped",
  pipeline: "pipeline: message → fragment",
  unsketched: "  without sketches",
  alerted: `  with ${ALERTS.length} alerts on searches`,
  alike: `  with ${ALIKE} jobs of equal rules`,
  intake: "intake: tail() → message",
  post: "intake: POST → message",
  hashes: "word hashes of what is shipped",
  scan: "search: one object, inflated and passed over",
};

/** A shape of jobs, measured. */
export interface Measured {
  data: Data;
  times: Times;
}

/** Measures without the lines that the shipper logs. @param works absent: all. */
export async function measureShape(shape: JobShape, effort: Effort, works?: readonly Work[]): Promise<Measured> {
  const { info, warn, error } = console;
  Object.assign(console, { info: () => {}, warn: () => {}, error: () => {} });
  try {
    const data = await prepareData(effort.records, shape);
    return { data, times: await measureByTurns(data, effort, works) };
  } finally {
    Object.assign(console, { info, warn, error });
  }
}

/** In µs for each record that came in. */
export function microseconds({ data, times }: Measured, work: Work): number {
  return (median(times[work]) / data.items.length) * 1_000;
}

/** The results as text, of both shapes. */
export async function reportCpu(isQuick: boolean, say: (line: string) => void): Promise<string[]> {
  const parts = ["CPU TIME of intake and pipeline, in Node, beside gzip alone of the same bytes: medians"];
  for (const [title, shape] of [
    ["with a filter and a projection", FILTERED],
    ["all fields of all records", EVERYTHING],
  ] as const) {
    say(`CPU time: ${title} …`);
    parts.push(...reportShape(title, await measureShape(shape, isQuick ? QUICK : FULL)));
  }
  return parts;
}

function reportShape(title: string, measured: Measured): string[] {
  const { data, times } = measured;
  const { items, bodies, pieces, shipped } = data;
  const messageBytes = bodies.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const shippedBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const pipeline = toGzip(times, "pipeline");
  const ratios = {
    "one job": pipeline,
    "  without sketches": toGzip(times, "unsketched"),
    "each further job of equal rules": toGzip(times, "alike").map(
      (all, i) => (all - (pipeline[i] ?? all)) / (ALIKE - 1),
    ),
    "intake by tail()": toGzip(times, "intake"),
    "intake by POST": toGzip(times, "post"),
  };
  return [
    `${title}: ${count(items.length)} records, ${count(messageBytes / items.length)} B each in a message; ${count(shipped)} shipped, ${count(shippedBytes / shipped)} B each`,
    table(
      ["", "× gzip alone"],
      Object.entries(ratios).map(([what, rounds]) => [what, median(rounds).toFixed(2)]),
    ),
    table(
      ["", "µs/record"],
      WORK_NAMES.map((work) => [TITLES[work], microseconds(measured, work).toFixed(2)]),
    ),
  ];
}
