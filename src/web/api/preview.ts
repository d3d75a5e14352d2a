import * as z from "zod";
import { utf8Length } from "../../base/bytes.ts";
import { ApiError, CODE, type ErrorEntry, faultsError } from "../../base/errors.ts";
import {
  PREVIEW_TEXT_MAX_BYTES,
  RECENT_EVENT_MAX_BYTES,
  RECENT_MAX_BYTES,
  RECENT_MAX_EVENTS,
} from "../../base/limits.ts";
import type { Platform } from "../../base/platform.ts";
import { type Config, readIntakeConfig, readMacKeys } from "../../config.ts";
import { dayStamp } from "../../formats/object/keys.ts";
import { loadOffered } from "../../formats/queue/load-records.ts";
import { httpSource, type Source } from "../../formats/record/source.ts";
import { type Preview, preview } from "../../ship/consumer/preview.ts";
import { termsOf } from "../../ship/destinations/kinds.ts";
import { parsePlace, planFor } from "../../ship/destinations/parse.ts";
import { acceptEvents } from "../../ship/intake/events.ts";
import { named } from "../../ship/intake/take.ts";
import { AskPreview } from "../../ship/job/job-schema.ts";
import { fitDestination, readShipping } from "../../ship/job/rules.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import { BODY_CODE, bodyOf } from "./body.ts";
import { Count, RecordSource } from "./docs/common.ts";
import { type Message, success } from "./envelope.ts";
import { notesOf } from "./events.ts";
import type { AppContext, Resources, RouteDoc } from "./route.ts";

const PreviewResult = z.strictObject({
  source: z
    .enum(["given", "recent"])
    .describe("`given`: the events of the request; `recent`: events that the log keeps."),
  events: Count.describe("`kept + filtered + sampled_out`."),
  kept: Count,
  filtered: Count,
  sampled_out: Count,
  truncated: Count.describe("Kept records whose `Exceptions` and `Logs` are truncated."),
  records: z
    .array(z.strictObject({ index: Count, text: z.string(), source: RecordSource, truncated: z.boolean() }))
    .describe("The kept records as they would be written; `index` is the place among the events, from 0."),
  not_kept: z.array(z.strictObject({ index: Count, reason: z.enum(["filtered", "sampled_out"]) })),
  objects: z
    .array(
      z.strictObject({
        day: z.string().describe("UTC day of its records, as in `{DATE}`."),
        content_type: z.string(),
        records: Count,
        bytes: Count.describe("Before compression, including what is not shown."),
        text: z.string(),
        complete: z.boolean().describe("`false`: the text ends before a record that is left out."),
      }),
    )
    .describe("The object of each day."),
  left_out: Count.describe("Kept records that are not shown."),
  requests: z
    .array(
      z.strictObject({
        day: z.string().describe("As in `objects`."),
        method: z.literal("POST"),
        url: z.string(),
        headers: z.record(z.string(), z.string()).describe("Secrets are `****`; ids are examples."),
        records: Count,
        bytes: Count.describe("Before compression."),
        text: z.string().describe("The body before compression."),
        complete: z.boolean().describe("`false`: the text is cut off."),
      }),
    )
    .optional()
    .describe("What a receiver would get of the records that are shown. Absent without a receiver."),
  refused: z
    .array(z.strictObject({ index: Count, reason: z.string() }))
    .optional()
    .describe("Records that would be set aside before they are sent. Absent without a receiver."),
});
export type PreviewResult = z.infer<typeof PreviewResult>;

