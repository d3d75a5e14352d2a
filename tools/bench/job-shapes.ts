/** The jobs whose pipeline is measured. */
export interface JobShape {
  /** As in a job's `filter`; null: none. */
  filter: string | null;
  /** null: all fields. */
  fieldNames: string[] | null;
}

/** A typical job: its filter keeps nine records of ten, and it ships 7 of 13 fields. */
export const FILTERED: JobShape = {
  filter: JSON.stringify({
    where: {
      or: [
        { key: "Outcome", operator: "!eq", value: "ok" },
        { key: "ScriptName", operator: "!in", value: ["images", "feeds"] },
        { key: "Event.Response.Status", operator: "geq", value: 400 },
      ],
    },
  }),
  fieldNames: ["EventTimestampMs", "EventType", "Outcome", "ScriptName", "Event", "Exceptions", "Logs"],
};

export const EVERYTHING: JobShape = { filter: null, fieldNames: null };
