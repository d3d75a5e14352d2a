import { bitsOf, countBits, namesOf, writtenFields } from "../../formats/output/format.ts";
import type { JobConfig } from "../../ship/job/config.ts";

type Shipping = Pick<JobConfig, "id" | "filter" | "sampleRate" | "output" | "sketches">;

/**
 * Which of two jobs a search rather reads, where both have a record. Negative: `a`. One of which it
 * is known which records its objects have; then the one that has more of them: no filter, no
 * sample; then the one with more fields, and the older one.
 * @param counted of records that are counted, and taken as one job has them: the fields that decide
 *   which match, and all that are asked for; null: all there are. The job that has more of them
 *   comes before one that has more records.
 */
export function compareBreadth(
  a: Shipping,
  b: Shipping,
  counted: readonly (ReadonlySet<string> | null)[] = [],
): number {
  const known = Number(isTold(b)) - Number(isTold(a));
  const asked = counted.map((fields) => askedIn(b, fields) - askedIn(a, fields)).find((more) => more !== 0) ?? 0;
  const filter = Number(isFiltered(a)) - Number(isFiltered(b));
  const fields = namesOf(b.output).length - namesOf(a.output).length;
  return known || asked || filter || b.sampleRate - a.sampleRate || fields || a.id - b.id;
}

function askedIn({ output }: Shipping, asked: ReadonlySet<string> | null): number {
  return countBits((writtenFields(output) ?? 0) & bitsOf(asked));
}

function isTold({ output, sketches }: Shipping): boolean {
  return sketches !== false && writtenFields(output) !== null;
}

function isFiltered({ filter }: Shipping): boolean {
  return (filter ?? "") !== "";
}
