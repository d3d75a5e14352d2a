import { raw } from "hono/html";
import type { FC } from "hono/jsx";
import { type ScriptName, STYLE, scriptPath } from "./assets.ts";
import { type Entry, NAVIGATION } from "./navigation.ts";
import type { Section, View } from "./page.ts";
import { visible } from "./parts/foreign.tsx";
import { Button, Form, may } from "./parts/form.tsx";
import type { Viewer } from "./session.ts";

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
    {/* Pages with keys of their own use the slash for their own field. */}
    <body data-slash={view.scripts === undefined ? "find" : undefined}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      {viewer !== null && <Banner viewer={viewer} section={view.section} accountId={accountId} />}
      <main id="main" tabindex={-1}>
        {viewer === null && raw(MARK)}
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
const MARK =
  '<svg class="logo" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6" fill="#3a45c4"/><path d="M5 7.5h8M5 12h13M5 16.5h8M13.5 7.5 18 12l-4.5 4.5" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>';
const ICON = `data:image/svg+xml,${encodeURIComponent(MARK)}`;

/** Paths of 16 by 16, drawn as lines. */
const ICONS: Readonly<Record<Section | "find", string>> = {
  overview: "M2 2h5v5H2zM9 2h5v5H9zM2 9h5v5H2zM9 9h5v5H9z",
  search: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2zM11 11l3.5 3.5",
  live: "M1 8h3l2-5 4 10 2-5h3",
  functions: "M6 2c-2 0-2 1-2 3s0 3-2 3c2 0 2 1 2 3s0 3 2 3M10 2c2 0 2 1 2 3s0 3 2 3c-2 0-2 1-2 3s0 3-2 3",
  jobs: "M2 4h6M2 8h11M2 12h6M10 4.5 13.5 8 10 11.5",
  status: "M8 1.5 13.5 4v4c0 3.5-2.5 5.5-5.5 6.5C5 13.5 2.5 11.5 2.5 8V4zM5.5 8l2 2 3-3.5",
  "set-aside": "M2 9l2-6h8l2 6v4H2zM2 9h3.5l1 2h3l1-2H14",
  attach: "M6 2v3M10 2v3M4 5h8v3a4 4 0 0 1-8 0zM8 12v3",
  cost: "M8 1.5v13M11.5 4.5C11 3 5 2.5 5 5.5c0 3.5 6.5 1.5 6.5 5 0 3-6.5 2.5-7 .5",
  access: "M5.5 7a3 3 0 1 1 2.5 3L7 11v1.5H5.5V14H2v-2.5z",
  api: "M5 4 1.5 8 5 12M11 4l3.5 4L11 12",
  find: "M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2zM11 11l3.5 3.5",
};

const Icon: FC<{ of: keyof typeof ICONS }> = ({ of }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={ICONS[of]} />
  </svg>
);

const Banner: FC<{ viewer: Viewer; section: Section | null; accountId: string }> = ({ viewer, section, accountId }) => (
  <header class="banner">
    <p class="brand">
      <a href="/">
        {raw(MARK)}
        logship
      </a>{" "}
      <span class="quiet">{accountId}</span>
    </p>
    <a class="button small menu" href="/find" data-find>
      Find
    </a>
    <Button type="button" class="small menu" popovertarget="side" label="Menu" />
    {/* A popover on a narrow screen, and simply there on a wide one. */}
    <nav class="side" id="side" popover="auto" aria-label="Main">
      <a class="find" href="/find" data-find aria-current={section === "find" ? "page" : undefined}>
        <Icon of="find" /> Find <kbd>/</kbd>
      </a>
      {NAVIGATION.map(({ title, entries }) => (
        <>
          <h2>{title}</h2>
          <ul>
            {entries.map((entry) => (
              <li>
                <NavigationEntry {...entry} viewer={viewer} isHere={entry.section === section} />
              </li>
            ))}
          </ul>
        </>
      ))}
      <div class="who">
        <p>
          <span class="unseen">Signed in as </span>
          <a href="/session">
            <bdi>{visible(viewer.caller.name)}</bdi>
          </a>
        </p>
        <Form viewer={viewer} action="/sign-out">
          <Button class="small" label="Sign out" />
        </Form>
      </div>
    </nav>
  </header>
);

const NavigationEntry: FC<Entry & { viewer: Viewer; isHere: boolean }> = ({
  section,
  href,
  label,
  needs,
  viewer,
  isHere,
}) => {
  if (needs !== null && !may(viewer, needs)) {
    return (
      <span class="closed" title={`needs the permission ${needs}`}>
        <Icon of={section} />
        {label}
        <span class="unseen"> (needs the permission {needs})</span>
      </span>
    );
  }
  return (
    <a href={href} aria-current={isHere ? "page" : undefined}>
      <Icon of={section} />
      {label}
    </a>
  );
};
