import { type Platform, within } from "../../../../base/platform.ts";
import type { PreviewResult } from "../../../api/preview.ts";
import type { InnerApi } from "../../inner-api.ts";
import { combined, matcher } from "../../parts/record-filter.ts";

/** Which records the live page shows, as its address says. "": any. */
export interface Conditions {
  /** As of a job. */
  filter: string;
  /** Name of the Worker. */
  script: string;
  /** A part of any string of the record. */
  text: string;
  isErrorsOnly: boolean;
}

export interface Recent {
  /** Newest first. `source`: where it came from, "" where that is unknown. */
  records: readonly { record: unknown; source: string }[];
  /** Where they were found. */
  from: "search" | "memory";
}

/** Records of an answer… */
const RECORDS_MAX = 50;
/** …and of them, in UTF-16 units. */
const UNITS_MAX = 1_000_000;
/** How long the objects of the last hour are searched, in ms. */
const SEARCH_MS = 3_000;
const HOUR_MS = 3_600_000;
/** How much the clock of a function may be ahead, in ms. */
const AHEAD_MS = 60_000;

/**
 * The newest records of the last hour, from what waits in the logs of jobs and from their objects;
 * where there are none in time, those that are held in memory.
 */
export async function lastRecords(api: InnerApi, conditions: Conditions, platform: Platform): Promise<Recent> {
  const records = await searched(api, conditions, platform);
  return records.length > 0 ? { records, from: "search" } : { records: await held(api, conditions), from: "memory" };
}

/** The newest records that the account's ledger holds in memory: none if the filter is invalid. */
export async function held(api: InnerApi, conditions: Conditions): Promise<Recent["records"]> {
  const answer = await api.send<PreviewResult>("POST", "/logship/preview", { filter: whole(conditions) });
  if (!answer.ok) return [];
  const holds = matcher("", conditions.text);
  return answer.result.records
    .map(({ text, source }) => ({ record: JSON.parse(text) as unknown, source }))
    .filter(({ record }) => holds(record))
    .slice(-RECORDS_MAX)
    .reverse();
}

function whole({ filter, script, isErrorsOnly }: Conditions): string {
  return combined(filter, script, isErrorsOnly);
}

/**
 * What a search finds in time: what it reads is bounded by that alone. None if it is refused, as it
 * is when the viewer has other searches under way.
 */
async function searched(api: InnerApi, conditions: Conditions, platform: Platform): Promise<Recent["records"]> {
  const now = platform.now();
  const asked = {
    since: new Date(now - HOUR_MS).toISOString(),
    until: new Date(now + AHEAD_MS).toISOString(),
    filter: whole(conditions),
    text: conditions.text,
    limit: RECORDS_MAX,
  };
  const { ok, body } = await api.raw("POST", "/logship/search", asked);
  if (!ok || body === null) {
    await body?.cancel();
    return [];
  }
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const [records, untilMs]: [{ record: unknown; source: string }[], number] = [[], now + SEARCH_MS];
  let [rest, units] = ["", 0];
  while (units < UNITS_MAX) {
    const read = await within(Math.max(0, untilMs - platform.now()), reader.read(), null);
    if (read === null || read.done) break;
    const lines = (rest + read.value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith('{"type":"hit"')) continue;
      units += line.length;
      if (units > UNITS_MAX) break;
      const { record } = JSON.parse(line) as { record: unknown };
      records.push({ record, source: "" });
    }
  }
  await reader.cancel();
  return records;
}
