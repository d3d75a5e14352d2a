import { type Condition, combined, narrowed as narrowedFilter } from "../../parts/record-filter.ts";
import { readTree } from "../shipping/filter-tree.ts";

/** The times that a search offers, as distances back from now, in ms. */
export const LAST = {
  "15m": { label: "the last 15 minutes", ms: 900_000 },
  "1h": { label: "the last hour", ms: 3_600_000 },
  "24h": { label: "the last day", ms: 86_400_000 },
  "7d": { label: "the last 7 days", ms: 7 * 86_400_000 },
  "30d": { label: "the last 30 days", ms: 30 * 86_400_000 },
} as const;

/** The value of `last` that stands for `since` and `until`. */
export const OWN_TIME = "own";

/** What became of an invocation, as a search offers it. */
export const OUTCOMES = {
  failed: "failed (not ok, thrown, or 5xx)",
  "": "any outcome",
  ok: "ok",
  exception: "exception",
  exceededCpu: "exceeded CPU",
  exceededMemory: "exceeded memory",
  canceled: "canceled",
} as const;

/** A search, as the address of its page has it. All fields are as they were typed. */
export interface Asked {
  /** A text, or a ray id. */
  text: string;
  /** Name of a function; "": all. */
  function: string;
  /** A key of {@link OUTCOMES}, or any outcome. */
  outcome: string;
  /** Id of a job; "": all. */
  job: string;
  /** A key of {@link LAST}, or {@link OWN_TIME}. */
  last: string;
  since: string;
  until: string;
  order: string;
  /** JSON of further conditions; "": none. */
  filter: string;
  cursor: string;
}

const FIELDS = ["text", "function", "outcome", "job", "last", "since", "until", "order", "filter", "cursor"] as const;

/** null: nothing is asked yet. */
export function askedOf(query: URLSearchParams): Asked | null {
  const asked = Object.fromEntries(FIELDS.map((name) => [name, (query.get(name) ?? "").trim()])) as unknown as Asked;
  asked.text ||= (query.get("ray_id") ?? "").trim();
  if ([...query.keys()].length === 0) return null;
  if (asked.since !== "" && asked.last === "") asked.last = OWN_TIME;
  if (!Object.hasOwn(LAST, asked.last) && asked.last !== OWN_TIME) asked.last = "1h";
  return asked;
}

export const NOTHING: Asked = askedOf(new URLSearchParams("last=1h")) as Asked;

/** The address of a search; a new one begins at its first page. */
export function searchPath(asked: Partial<Asked>): string {
  const query = new URLSearchParams();
  for (const name of FIELDS) if (asked[name]) query.set(name, asked[name]);
  return `/search?${query}`;
}

/** The same search with one more condition: for it, or against it. */
export function narrowed(asked: Asked, condition: Condition, isAgainst: boolean): Asked {
  return { ...asked, filter: narrowedFilter(asked.filter, condition, isAgainst), cursor: "" };
}

/** Sixteen hex digits, as `cf-ray` has them, with or without what follows them there. */
const RAY_ID = /^([0-9a-f]{16})(?:-[a-z]{3})?$/i;

/** The body of `POST /search`. @throws RangeError for a time that is none. */
export function questionOf(asked: Asked, nowMs: number): Record<string, unknown> {
  const isOwn = asked.last === OWN_TIME;
  const back = LAST[asked.last as keyof typeof LAST]?.ms ?? LAST["1h"].ms;
  const until = isOwn && asked.until !== "" ? timeOf(asked.until) : nowMs;
  const since = isOwn && asked.since !== "" ? timeOf(asked.since) : until - back;
  const ray = RAY_ID.exec(asked.text)?.[1];
  const filter = filterOf(asked);
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    ...(ray !== undefined ? { ray_id: ray.toLowerCase() } : asked.text !== "" && { text: asked.text }),
    ...(asked.job !== "" && { job_id: Number(asked.job) }),
    ...(filter !== "" && { filter }),
    ...(asked.order === "oldest" && { order: "oldest" }),
    ...(asked.cursor !== "" && { cursor: asked.cursor }),
  };
}

/** @param text as a person writes a time: UTC where it names no zone. */
function timeOf(text: string): number {
  const iso = text.replace(" ", "T").replace(/ ?UTC$/i, "Z");
  const ms = Date.parse(/(?:z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}${iso.includes("T") ? "" : "T00:00"}Z`);
  if (Number.isNaN(ms)) throw new RangeError(text);
  return ms;
}

function filterOf({ function: name, outcome, filter }: Asked): string {
  // The API says what is wrong with a filter that is none.
  if (!readTree(filter).ok || outcome === "" || outcome === "failed")
    return combined(filter, name, outcome === "failed");
  return combined(narrowedFilter(filter, { key: "Outcome", operator: "eq", value: outcome }, false), name, false);
}
