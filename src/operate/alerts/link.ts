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

/** The pages that a finding links; none that is too long. */
export function pageLinks(
  origin: string,
  { kind, links }: Pick<Finding, "kind" | "links">,
): { problem?: string; first_record?: string } {
  const { problem, firstRecord } = links ?? {};
  const pages = {
    ...(problem !== undefined && { problem: `${origin}${problemPath(problem)}` }),
    ...(firstRecord !== undefined && { first_record: `${origin}${recordPath(firstRecord, outcomeOf(kind))}` }),
  };
  return Object.fromEntries(Object.entries(pages).filter(([, page]) => page.length <= LINK_MAX));
}

/** What the records of a kind of finding have in common, as {@link recordPath} takes it. */
export function outcomeOf(kind: string): string {
  return kind === "function_failing" ? "failed" : "";
}

export function problemPath(id: string): string {
  return `/problems/${encodeURIComponent(id)}`;
}

/**
 * The search that finds one record: by its ray id, within the millisecond of its event; without
 * one, the first of its function from there on.
 * @param outcome as the search page has it; "": any.
 */
export function recordPath({ script, atMs, rayId }: RecordPlace, outcome = ""): string {
  const [since, until] = [atMs, atMs + (rayId === null ? MINUTE_MS : 1)].map((ms) => `${stamp(ms, 1)} UTC`);
  const asked = {
    ...{ q: rayId === null ? "" : `ray:${quoted(rayId)}`, function: script.toWellFormed(), outcome, last: "own" },
    ...{ since, until, order: rayId === null ? "oldest" : "" },
  };
  return `/search?${new URLSearchParams(Object.entries(asked).filter((field): field is [string, string] => !!field[1]))}`;
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
    case "account":
      return kind === WEBHOOK_FAILING ? "/status/alerts" : "/status";
  }
}
