import type { FC } from "hono/jsx";
import { type Answer, isRef, type JsonSchema, type OpenApi, type Operation } from "../openapi-types.ts";
import { COMPONENTS } from "../schemas.ts";
import { Fields, fieldsOf, Type } from "./schema.tsx";
import { Paragraphs, Words } from "./words.tsx";

/** An operation with its aliases. */
export interface Entry {
  method: string;
  path: string;
  operation: Operation;
  aliases: readonly { path: string; operation: Operation }[];
}

/** Every operation once, under its primary name, in document order. */
export function entriesOf({ paths }: OpenApi): Entry[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return all
    .filter(({ operation }) => operation["x-alias-of"] === undefined)
    .map((entry) => ({
      ...entry,
      aliases: all.filter((other) => other.method === entry.method && other.operation["x-alias-of"] === entry.path),
    }));
}

export const OperationSection: FC<{ entry: Entry; document: OpenApi }> = ({ entry, document }) => {
  const { method, path, operation, aliases } = entry;
  const { parameters, requestBody, responses } = operation;
  return (
    <section id={operation.operationId} aria-labelledby={`${operation.operationId}-title`}>
      <details>
        <summary>
          <h3 id={`${operation.operationId}-title`}>{operation.summary}</h3>{" "}
          <code class="path">
            {method.toUpperCase()} {path}
          </code>
        </summary>
        {aliases.map((alias) => (
          <p class="quiet" id={alias.operation.operationId}>
            Also{" "}
            <code>
              {method.toUpperCase()} {alias.path}
            </code>
          </p>
        ))}
        <Paragraphs text={operation.description} />
        {parameters.length > 0 && (
          <Fields
            caption="Parameters"
            optional="(optional)"
            fields={parameters.map((each) => ({
              name: each.in === "query" ? `?${each.name}` : each.in === "path" ? `{${each.name}}` : each.name,
              schema: each.description === undefined ? each.schema : { ...each.schema, description: each.description },
              required: each.required,
            }))}
          />
        )}
        {Object.entries(requestBody?.content ?? {}).map(([mediaType, { schema }]) => (
          <Shape title={`Body, ${mediaType}`} schema={schema} document={document} optional="(optional)" />
        ))}
        {Object.entries(responses).map(([status, answer]) =>
          isRef(answer) ? null : <Result status={status} answer={answer} document={document} />,
        )}
        <Failures responses={responses} document={document} />
        {operation["x-codeSamples"].length > 0 && <h4>Examples</h4>}
        {operation["x-codeSamples"].map(({ label, source }) => (
          <figure>
            <figcaption>{label}</figcaption>
            <pre tabindex={0}>
              <code>{source}</code>
            </pre>
          </figure>
        ))}
      </details>
    </section>
  );
};

/** An answer's `result`, without the common envelope. */
const Result: FC<{ status: string; answer: Answer; document: OpenApi }> = ({ status, answer, document }) => {
  const own = answer.content["application/json"]?.schema.allOf?.[1];
  const { result, result_info: info } = own?.properties ?? {};
  if (result === undefined) return null;
  const isList = result.type === "array" && result.items !== undefined;
  return (
    <>
      <Shape
        title={`${status}: ${isList ? "each entry of result" : "result"}`}
        schema={isList && result.items !== undefined ? result.items : result}
        document={document}
        optional="(may be absent)"
        byName
      />
      {info !== undefined && <Fields caption="More in result_info" fields={fieldsOf(info)} />}
    </>
  );
};

/**
 * The fields of an object, or the type of anything else. @param byName link to a named schema
 * instead.
 */
const Shape: FC<{ title: string; schema: JsonSchema; document: OpenApi; optional: string; byName?: boolean }> = ({
  title,
  schema,
  document,
  optional,
  byName,
}) => {
  const named = schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.slice(COMPONENTS.length)];
  const fields = byName && schema.$ref !== undefined ? [] : fieldsOf(named ?? {});
  if (fields.length > 0) return <Fields caption={title} fields={fields} optional={optional} />;
  return (
    <p>
      <strong>{title}:</strong> <Type schema={schema} /> {schema.description && <Words text={schema.description} />}
    </p>
  );
};

const Failures: FC<{ responses: Operation["responses"]; document: OpenApi }> = ({ responses, document }) => (
  <table>
    <caption>Failures</caption>
    <thead>
      <tr>
        <th scope="col">Status</th>
        <th scope="col">When</th>
      </tr>
    </thead>
    <tbody>
      {Object.entries(responses).map(([status, answer]) =>
        isRef(answer) ? (
          <tr>
            <th scope="row">{status}</th>
            <td>
              <Words text={document.components.responses[answer.$ref.split("/").at(-1) ?? ""]?.description ?? ""} />
            </td>
          </tr>
        ) : null,
      )}
    </tbody>
  </table>
);
