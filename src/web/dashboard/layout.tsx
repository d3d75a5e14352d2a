import { raw } from "hono/html";
import type { FC } from "hono/jsx";
import { type ScriptName, STYLE, scriptPath } from "./assets.ts";
import { type Entry, FIND_ICON, NAVIGATION } from "./navigation.ts";
import type { View } from "./page.ts";
import { visible } from "./parts/foreign.tsx";
import { Button, Form, may } from "./parts/form.tsx";
import type { Viewer } from "./session.ts";

/** Where a page's parts go. No text of a page can contain it: texts are escaped. */
const SEAM = "<!--parts-->";

interface Framed {
  view: View;
  /** null: signed out. */
  viewer: Viewer | null;
  accountId: string;
  /** Of the page. */
  path: string;
}

/** The markup before and after a page's parts. */
export async function frame(framed: Framed): Promise<[before: string, after: string]> {
  const page = `${await (<Frame {...framed} />).toString()}`;
  const at = page.indexOf(SEAM);
  return [`<!DOCTYPE html>${page.slice(0, at)}`, page.slice(at + SEAM.length)];
}

const Frame: FC<Framed> = ({ view, viewer, accountId, path }) => (
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
      {viewer !== null && <Banner viewer={viewer} path={path} accountId={accountId} />}
      <main id="main" tabindex={-1}>
        {viewer === null && raw(MARK)}
        {viewer !== null && <Trail steps={[...above(path), ...(view.trail ?? [])]} />}
        <div class="top">
          <h1>{visible(view.title)}</h1>
          {view.aside}
        </div>
        {raw(SEAM)}
      </main>
    </body>
  </html>
);

/** The entry of the navigation that a page is below. */
function above(path: string): Entry[] {
  return NAVIGATION.flatMap(({ entries }) => entries).filter(({ href }) => path.startsWith(`${href}/`));
}

const Trail: FC<{ steps: NonNullable<View["trail"]> }> = ({ steps }) =>
  steps.length === 0 ? null : (
    <nav class="trail" aria-label="Breadcrumb">
      {steps.map(({ href, label }) => (
        <a href={href}>{visible(label)}</a>
      ))}
    </nav>
  );

/** The title of the tab, with the names of the pages above: every job has a page "Objects". */
function titleOf({ title, trail = [] }: View): string {
  const said = trail.map(({ label }) => label).filter((label) => !title.toLowerCase().includes(label.toLowerCase()));
  return [title, ...said.reverse(), "logship"].join(" · ");
}

/** Three lines that become an arrow; inline, so that it needs no request. */
export const MARK =
  '<svg class="logo" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" aria-hidden="true"><rect width="24" height="24" rx="6" fill="#3a45c4"/><path d="M5 7.5h8M5 12h13M5 16.5h8M13.5 7.5 18 12l-4.5 4.5" fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>';
const ICON = `data:image/svg+xml,${encodeURIComponent(MARK)}`;

/** Paths of 16 by 16, drawn as lines. */
const Icon: FC<{ path: string }> = ({ path }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={path} />
  </svg>
);

const Banner: FC<{ viewer: Viewer; path: string; accountId: string }> = ({ viewer, path, accountId }) => (
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
      <a class="find" href="/find" data-find aria-current={path === "/find" ? "page" : undefined}>
        <Icon path={FIND_ICON} /> Find <kbd>/</kbd>
      </a>
      {NAVIGATION.map(({ title, entries }) => (
        <>
          <h2>{title}</h2>
          <ul>
            {entries.map((entry) => (
              <li>
                <NavigationEntry
                  {...entry}
                  viewer={viewer}
                  isHere={entry.href === path || above(path).includes(entry)}
                />
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
  icon,
  href,
  label,
  needs,
  viewer,
  isHere,
}) => {
  if (needs !== null && !may(viewer, needs)) {
    return (
      <span class="closed" title={`needs the permission ${needs}`}>
        <Icon path={icon} />
        {label}
        <span class="unseen"> (needs the permission {needs})</span>
      </span>
    );
  }
  return (
    <a href={href} aria-current={isHere ? "page" : undefined}>
      <Icon path={icon} />
      {label}
    </a>
  );
};
