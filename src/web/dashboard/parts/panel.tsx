import type { Child, FC, PropsWithChildren } from "hono/jsx";
import { escaped, visible } from "./foreign.tsx";

export type Kind = "ok" | "warn" | "bad" | "info" | "quiet";

/** Shapes beside colours, for readers who cannot tell the colours apart. */
export const MARKS: Readonly<Record<Kind, string>> = { ok: "●", warn: "▲", bad: "■", info: "◆", quiet: "○" };

export const State: FC<PropsWithChildren<{ kind: Kind }>> = ({ kind, children }) => (
  <span class={`state ${kind}`}>
    <span class="mark" aria-hidden="true">
      {MARKS[kind]}
    </span>
    {children}
  </span>
);

export const Notice: FC<PropsWithChildren<{ kind: Kind; title: string }>> = ({ kind, title, children }) => (
  <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>
    <p class="notice-title">
      <span class="mark" aria-hidden="true">
        {MARKS[kind]}
      </span>
      {visible(title)}
    </p>
    {children}
  </div>
);

/**
 * A titled section of a page.
 * @param id for links to it. @param refresh seconds between refreshes.
 * @param isMain it is what the page is about, whose heading says so: its own is not seen.
 */
export const Panel: FC<
  PropsWithChildren<{ id: string; title: string; aside?: Child; refresh?: number | undefined; isMain?: boolean }>
> = ({ id, title, aside, refresh, isMain, children }) => (
  <section class="panel" id={id} aria-labelledby={`${id}-title`} data-refresh={refresh}>
    <header>
      <h2 id={`${id}-title`} class={isMain ? "unseen" : undefined}>
        {title}
      </h2>
      {aside !== undefined && <div class="aside">{aside}</div>}
    </header>
    {children}
  </section>
);

export const Empty: FC<PropsWithChildren<{ title: string }>> = ({ title, children }) => (
  <div class="empty">
    <p class="empty-title">{visible(title)}</p>
    {children}
  </div>
);

/** In place of what the viewer may not see. */
export const Closed: FC<{ what: string; permission: string }> = ({ what, permission }) => (
  <p class="quiet">
    {what}: needs the permission <code>{permission}</code>.
  </p>
);

export const Facts: FC<{ rows: readonly (readonly [name: string, value: Child])[] }> = ({ rows }) => (
  <dl class="facts">
    {rows.map(([name, value]) => (
      <div>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

export interface Row {
  /** A name, which may be a link. */
  subject: Child;
  detail: Child;
  age?: Child;
  action?: Child;
}

/** Subjects, and what is to be said of each: a line each, where there is room. */
export const Rows: FC<{ rows: readonly Row[] }> = ({ rows }) => (
  <ul class="rows">
    {rows.map(({ subject, detail, age, action }) => (
      <li>
        <div class="row-subject">{subject}</div> <div class="row-detail">{detail}</div> <div class="row-age">{age}</div>
        <div class="row-action">{action}</div>
      </li>
    ))}
  </ul>
);

/** The name of a column of right-aligned numbers. */
export function figures(label: string): { figures: string } {
  return { figures: label };
}

/**
 * On a narrow screen, rows become blocks with the column name before each value. The first cell of
 * a row is its heading.
 * @param caption for screen readers.
 * @param columns their names; "": actions.
 */
export const Table: FC<{
  caption: string;
  columns: readonly (string | ReturnType<typeof figures>)[];
  rows: readonly (readonly Child[])[];
}> = ({ caption, columns, rows }) => {
  const heads = columns.map((each) =>
    typeof each === "string" ? { label: each } : { label: each.figures, class: "figures" },
  );
  return (
    <table class="list">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {heads.map(({ label, ...more }) => (
            <th scope="col" {...more}>
              {label === "" ? <span class="unseen">Actions</span> : label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells) => (
          <tr>
            {cells.map((cell, i) => {
              const { label, ...more } = heads[i] ?? {};
              return i === 0 ? (
                <th scope="row" {...more}>
                  {cell}
                </th>
              ) : (
                <td {...more} data-label={label}>
                  {cell}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
};

/** Code or JSON to copy. @param id unique on the page, for the copy button. */
export const Snippet: FC<{ id: string; label: string; text: string }> = ({ id, label, text }) => (
  <figure class="snippet">
    <figcaption>
      {label}
      <button type="button" class="small" data-copy={id} hidden>
        Copy<span class="unseen"> {label}</span>
      </button>
    </figcaption>
    {/* Focusable, so that the keyboard can scroll it. */}
    <section class="scroll" tabindex={0} aria-label={label}>
      <pre>
        <code id={id}>{escaped(text)}</code>
      </pre>
    </section>
  </figure>
);
