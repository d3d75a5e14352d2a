import type { FC } from "hono/jsx";
import { NAVIGATION } from "../navigation.ts";
import type { Page, PageContext, View } from "../page.ts";
import { Foreign } from "../parts/foreign.tsx";
import { Field, may } from "../parts/form.tsx";
import type { FunctionView } from "../views/account.ts";
import type { JobView } from "../views/job.ts";
import { functionPath, hasPath } from "./functions/logging.tsx";

export const findPages: readonly Page[] = [{ path: "/find", get: { permission: null, show: findView } }];

/** Of jobs and of functions, each. */
const SHOWN_MAX = 8;

/** Longest text that is looked for, in UTF-16 units. */
const WANTED_MAX = 255;

/** Pages without an entry in the navigation, with the permission that each needs. */
const FURTHER = [
  { href: "/searches", label: "Saved searches", needs: "logs:read" },
  { href: "/jobs/new", label: "Create a job", needs: "logs:edit" },
  { href: "/access/tokens", label: "Tokens", needs: "access:edit" },
  { href: "/access/members", label: "Members", needs: "access:edit" },
  { href: "/access/audit", label: "Audit", needs: "access:edit" },
  { href: "/session", label: "Your session", needs: null },
] as const;

interface Found {
  href: string;
  label: string;
  kind: "page" | "job" | "Worker" | "records";
}

/**
 * Every page, job and function by a part of its name. The script of all pages shows it as a dialog.
 */
async function findView(page: PageContext): Promise<View> {
  const wanted = (page.query.get("q") ?? "").trim().slice(0, WANTED_MAX);
  const parts = [
    <form method="get" action="/find" class="filter">
      <Field name="q" label="Page, job, Worker, or text in records" type="search" value={wanted} autocomplete="off" />
      <button type="submit">Find</button>
    </form>,
    (async () => <Results found={await find(page, wanted)} />)(),
  ];
  return { title: "Find", parts };
}

async function find({ api, viewer }: PageContext, wanted: string): Promise<Found[]> {
  const has = (text: string): boolean => text.toLowerCase().includes(wanted.toLowerCase());
  const jobs = may(viewer, "logs:read") ? api.list<JobView>("/logship/jobs") : null;
  const functions =
    may(viewer, "functions:read") && wanted !== ""
      ? api.list<FunctionView>("/functions/scripts", { name: wanted, per_page: SHOWN_MAX })
      : null;
  const pages: Found[] = [...NAVIGATION.flatMap(({ entries }) => entries), ...FURTHER]
    .filter(({ label, needs }) => has(label) && (needs === null || may(viewer, needs)))
    .map(({ href, label }) => ({ href, label, kind: "page" }));
  const named = ((await jobs)?.items ?? [])
    .map(({ id, name }): Found => ({ href: `/jobs/${id}`, label: name || `job ${id}`, kind: "job" }))
    .filter(({ label, href }) => has(label) || href === `/jobs/${wanted}`)
    .slice(0, SHOWN_MAX);
  const called = ((await functions)?.items ?? [])
    .filter(({ id }) => hasPath(id))
    .map(({ id }): Found => ({ href: functionPath(id), label: id, kind: "Worker" }));
  const records: Found[] =
    wanted !== "" && may(viewer, "logs:read")
      ? [{ href: `/search?${new URLSearchParams({ q: wanted, last: "24h" })}`, label: wanted, kind: "records" }]
      : [];
  return [...named, ...called, ...pages, ...records];
}

const Results: FC<{ found: readonly Found[] }> = ({ found }) => (
  <ul class="found" id="found">
    {found.map(({ href, label, kind }) => (
      <li>
        <a href={href}>
          {kind === "records" && "Search the last day for "}
          <Foreign text={label} max={120} /> <span class="quiet">{kind}</span>
        </a>
      </li>
    ))}
    {found.length === 0 && <li class="quiet">Nothing found with this name.</li>}
  </ul>
);
