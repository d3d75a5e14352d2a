import * as z from "zod";
import type { JsonSchema } from "./types.ts";

const DEFS = "#/$defs/";
export const COMPONENTS = "#/components/schemas/";

/**
 * Writes zod's schemas as JSON Schema, draft 2020-12, as what is sent has to be. Those with an `id` become components, and all others refer to them.
 * What zod checks by a function, JSON Schema says as far as the schema's `meta` says it.
 */
export class Schemas {
  /** By id. */
  readonly components: { [id: string]: JsonSchema } = {};

  of(schema: z.ZodType): JsonSchema {
    // Below a property: at the root, a schema with an id would be no reference.
    const { $defs = {}, properties } = referring(z.toJSONSchema(z.object({ it: schema }), { io: "input" })) as {
      $defs?: { [id: string]: JsonSchema };
      properties: { it: JsonSchema };
    };
    for (const [id, component] of Object.entries($defs)) this.components[id] = component;
    return properties.it;
  }
}

/** A copy whose references mean components, and without what is undefined. */
function referring(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === "$ref" && typeof value === "string" && value.startsWith(DEFS)
      ? COMPONENTS + value.slice(DEFS.length)
      : value,
  );
}