const PREVIEW = {
  summary: "Preview what a job would ship",
  description:
    "Applies `filter`, sampling, truncation and `output_options` with the code that ships. The job need not exist, and nothing is stored. The sample is an example; a job's own sample differs. Without `events`, up to 200 recent events that the log keeps are used.",
  body: AskPreview,
  result: PreviewResult,
  examples: [
    {
      name: "One event of two",
      body: {
        filter: '{"where":{"key":"Outcome","operator":"!eq","value":"ok"}}',
        output_options: { field_names: ["EventTimestampMs", "ScriptName", "Outcome"], output_type: "csv" },
        events: [
          { EventTimestampMs: 1795176000000, ScriptName: "shop", Outcome: "ok" },
          { EventTimestampMs: 1795176000250, ScriptName: "shop", Outcome: "exception" },
        ],
      },
    },
    { name: "Recent events, as they would be shipped by default", body: {} },
    {
      name: "The requests that Elasticsearch would get",
      body: {
        destination_conf: "elastic://es.example:9243/traces?header_Authorization=****",
        events: [{ EventTimestampMs: 1795176000000, ScriptName: "shop", Outcome: "ok" }],
      },
    },
  ],
} satisfies RouteDoc;

export const previewRoutes: Resources = {
  "/preview": { POST: { permission: "logs:read", action: null, doc: PREVIEW, handle: showPreview } },
};

async function showPreview(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { events, destination_conf, ...options } = await bodyOf(c, PREVIEW);
  const rules = readFitting(options, destination_conf ?? null, config);
  const given = events == null ? null : givenLines(events, c, platform);
  if (!rules.ok) {
    const refused = faultsError(400, CODE.notAllowed, rules.faults);
    throw given === null || given.ok ? refused : new ApiError(400, [...refused.entries, ...given.entries]);
  }
  if (given !== null && !given.ok) throw new ApiError(given.status, given.entries);
  const { lines, sources, notes } = given ?? (await recentLines(c.env, config));
  const shown = preview(rules.value, lines, PREVIEW_TEXT_MAX_BYTES, sources);
  if (shown.leftOut > 0)
    notes.push(
      note(
        `the last ${shown.leftOut} kept records are not shown: the output is longer than ${PREVIEW_TEXT_MAX_BYTES} bytes`,
      ),
    );
  if (rules.value.sampleRate < 1)
    notes.push(note("the sample is an example: a job samples other records, at the same rate"));
  const result = present(given === null ? "recent" : "given", shown);
  const planned = destination_conf == null ? {} : plannedFor(destination_conf, shown, config, platform.now());
  return success(c, { ...result, ...planned }, { messages: notes });
}

/** The rules of a body, and what its destination does not take of them. */
function readFitting(
  options: Omit<z.infer<typeof AskPreview>, "events" | "destination_conf">,
  conf: string | null,
  { extraFields, destinations }: Config,
): ReturnType<typeof readShipping> {
  const rules = readShipping(options, extraFields);
  const place = conf === null ? null : parsePlace(conf, destinations);
  const faults = rules.ok ? [] : [...rules.faults];
  if (place?.ok === false) faults.push({ pointer: "/destination_conf", message: place.why });
  else if (rules.ok && place !== null) {
    const meaning = { ...rules.value, limits: { bytes: 0, records: 0, intervalMs: 0 }, canary: false };
    faults.push(...fitDestination(meaning, options, termsOf(place.value)).faults);
  }
  return faults.length > 0 ? { ok: false, faults } : rules;
}

/** Of one UTF-16 unit. */
const UTF8_MAX_BYTES = 3;

/** What a receiver would get; nothing for a store. Requests have the records of one day. */
function plannedFor(
  conf: string,
  { records, objects }: Preview,
  { destinations }: Config,
  nowMs: number,
): Pick<PreviewResult, "requests" | "refused"> {
  if (planFor(conf, destinations, { id: "", lines: [], text: "", contentType: "" }, nowMs) === null) return {};
  let room = PREVIEW_TEXT_MAX_BYTES;
  const requests: NonNullable<PreviewResult["requests"]> = [];
  const refused: NonNullable<PreviewResult["refused"]> = [];
  for (const object of objects) {
    const those = records.filter(({ day }) => day === object.day);
    const lines = those.map(({ text }) => text.replace(/\n$/, ""));
    const stamp = dayStamp(object.day);
    const id = `${stamp}T000000Z_${stamp}T235959Z_00000000`;
    const plan = planFor(conf, destinations, { id, lines, text: object.text, contentType: object.contentType }, nowMs);
    if (plan === null) continue;
    for (const { record, words } of plan.refused) refused.push({ index: those[record]?.index ?? 0, reason: words });
    for (const { text, ...request } of plan.requests) {
      const bytes = utf8Length(text);
      const shown = bytes <= room ? text : text.slice(0, Math.floor(room / UTF8_MAX_BYTES)).toWellFormed();
      room = Math.max(0, room - bytes);
      const complete = shown.length === text.length;
      requests.push({ day: stamp, method: "POST", ...request, bytes, text: shown, complete });
    }
  }
  return { requests, refused };
}

