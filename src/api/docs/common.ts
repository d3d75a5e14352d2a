/** What results of several routes have in common. */
import * as z from "zod";

/** RFC 3339, UTC, with milliseconds. The pattern that checks every date of the calendar is left out of the description. */
export const Time = z.iso.datetime().meta({ pattern: undefined });

/** How many, or how much. */
export const Count = z.int().min(0);

/** A destination with keys that open nothing. */
export const EXAMPLE_DESTINATION =
  "objstore://traces/logs/{DATE}?account-id=0123456789abcdef0123456789abcdef&access-key-id=example-key-id&secret-access-key=example-secret-key";
