/** Compares the records that arrived with the expected ones, as a multiset. Pure. */
import * as z from "zod";
import { summaryOf } from "../../src/web/dashboard/parts/record-summary.ts";

/** The fields that identify a record. */
const Named = z.object({
  Entrypoint: z.string(),
  Event: z.record(z.string(), z.unknown()),
  EventType: z.string(),
  ScriptName: z.string(),
});

/** Characters of a long value in a message. */
const SHOWN = 300;

/** What is wrong, in words; empty if both hold the same records in any order. */
export function recordFaults(expected: readonly unknown[], arrived: readonly unknown[]): string[] {
  const [wanted, there] = [counted(expected), counted(arrived)];
  const [missing, surplus]: [string[], string[]] = [[], []];
  const faults: string[] = [];
  for (const text of new Set([...wanted.keys(), ...there.keys()])) {
    const [should, is] = [wanted.get(text) ?? 0, there.get(text) ?? 0];
    if (should === is) continue;
    if (should > 0 && is > 0) faults.push(`${nameOf(text)} arrived ${times(is)}, should have ${times(should)}`);
    else if (should > 0) for (let n = 0; n < should; n++) missing.push(text);
    else for (let n = 0; n < is; n++) surplus.push(text);
  }
  // Records of the same name are taken as the same record with a wrong field.
  for (const text of missing) {
    const at = surplus.findIndex((other) => nameOf(other) === nameOf(text));
    if (at < 0) faults.push(`${nameOf(text)} did not arrive: ${text.slice(0, SHOWN)}`);
    else faults.push(...differences(text, surplus.splice(at, 1)[0] ?? ""));
  }
  for (const text of surplus) faults.push(`${nameOf(text)} arrived, and nobody caused it: ${text.slice(0, SHOWN)}`);
  return faults;
}

/** Records as text with their counts. The order of fields is part of a record. */
function counted(records: readonly unknown[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const record of records) {
    const text = JSON.stringify(record);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}

function nameOf(text: string): string {
  const named = Named.safeParse(JSON.parse(text));
  if (!named.success) return "what is no record";
  const record = named.data;
  const of = record.Entrypoint === "" ? record.ScriptName : `${record.ScriptName}, ${record.Entrypoint}`;
  return `${record.EventType} ${summaryOf(record).event} (${of})`;
}

function times(count: number): string {
  return count === 1 ? "once" : count === 2 ? "twice" : `${count} times`;
}

function differences(expected: string, arrived: string): string[] {
  const [should, is] = [JSON.parse(expected), JSON.parse(arrived)] as [object, object];
  const at = (of: object, field: string): string =>
    JSON.stringify(Object.entries(of).find(([key]) => key === field)?.[1]) ?? "missing";
  const fields = [...new Set([...Object.keys(should), ...Object.keys(is)])].filter(
    (field) => at(should, field) !== at(is, field),
  );
  if (fields.length === 0) return [`${nameOf(expected)}: its fields are in another order`];
  return fields.map((field) => {
    const [wanted, seen] = [at(should, field), at(is, field)];
    // Long values may begin alike: show them from the first difference.
    const from = Math.max(0, [...seen].findIndex((character, i) => character !== wanted[i]) - SHOWN / 3);
    return `${nameOf(expected)}: ${field} is ${seen.slice(from, from + SHOWN)}, should be ${wanted.slice(from, from + SHOWN)}`;
  });
}