type Given =
  | { ok: true; lines: readonly string[]; sources: Source[]; notes: Message[] }
  | { ok: false; status: 400 | 413; entries: readonly ErrorEntry[] };

/** The events of a body, as intake would take them now. */
function givenLines(events: readonly unknown[], c: AppContext, platform: Platform): Given {
  const located = events.map((value, i) => ({ pointer: `/events/${i}`, value }));
  const { defaultScriptName, extraFields } = readIntakeConfig(c.env);
  const context = { takenInMs: platform.now(), defaultScriptName, lenient: false };
  const accepted = acceptEvents(located, { ...context, ...(extraFields && { extraFields }) });
  if (accepted.ok) {
    const { lines, unknownKeys } = accepted;
    const notes = notesOf({ ...accepted, unknownKeys: named(unknownKeys) });
    const source = httpSource(c.get("caller").name);
    return { ok: true, lines, sources: lines.map(() => source), notes };
  }
  const { status } = accepted;
  // A fault of all events together has no pointer.
  const faults = accepted.faults.map(({ pointer, message }) => ({ pointer: pointer || "/events", message }));
  return { ok: false, status, entries: faultsError(status, BODY_CODE[status], faults).entries };
}

/** The newest records that the log keeps, oldest first: the same number of each shard. */
async function recentLines(
  env: Env,
  config: Config,
): Promise<{ lines: string[]; sources: Source[]; notes: Message[] }> {
  const none = (words: string) => ({ lines: [], sources: [], notes: [note(`${words}; send some as events`)] });
  if (!config.previewRecent) return none('recent events are not shown, because PREVIEW_RECENT is "false"');
  const shards = await new LogShards(env).newest(RECENT_MAX_BYTES);
  let tooLarge = 0;
  const recent = shards.flatMap((messages) => {
    const offered = messages.flatMap((message) => {
      const loaded = loadOffered(message, readMacKeys(env));
      // Newer code has written it.
      return typeof loaded === "string" ? [] : loaded.flatMap(({ records }) => records.map(({ whole }) => whole));
    });
    const shown = offered.filter(({ entry }) => {
      const isLarge = utf8Length(entry) > RECENT_EVENT_MAX_BYTES;
      if (isLarge) tooLarge += 1;
      return !isLarge;
    });
    return shown.slice(-Math.ceil(RECENT_MAX_EVENTS / shards.length));
  });
  if (recent.length === 0) return none("the log has no events to show");
  const notes = tooLarge > 0 ? [note(`${tooLarge} recent events are too large to be shown`)] : [];
  return { lines: recent.map(({ entry }) => entry), sources: recent.map(({ Source }) => Source), notes };
}

function note(message: string): Message {
  return { code: CODE.note, message };
}

function present(
  source: PreviewResult["source"],
  { sampledOut, notKept, objects, leftOut, ...shown }: Preview,
): PreviewResult {
  return {
    source,
    events: shown.events,
    kept: shown.kept,
    filtered: shown.filtered,
    sampled_out: sampledOut,
    truncated: shown.truncated,
    records: shown.records.map(({ day: _, ...record }) => record),
    not_kept: notKept,
    objects: objects.map(({ day, contentType, ...object }) => ({
      day: dayStamp(day),
      content_type: contentType,
      ...object,
    })),
    left_out: leftOut,
  };
}
