import type { Child, FC, PropsWithChildren } from "hono/jsx";
import { escaped, visible } from "./foreign.tsx";

export type Kind = "ok" | "warn" | "bad" | "info" | "quiet";

/** Shapes beside colours: nobody has to tell green from red. */
export const MARKS: Readonly<Record<Kind, string>> = { ok: "●", warn: "▲", bad: "■", info: "◆", quiet: "○" };

/** A state in a word or two. */
export const State: FC<PropsWithChildren<{ kind: Kind }>> = ({ kind, children }) => (
  <span class={`state ${kind}`}>
    <span class="mark" aria-hidden="true">
      {MARKS[kind]}
    </span>
    {children}
  </span>
);

/** Something that the reader should know now. */
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

/** A part of a page under a heading of its own. @param id of the heading: what a link to the part names. */
export const Panel: FC<
  PropsWithChildren<{ id: string; title: string; aside?: Child; refresh?: number | undefined }>
> = ({ id, title, aside, refresh, children }) => (
  <section class="panel" id={id} aria-labelledby={`${id}-title`} data-refresh={refresh}>
    <header>
      <h2 id={`${id}-title`}>{title}</h2>
      {aside !== undefined && <div class="aside">{aside}</div>}
    </header>
    {children}
  </section>
);

/** Where there is nothing yet: what would stand here, and what to do about it. */
export const Empty: FC<PropsWithChildren<{ title: string }>> = ({ title, children }) => (
  <div class="empty">
    <p class="empty-title">{visible(title)}</p>
    {children}
  </div>
);

/** Names and values. */
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

export interface Column {
  /** "": of what can be done, which says itself what it is. */
  label: string;
  /** Figures stand to the right, one below the other. */
  figures?: boolean;
}

/**
 * A table; on a narrow screen its rows become blocks with the column's name before each value. The first cell of a row is its heading.
 * @param caption what it shows, for whoever does not see the heading above it.
 */
export const Table: FC<{ caption: string; columns: readonly Column[]; rows: readonly (readonly Child[])[] }> = ({
  caption,
  columns,
  rows,
}) => (
  <table class="list">
    <caption class="unseen">{caption}</caption>
    <thead>
      <tr>
        {columns.map(({ label, figures }) => (
          <th scope="col" class={figures === true ? "figures" : undefined}>
            {label === "" ? <span class="unseen">Actions</span> : label}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((cells) => (
        <tr>
          {cells.map((cell, i) => {
            const figures = columns[i]?.figures === true ? "figures" : undefined;
            return i === 0 ? (
              <th scope="row" class={figures}>
                {cell}
              </th>
            ) : (
              <td class={figures} data-label={columns[i]?.label}>
                {cell}
              </td>
            );
          })}
        </tr>
      ))}
    </tbody>
  </table>
);

/** A text to copy as it stands: code, or JSON. @param id its own, for the button. */
export const Snippet: FC<{ id: string; label: string; text: string }> = ({ id, label, text }) => (
  <figure class="snippet">
    <figcaption>
      {label}
      <button type="button" class="small" data-copy={id} hidden>
        Copy<span class="unseen"> {label}</span>
      </button>
    </figcaption>
    {/* It scrolls where it is wider than the screen: the keyboard must get there. */}
    <section class="scroll" tabindex={0} aria-label={label}>
      <pre>
        <code id={id}>{escaped(text)}</code>
      </pre>
    </section>
  </figure>
);
