/** Where a message leads. Pure. */
import { isLoopback } from "../../base/hosts.ts";
import type { Finding } from "../status/finding.ts";
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
      return `/search?saved=${subject.id}`;
    case "account":
      return kind === WEBHOOK_FAILING ? "/status/alerts" : "/status";
  }
}
