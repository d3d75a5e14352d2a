/** Jobs that an episode may create: their fields, and how the oracle reads them. */
import type { Minted } from "../support/oracle.ts";
import type { JobOptions, WorldJob } from "../support/runtime/world-jobs.ts";
import type { Random } from "./random.ts";

export interface FilterKind {
  readonly filter: string | null;
  readonly keeps: (event: Minted) => boolean;
}

const where = (key: string, operator: string, value: unknown): string =>
  JSON.stringify({ where: { key, operator, value } });

export const FILTERS: readonly FilterKind[] = [
  { filter: null, keeps: () => true },
  { filter: where("Outcome", "!eq", "ok"), keeps: ({ record }) => record.Outcome !== "ok" },
  { filter: where("ScriptName", "eq", "shop"), keeps: ({ record }) => record.ScriptName === "shop" },
  { filter: where("Logs", "contains", "7"), keeps: ({ id }) => id.includes("7") },
];

/** Output options that leave the records readable to the oracle. */
const OUTPUTS: readonly object[] = [
  {},
  { output_options: { field_names: ["ScriptName", "EventTimestampMs", "Logs", "Outcome"] } },
  { output_options: { field_names: ["Logs"], record_prefix: "  {", record_suffix: "} \n" } },
];

/** Output options of a store alone. */
const OF_STORES: readonly object[] = [{ output_options: { output_type: "parquet" } }];

/** Fields that leave records of time to a receiver that shows them by it. */
const WITH_TIME: readonly (readonly string[])[] = [
  ["EventTimestampMs", "Logs"],
  ["Outcome", "Logs", "ScriptName", "EventTimestampMs"],
];
const ANY_FIELDS: readonly (readonly string[])[] = [
  ["Logs"],
  ["Logs", "EventTimestampMs"],
  ["Outcome", "Logs", "ScriptName"],
];

/** Fields that a job may change to. */
export function anyFields(random: Random, { receiver }: Pick<JobOptions, "receiver"> | WorldJob): readonly string[] {
  return random.pick(receiver === "elastic" ? WITH_TIME : ANY_FIELDS);
}

export function anyFilter(random: Random): FilterKind {
  return random.pick(FILTERS);
}

export function anyJob(random: Random): JobOptions {
  const { filter, keeps } = anyFilter(random);
  const samples = random.chance(0.15);
  // One that tells repeats, one that takes each as new, or a store.
  const receiver = random.pick(["elastic", "https", null, null, null, null] as const);
  const outputs = receiver === null ? [...OUTPUTS, ...OF_STORES] : OUTPUTS;
  const output = random.pick(receiver === "elastic" ? OUTPUTS.slice(0, 2) : outputs) as { output_options?: object };
  return {
    fields: {
      filter,
      ...output,
      ...(samples && { output_options: { ...output.output_options, sample_rate: 0.5 } }),
      max_upload_records: random.pick([0, 1_000]),
      max_upload_interval_seconds: random.pick([0, 30, 120, 300]),
      enabled: random.chance(0.9),
      // A receiver cannot be read back.
      canary: random.chance(0.2) && receiver === null,
    },
    keeps,
    samples,
    ...(receiver !== null && { receiver }),
    path: random.pick(["logs/{DATE}", "a/date={DATE}/b", "flat"]),
  };
}
