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
 * A titled section of a page. @param id for links to it. @param refresh seconds between refreshes.
 */
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

export const Empty: FC<PropsWithChildren<{ title: string }>> = ({ title, children }) => (
  <div class="empty">
    <p class="empty-title">{visible(title)}</p>
    {children}
  </div>
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
