/// <reference path="../../css/sheet.d.ts" />
import { createHash } from "node:crypto";
import { raw } from "hono/html";
import type { FC } from "hono/jsx";
import { minified } from "../../css/minified.ts";
import { scriptPath } from "../../dashboard/assets.ts";
import { MARK } from "../../dashboard/layout.tsx";
import TOKENS from "../../dashboard/style/tokens.css";
import type { JsonSchema, OpenApi } from "../openapi-types.ts";
import { type Entry, entriesOf, OperationSection } from "./operation.tsx";
import { Fields, fieldsOf, Type } from "./schema.tsx";
import SHEET from "./style.css";
import { Paragraphs, Words } from "./words.tsx";

export const STYLE = [TOKENS, SHEET].map(minified).join("");

/** Allows exactly the page's style sheet in its Content-Security-Policy. */
export const STYLE_HASH = `sha256-${createHash("sha256").update(STYLE).digest("base64")}`;

/**
 * The document as one HTML page. All text is escaped. It needs no script: that one adds a search
 * within the page.
 */
export function renderPage(document: OpenApi): string {
  return `<!DOCTYPE html>${<Page document={document} />}`;
}

const Page: FC<{ document: OpenApi }> = ({ document }) => {
  const entries = entriesOf(document);
  const { info, tags } = document;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${info.title} API`}</title>
        <style>{raw(STYLE)}</style>
        <script type="module" src={scriptPath("docs")} />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the routes
        </a>
        <header>
          <p class="brand">
            <a href="/">{raw(MARK)} logship</a>
          </p>
          <Contents document={document} entries={entries} />
        </header>
        <main id="main" tabindex={-1}>
          <h1>{info.title} API</h1>
          <p>
            {info.summary} Version {info.version}. For programs: <a href="/openapi.json">/openapi.json</a>, OpenAPI{" "}
            {document.openapi}.
          </p>
          <section aria-labelledby="overview">
            <h2 id="overview">Overview</h2>
            <Paragraphs text={info.description} />
            <p>
              The examples are shell commands. Set <code>BASE_URL</code>, <code>ACCOUNT_ID</code> and <code>TOKEN</code>
              ; for <code>npm start</code> these are <code>http://localhost:8787</code>, <code>local</code> and the{" "}
              <code>ADMIN_TOKEN</code> of <code>.dev.vars</code>. Their destination is the local bucket; take{" "}
              <code>TOKEN_ID</code>, <code>MEMBER_ID</code> and <code>REPLAY_ID</code> from a list. The service's tests
              run every example.
            </p>
          </section>
          {tags.map(({ name, description }) => (
            <section aria-labelledby={tagId(name)}>
              <h2 id={tagId(name)}>{name}</h2>
              <p>
                <Words text={description} />
              </p>
              {entries
                .filter(({ operation }) => operation.tags.includes(name))
                .map((entry) => (
                  <OperationSection entry={entry} document={document} />
                ))}
            </section>
          ))}
          <Schemas schemas={document.components.schemas} />
        </main>
      </body>
    </html>
  );
};

/** Of its heading: no blank may be in it. */
function tagId(name: string): string {
  return `tag-${name.replaceAll(" ", "-")}`;
}

const Contents: FC<{ document: OpenApi; entries: readonly Entry[] }> = ({ document, entries }) => (
  <nav aria-label="Contents">
    <p hidden>
      <label for="seek">Search this page</label>
      <input type="search" id="seek" />
      <span class="quiet" role="status" />
    </p>
    <p>
      <a href="/">Back to the dashboard</a>
    </p>
    <ul>
      <li>
        <a href="#overview">Overview</a>
      </li>
      {document.tags.map(({ name }) => (
        <li>
          <a href={`#${tagId(name)}`}>{name}</a>
          <ul>
            {entries
              .filter(({ operation }) => operation.tags.includes(name))
              .map(({ operation }) => (
                <li>
                  <a href={`#${operation.operationId}`}>{operation.summary}</a>
                </li>
              ))}
          </ul>
        </li>
      ))}
      <li>
        <a href="#schemas">Schemas</a>
      </li>
    </ul>
  </nav>
);

const Schemas: FC<{ schemas: { readonly [name: string]: JsonSchema } }> = ({ schemas }) => (
  <section aria-labelledby="schemas">
    <h2 id="schemas">Schemas</h2>
    {Object.entries(schemas).map(([name, schema]) => {
      const fields = fieldsOf(schema);
      return (
        <section id={`schema-${name}`} aria-labelledby={`schema-${name}-title`}>
          <details>
            <summary>
              <h3 id={`schema-${name}-title`}>{name}</h3>
            </summary>
            {schema.description !== undefined && <Paragraphs text={schema.description} />}
            {fields.length > 0 ? (
              <Fields caption="Fields" fields={fields} optional="(may be absent)" />
            ) : (
              <p>
                <Type schema={schema} />
              </p>
            )}
          </details>
        </section>
      );
    })}
  </section>
);
