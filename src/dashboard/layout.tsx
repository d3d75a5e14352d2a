import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import type { Permission } from "../access/roles.ts";
import { type ScriptName, STYLE, scriptPath } from "./assets.ts";
import type { Section, View } from "./page.ts";
import { visible } from "./parts/foreign.tsx";
import { Form } from "./parts/form.tsx";
import type { Viewer } from "./session.ts";

const NAVIGATION: readonly { section: Section; href: string; label: string; needs: Permission | null }[] = [
  { section: "overview", href: "/", label: "Overview", needs: null },
  { section: "search", href: "/search", label: "Search", needs: "logs:read" },
  { section: "jobs", href: "/jobs", label: "Jobs", needs: "logs:read" },
  { section: "functions", href: "/functions", label: "Functions", needs: "functions:read" },
  { section: "live", href: "/live", label: "Live", needs: "logs:read" },
  { section: "set-aside", href: "/set-aside", label: "Set aside", needs: "logs:edit" },
  { section: "status", href: "/status", label: "Status", needs: "logs:read" },
  { section: "access", href: "/access", label: "Access", needs: "access:edit" },
];

/** Where a page's parts go. No text of a page can contain it: texts are escaped. */
const SEAM = "<!--parts-->";

/** The markup before and after a page's parts. @param viewer null: signed out. */
export async function frame(
  view: View,
  viewer: Viewer | null,
  accountId: string,
): Promise<[before: string, after: string]> {
  const page = `${await (<Frame view={view} viewer={viewer} accountId={accountId} />).toString()}`;
  const at = page.indexOf(SEAM);
  return [`<!DOCTYPE html>${page.slice(0, at)}`, page.slice(at + SEAM.length)];
}

const Frame: FC<{ view: View; viewer: Viewer | null; accountId: string }> = ({ view, viewer, accountId }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{visible(titleOf(view))}</title>
      <link rel="icon" href={ICON} />
      <style>{raw(STYLE)}</style>
      {(["page", ...(view.scripts ?? [])] satisfies ScriptName[]).map((name) => (
        // A page that is long in coming has its keys before it is whole.
        <script type="module" src={scriptPath(name)} async={name === "search"} />
      ))}
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      {viewer !== null && <Banner viewer={viewer} section={view.section} accountId={accountId} />}
      <main id="main" tabindex={-1}>
        {view.trail !== undefined && (
          <nav class="trail" aria-label="Breadcrumb">
            {view.trail.map(({ href, label }) => (
              <a href={href}>{visible(label)}</a>
            ))}
          </nav>
        )}
        <h1>{visible(view.title)}</h1>
        {raw(SEAM)}
      </main>
    </body>
  </html>
);

/** The title of the tab, with the names of the pages above: every job has a page "Objects". */
function titleOf({ title, trail = [] }: View): string {
  const [, ...below] = trail;
  const said = below.map(({ label }) => label).filter((label) => !title.toLowerCase().includes(label.toLowerCase()));
  return [title, ...said.reverse(), "logship"].join(" · ");
}

/** Three lines that become an arrow; inline, so that it needs no request. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#14508c"/><path d="M3 5h6M3 8h6M3 11h6M9 4l4 4-4 4" fill="none" stroke="#fff" stroke-width="1.4"/></svg>',
)}`;

const Banner: FC<{ viewer: Viewer; section: Section | null; accountId: string }> = ({ viewer, section, accountId }) => (
  <header class="banner">
    <p class="brand">
      <a href="/">logship</a> <span class="quiet">{accountId}</span>
    </p>
    <nav aria-label="Main">
      <ul>
        {NAVIGATION.map((entry) => (
          <li>
            <Entry {...entry} viewer={viewer} isHere={entry.section === section} />
          </li>
        ))}
      </ul>
    </nav>
    <div class="who">
      <p>
        <span class="unseen">Signed in as </span>
        <a href="/session">
          <bdi>{visible(viewer.caller.name)}</bdi>
        </a>
      </p>
      <p>
        <a href="/docs">API</a>
      </p>
      <Form viewer={viewer} action="/sign-out">
        <button type="submit" class="small">
          Sign out
        </button>
      </Form>
    </div>
  </header>
);

const Entry: FC<{ href: string; label: string; needs: Permission | null; viewer: Viewer; isHere: boolean }> = ({
  href,
  label,
  needs,
  viewer,
  isHere,
}): Child => {
  if (needs !== null && !viewer.caller.permissions.has(needs)) {
    return (
      <span class="closed" title={`needs the permission ${needs}`}>
        {label}
        <span class="unseen"> (needs the permission {needs})</span>
      </span>
    );
  }
  return (
    <a href={href} aria-current={isHere ? "page" : undefined}>
      {label}
    </a>
  );
};
