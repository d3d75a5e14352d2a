import { namesOf, writtenFields } from "../../formats/output/format.ts";
import type { JobConfig } from "../../ship/job/config.ts";

type Shipping = Pick<JobConfig, "id" | "filter" | "sampleRate" | "output" | "sketches">;

/**
 * Which of two jobs a search rather reads, where both have a record. Negative: `a`. One of which it
 * is known which records its objects have; then the one that has more of them: no filter, no
 * sample; then the one with more fields, and the older one.
 */
export function compareBreadth(a: Shipping, b: Shipping): number {
  const known = Number(isTold(b)) - Number(isTold(a));
  const filter = Number(isFiltered(a)) - Number(isFiltered(b));
  const fields = namesOf(b.output).length - namesOf(a.output).length;
  return known || filter || b.sampleRate - a.sampleRate || fields || a.id - b.id;
}

function isTold({ output, sketches }: Shipping): boolean {
  return sketches !== false && writtenFields(output) !== null;
}

function isFiltered({ filter }: Shipping): boolean {
  return (filter ?? "") !== "";
}
