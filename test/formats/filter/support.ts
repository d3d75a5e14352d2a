/** Filters as a job's owner writes them, for tests. */
import { compileFilter, type RecordPredicate } from "../../../src/formats/filter/compile.ts";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { traceRecord } from "../record/samples.ts";

/** A node in JSON. */
export type Node =
  | { readonly and: readonly Node[] }
  | { readonly or: readonly Node[] }
  | { readonly key: string; readonly operator: string; readonly value: unknown };

/** Compiles a filter's text. @throws if it is refused or empty. */
export function compiled(text: string): RecordPredicate {
  const parsed = parseFilter(text);
  if (!parsed.ok) throw new Error(parsed.faults.join("; "));
  if (parsed.filter === null) throw new Error("no filter");
  return compileFilter(parsed.filter);
}

/** Whether the filter `{"where": node}` keeps a record with these fields. */
export function keeps(node: Node, fields: Partial<TraceRecord>): boolean {
  return compiled(JSON.stringify({ where: node }))(traceRecord(fields));
}

/** One condition on `Event.<path>`. */
export function keepsEvent(operator: string, value: unknown, event: unknown, path = "X"): boolean {
  return keeps({ key: `Event.${path}`, operator, value }, { Event: event as Record<string, unknown> });
}

/** The faults of a text, without their common prefix, which has its own test; [] if none. */
export function faultsOf(text: string): string[] {
  const parsed = parseFilter(text);
  return parsed.ok ? [] : parsed.faults.map((fault) => fault.replace(/^bad predicate: /, ""));
}

export const condition = (key: string, operator: string, value: unknown): Node => ({ key, operator, value });

/** A valid condition. */
export const SOUND = condition("Outcome", "eq", "ok");

/** The same inside nested `and`s. */
export function nested(levels: number): string {
  return `{"where":${'{"and":['.repeat(levels)}${JSON.stringify(SOUND)}${"]}".repeat(levels)}}`;
}
