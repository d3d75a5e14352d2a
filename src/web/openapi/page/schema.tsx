import type { Child, FC } from "hono/jsx";
import type { JsonSchema } from "../openapi-types.ts";
import { COMPONENTS } from "../schemas.ts";
import { Words } from "./words.tsx";

/** A row of a table: a field by its path. */
interface Field {
  name: string;
  schema: JsonSchema;
  required: boolean;
}

/** How deep nested objects are expanded in one table. */
const DEPTH_MAX = 5;

/** The fields of an object and its nested objects; named schemas are linked to. */
export function fieldsOf(schema: JsonSchema, prefix = "", depth = 0): Field[] {
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const name = prefix + key;
    const own = { name, schema: value, required: required.has(key) };
    const { inner, suffix } = contained(value);
    return depth < DEPTH_MAX && inner.properties !== undefined
      ? [own, ...fieldsOf(inner, `${name}${suffix}.`, depth + 1)]
      : [own];
  });
}

/** The schema inside null or a list. */
function contained(schema: JsonSchema): { inner: JsonSchema; suffix: string } {
  const { value } = withoutNull(schema);
  return value.items === undefined
    ? { inner: value, suffix: "" }
    : { inner: withoutNull(value.items).value, suffix: "[]" };
}

/** `X or null` is two alternatives, or two types. */
function withoutNull(schema: JsonSchema): { value: JsonSchema; nullable: boolean } {
  if (Array.isArray(schema.type) && schema.type.length === 2 && schema.type[1] === "null")
    return { value: { ...schema, type: schema.type[0] ?? "" }, nullable: true };
  const [first, second, ...others] = schema.anyOf ?? [];
  return first !== undefined && second?.type === "null" && others.length === 0
    ? { value: first, nullable: true }
    : { value: schema, nullable: false };
}

export const Fields: FC<{ caption: string; fields: readonly Field[]; optional?: string }> = ({
  caption,
  fields,
  optional,
}) => (
  <table class="fields">
    <caption>{caption}</caption>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">Type</th>
        <th scope="col">Meaning</th>
      </tr>
    </thead>
    <tbody>
      {fields.map(({ name, schema, required }) => (
        <tr>
          <th scope="row">
            <code>{name}</code>
          </th>
          <td>
            <Type schema={schema} />
            {optional !== undefined && !required && <span class="quiet"> {optional}</span>}
          </td>
          <td>
            <Words text={schema.description ?? ""} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

/** A schema's type and bounds in words. */
export const Type: FC<{ schema: JsonSchema }> = ({ schema }) => {
  const { value, nullable } = withoutNull(schema);
  const fallback = schema.default ?? value.default;
  return (
    <>
      <Kind schema={value} />
      {boundsOf(value)}
      {nullable && ", or null"}
      {fallback !== undefined && <>; default {<code>{JSON.stringify(fallback)}</code>}</>}
    </>
  );
};

const Kind: FC<{ schema: JsonSchema }> = ({ schema }) => {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(COMPONENTS.length);
    return <a href={`#schema-${name}`}>{name}</a>;
  }
  if (schema.const !== undefined) return <code>{JSON.stringify(schema.const)}</code>;
  if (schema.enum !== undefined)
    return <Alternatives each={schema.enum.map((one) => <code>{JSON.stringify(one)}</code>)} />;
  if (schema.type === undefined && schema.anyOf !== undefined)
    return <Alternatives each={schema.anyOf.map((one) => <Type schema={one} />)} />;
  if (schema.items !== undefined) {
    return (
      <>
        array of <Type schema={schema.items} />
      </>
    );
  }
  return schema.format === "date-time" ? "time (RFC 3339)" : [schema.type ?? "anything"].flat().join(" or ");
};

const Alternatives: FC<{ each: readonly Child[] }> = ({ each }) => (
  <>{each.map((one, i) => [i === 0 ? "" : i === each.length - 1 ? " or " : ", ", one])}</>
);

/** The bounds, in words. */
function boundsOf(schema: JsonSchema): string {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, minItems, maxItems } = schema;
  const largest = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  // A bounded number, or 0 for the default.
  const [zero, other] = schema.anyOf ?? [];
  if (zero?.const === 0 && other?.minimum !== undefined) return `, 0 or ${other.minimum} to ${largest}`;
  return [
    minimum !== undefined && largest !== undefined ? `, ${minimum} to ${largest}` : "",
    minimum !== undefined && largest === undefined ? `, ${minimum} or more` : "",
    exclusiveMinimum !== undefined ? `, more than ${exclusiveMinimum}` : "",
    minimum === undefined && largest !== undefined ? `, at most ${largest}` : "",
    minLength !== undefined && minLength > 1 ? `, at least ${minLength} characters` : "",
    minLength === 1 ? ", not empty" : "",
    maxLength !== undefined ? `, at most ${maxLength} characters` : "",
    minItems === 1 ? ", at least one" : "",
    maxItems !== undefined ? `, at most ${maxItems}` : "",
  ].join("");
}
