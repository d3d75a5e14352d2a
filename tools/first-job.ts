/** The job that a new deployment has, and that of `npm start`: all events, with their stacks. */

/** What it ships to, if no other destination is named. */
export const OWN_BUCKET = "binding://TRACES/logs/{DATE}";

/** The extra fields that are on where nothing was set up before. docs/events.md */
export const STACK_FIELDS = "ExceptionStacks,LogErrors";

/** @param extraFields the setting EXTRA_FIELDS. Of its fields the job has those of stacks. */
export function firstJob(destination: string, extraFields: unknown): Readonly<Record<string, unknown>> {
  const on = `${extraFields ?? ""}`.split(",").map((name) => name.trim());
  const stacks = STACK_FIELDS.split(",").filter((name) => on.includes(name));
  return {
    ...{ name: "all events", enabled: true, destination_conf: destination },
    ...(stacks.length > 0 && { output_options: { field_names: ["*", ...stacks] } }),
  };
}
