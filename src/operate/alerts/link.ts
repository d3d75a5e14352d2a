/** Where a message leads. Pure. */
import { isLoopback } from "../../base/hosts.ts";
import { MINUTE_MS } from "../../base/time.ts";
import { stamp } from "../../base/words.ts";
import { quoted } from "../../formats/query/show.ts";
import type { Finding, RecordPlace } from "../status/finding.ts";
import { WEBHOOK_FAILING } from "../status/kinds.ts";

/** Longest link to a page, in characters: what chats and pagers take, with room. */
const LINK_MAX = 1_000;

/** Longest origin, in characters: a host name has at most 253. */
const ORIGIN_MAX = 270;

/**
 * The origin of a form of the dashboard, to which links lead: https, or http on this machine in
 * local development. null: anything else, such as the made-up hosts under which Workers call each
 * other.
 */
export function dashboardOrigin(url: string, allowLoopback: boolean): string | null {
  const { origin, protocol, hostname } = new URL(url);
  if (origin.length > ORIGIN_MAX) return null;
  if (isLoopback(hostname)) return allowLoopback ? origin : null;
  return protocol === "https:" && hostname.includes(".") ? origin : null;
}

/** The page about a finding. */
export function linkTo(origin: string, { kind, subject, rerun }: Pick<Finding, "kind" | "subject" | "rerun">): string {
  const page = `${origin}${pathOf(kind, subject)}${rerun === undefined ? "" : "/replay"}`;
  return page.length <= LINK_MAX ? page : statusLink(origin);
}

/** Further pages, as of {@link linkTo}. */
interface PageLinks {
  problem?: string | undefined;
  first_record?: string | undefined;
}

/** The pages that a finding links; one that is too long is left out. undefined: none. */
export function pageLinks(origin: string, { kind, links }: Pick<Finding, "kind" | "links">): PageLinks | undefined {
  const { problem, firstRecord } = links ?? {};
  const page = (path: string | undefined) =>
    path === undefined || origin.length + path.length > LINK_MAX ? undefined : `${origin}${path}`;
  const pages: PageLinks = {
    problem: page(problem && problemPath(problem)),
    first_record: page(firstRecord && firstRecordPath(kind, firstRecord)),
  };
  return pages.problem === undefined && pages.first_record === undefined ? undefined : pages;
}

export function problemPath(id: string): string {
  return `/problems/${encodeURIComponent(id)}`;
}

/** The search for the first record of a finding. */
export function firstRecordPath(kind: string, record: RecordPlace): string {
  // Of failures only the time is known; of one from before its five minutes, when these begin.
  return kind === "function_failing" ? recordPath(record, "failed", MINUTE_MS) : recordPath(record);
}

/**
 * The search that finds one record: nothing else is read than the millisecond of its event.
 * @param outcome as the search page has it; "": any. @param withinMs how much later it may be.
 */
export function recordPath({ script, atMs, rayId }: RecordPlace, outcome = "", withinMs = 1): string {
  const [since = "", until = ""] = [atMs, atMs + withinMs].map((ms) => `${stamp(ms, 1)} UTC`);
  const asked = {
    ...{ q: rayId === null ? "" : `ray:${quoted(rayId)}`, function: script.toWellFormed(), outcome, last: "own" },
    ...{ since, until, order: withinMs === 1 ? "" : "oldest" },
  };
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ""));
  // The one sign of markup that is left as it is.
  return `/search?${`${query}`.replaceAll("*", "%2A")}`;
}

export function statusLink(origin: string): string {
  return `${origin}/status`;
}

function pathOf(kind: string, subject: Finding["subject"]): string {
  switch (subject.type) {
    case "job":
      // A deleted job has no page.
      return kind.startsWith("draining") ? "/jobs#draining" : `/jobs/${subject.id}`;
    case "function":
      // Browsers resolve `.` and `..`.
      return /^\.{1,2}$/.test(subject.name)
        ? "/status"
        : `/functions/${encodeURIComponent(subject.name.toWellFormed())}`;
    case "search":
      return `/searches/${subject.id}`;
    case "account":
      return kind === WEBHOOK_FAILING ? "/alerts" : "/status";
  }
}
