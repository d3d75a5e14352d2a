/** Schemas shared by several routes. */
import * as z from "zod";

/** A component of the document: an object that has these keys. */
export function named<T extends z.core.$ZodLooseShape>(id: string, shape: T, description?: string) {
  return z.object(shape).meta({ id, ...(description !== undefined && { description }) });
}

/** The same of one that has no others. */
export function exactly<T extends z.core.$ZodLooseShape>(id: string, shape: T, description?: string) {
  return z.strictObject(shape).meta({ id, ...(description !== undefined && { description }) });
}

/**
 * RFC 3339, UTC, with milliseconds. The document leaves out zod's pattern, which checks every date
 * of the calendar.
 */
export const Time = z.iso.datetime().meta({ pattern: undefined });

/** A time in a request: RFC 3339 with any offset. */
export const AskedTime = z.iso.datetime({ offset: true }).max(64).meta({ pattern: undefined });

export const KeptSince = Time.nullable().describe(
  "The log keeps all that was taken in since then: there jobs may start, and reruns. null: it keeps nothing, or does not answer.",
);

/** What shows hours is asked for them alike. */
export const OF_HOURS = {
  query: z.object({
    since: AskedTime.optional().describe("Rounded down to the hour. Default: 24 hours before `until`."),
    until: AskedTime.optional().describe("Rounded up to the hour. Default: now."),
  }),
  examples: [
    { name: "The last day" },
    { name: "Since a day", query: { since: "2026-11-20T00:00:00Z", until: "2100-01-01T00:00:00Z" } },
  ],
};

/** An amount. */
export const Count = z.int().min(0);

/** Of a record. */
export const RecordSource = z
  .string()
  .describe("Where it came from: `tail`, `http:<token name>` or `rpc`; empty: unknown.");

export const JobId = z.int().min(1);
export const RerunId = z.string().regex(/^r\d+$/);
export const HexId = z.string().regex(/^[0-9a-f]{32}$/);

/** The bucket of local development, so that examples work as they stand. */
export const EXAMPLE_DESTINATION =
  "objstore://traces/logs/{DATE}?account-id=local&access-key-id=local-access-key&secret-access-key=local-secret-key";
