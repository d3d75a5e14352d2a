/** What results of several routes have in common. */
import * as z from "zod";

/** RFC 3339, UTC, with milliseconds. The pattern that checks every date of the calendar is left out of the description. */
export const Time = z.iso.datetime().meta({ pattern: undefined });

/** How many, or how much. */
export const Count = z.int().min(0);

/** The bucket of local development, so that examples can be sent there as they stand. */
export const EXAMPLE_DESTINATION =
  "objstore://traces/logs/{DATE}?account-id=local&access-key-id=local-access-key&secret-access-key=local-secret-key";
