import * as z from "zod";
import type { JsonSchema } from "./openapi-types.ts";

const DEFS = "#/$defs/";
export const COMPONENTS = "#/components/schemas/";

/**
 * Converts zod schemas to JSON Schema, draft 2020-12, for input. Schemas with an `id` become
 * components that others refer to. Checks by functions appear only as far as the schema's `meta`
 * describes them.
 */
export class Schemas {
  /** By id. */
  readonly components: { [id: string]: JsonSchema } = {};

  of(schema: z.ZodType): JsonSchema {
    // As a property: at the root, a schema with an id would be inlined.
    const { $defs = {}, properties } = referring(z.toJSONSchema(z.object({ it: schema }), { io: "input" })) as {
      $defs?: { [id: string]: JsonSchema };
      properties: { it: JsonSchema };
    };
    for (const [id, component] of Object.entries($defs)) this.components[id] = component;
    return properties.it;
  }
}

/** A copy whose references point to components, without undefined values. */
function referring(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "$ref" && typeof value === "string" && value.startsWith(DEFS)
      ? COMPONENTS + value.slice(DEFS.length)
      : value,
  );
}
