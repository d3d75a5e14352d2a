import { type Platform, within } from "../../../../base/platform.ts";
import { readWants } from "../../../../operate/live/wants.ts";
import type { PreviewResult } from "../../../api/preview.ts";
import type { InnerApi } from "../../inner-api.ts";
import type { PageContext } from "../../page.ts";
import { type Asked, askedOf, filterOf, NOTHING, questionOf } from "../search/address.ts";

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
/** How much the clock of a function may be ahead, in ms. */
const AHEAD_MS = 60_000;

/**
 * The newest records of the last hour, from what waits in the logs of jobs and from their objects;
 * where there are none in time, those that are held in memory.
 */
export async function lastRecords(api: InnerApi, asked: Asked, platform: Platform): Promise<Recent> {
  const now = platform.now();
  const question = questionOf({ ...NOTHING, q: asked.q, filter: filterOf(asked) }, now);
  const until = new Date(now + AHEAD_MS).toISOString();
  const records = await searched(api, { ...question, until, limit: RECORDS_MAX }, platform);
  return records.length > 0 ? { records, from: "search" } : { records: await held(api, asked), from: "memory" };
}

/** The newest records that the account's ledger holds in memory: none if the filter is invalid. */
export async function held(api: InnerApi, asked: Asked): Promise<Recent["records"]> {
  const answer = await api.send<PreviewResult>("POST", "/logship/preview", { filter: filterOf(asked) });
  const read = readWants({ filter: "", query: asked.q });
  if (!answer.ok || !read.ok) return [];
  return answer.result.records
    .map(({ text, source }) => ({ record: JSON.parse(text) as object, source }))
    .filter(({ record, source }) => read.wanted.fitsAgain(record, source))
    .slice(-RECORDS_MAX)
    .reverse();
}

/** The record that an address of the search is about; null: it is not found in time. */
export async function recordAt({ api, platform }: PageContext, path: string): Promise<unknown> {
  const asked = askedOf(new URLSearchParams(path.slice(path.indexOf("?")))) ?? NOTHING;
  const [found] = await searched(api, { ...questionOf(asked, platform.now()), limit: 1 }, platform);
  return found?.record ?? null;
}

/**
 * What a search finds in time: what it reads is bounded by that alone. None if it is refused, as it
 * is when the viewer has other searches under way.
 */
async function searched(api: InnerApi, question: object, platform: Platform): Promise<Recent["records"]> {
  const { ok, body } = await api.raw("POST", "/logship/search", question);
  if (!ok || body === null) {
    await body?.cancel();
    return [];
  }
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const [records, untilMs]: [{ record: unknown; source: string }[], number] = [[], platform.now() + SEARCH_MS];
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
