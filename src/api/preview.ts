import * as z from "zod";
import { accountLedger } from "../account/ledger.ts";
import type { RecentRecords } from "../account/recent.ts";
import { type Config, readIntakeConfig } from "../config.ts";
import { dayStamp } from "../destinations/keys.ts";
import { ApiError, CODE, type ErrorEntry, faultsError } from "../errors.ts";
import { acceptEvents } from "../intake/events.ts";
import { named } from "../intake/take.ts";
import { readShipping } from "../job/rules.ts";
import { AskPreview } from "../job/schema.ts";
import { PREVIEW_TEXT_MAX_BYTES } from "../limits.ts";
import { readStrictly } from "../object/load.ts";
import { type Preview, preview } from "../pipeline/preview.ts";
import type { Platform } from "../platform.ts";
import { jsonBody } from "./body.ts";
import { type Message, success } from "./envelope.ts";
import { droppedKeys } from "./events.ts";
import type { AppContext, Resource } from "./route.ts";

const count = z.int().min(0);

const PreviewResult = z.strictObject({
  source: z.enum(["given", "recent"]).describe("Whether the events were in the request, or are recent ones."),
  events: count.describe("How many there were: `kept + filtered + sampled_out`."),
  kept: count,
  filtered: count,
  sampled_out: count,
  truncated: count.describe("Of those kept, how many lose some of their `Exceptions` and `Logs`."),
  records: z
    .array(z.strictObject({ index: count, text: z.string(), truncated: z.boolean() }))
    .describe("The kept ones as they would be written, each with its place among the events, from 0."),
  not_kept: z.array(z.strictObject({ index: count, reason: z.enum(["filtered", "sampled_out"]) })),
  objects: z
    .array(
      z.strictObject({
        day: z.string().describe("The UTC day of its records, as in `{DATE}`."),
        content_type: z.string(),
        records: count,
        bytes: count.describe("Before compression, shown or not."),
        text: z.string(),
        complete: z.boolean().describe("`false`: the text breaks off before a record that is left out."),
      }),
    )
    .describe("What an object of each day would hold."),
  left_out: count.describe("Of those kept, how many are not shown."),
});
export type PreviewResult = z.infer<typeof PreviewResult>;

export const previewRoutes: readonly Resource[] = [
  {
    path: "/preview",
    methods: {
      POST: {
        permission: "logs:read",
        action: null,
        doc: {
          summary: "Show what a job would keep of events, and how it would look",
          description:
            "Runs `filter`, sampling, truncation and `output_options` of a job that need not exist, with its own code. Which records a sample keeps is an example: of a job it depends on more. Without `events`, on up to 200 recent ones that are held in memory. Nothing is stored.",
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
          ],
        },
        handle: showPreview,
      },
    },
  },
];

async function showPreview(c: AppContext, config: Config, platform: Platform): Promise<Response> {
  const { events, ...options } = await jsonBody(c.req.raw, AskPreview);
  const rules = readShipping(options);
  const given = events == null ? null : givenLines(events, c, platform);
  if (!rules.ok) {
    const refused = faultsError(400, CODE.notAllowed, rules.faults);
    throw given === null || given.ok ? refused : new ApiError(400, [...refused.entries, ...given.entries]);
  }
  if (given !== null && !given.ok) throw new ApiError(given.status, given.entries);
  const { lines, notes } = given ?? (await recentLines(c.env, config));
  const shown = preview(rules.value, lines);
  if (shown.leftOut > 0)
    notes.push(
      note(
        `the last ${shown.leftOut} of the records that are kept are left out: beyond ${PREVIEW_TEXT_MAX_BYTES} bytes`,
      ),
    );
  if (rules.value.sampleRate < 1)
    notes.push(note("the sample is an example: a job draws one of its own, with the same share"));
  return success(c, present(given === null ? "recent" : "given", shown), { messages: notes });
}

type Given =
  | { ok: true; lines: readonly string[]; notes: Message[] }
  | { ok: false; status: 400 | 413; entries: readonly ErrorEntry[] };

/** Events of a body, as intake would take them now. */
function givenLines(events: readonly unknown[], c: AppContext, platform: Platform): Given {
  const located = events.map((value, i) => ({ pointer: `/events/${i}`, value }));
  const { defaultScriptName } = readIntakeConfig(c.env);
  const accepted = acceptEvents(located, { takenInMs: platform.now(), defaultScriptName, lenient: false });
  if (accepted.ok) return { ok: true, lines: accepted.lines, notes: droppedKeys(named(accepted.unknownKeys)) };
  const { status } = accepted;
  // What is wrong with all of them together has no pointer of its own.
  const faults = accepted.faults.map(({ pointer, message }) => ({ pointer: pointer || "/events", message }));
  return {
    ok: false,
    status,
    entries: faultsError(status, status === 413 ? CODE.tooLarge : CODE.invalid, faults).entries,
  };
}

/** The records that the ledger holds in memory, oldest first. */
async function recentLines(env: Env, config: Config): Promise<{ lines: string[]; notes: Message[] }> {
  if (!config.previewRecent)
    return { lines: [], notes: [note('no recent events are held, as PREVIEW_RECENT is "false": send some as events')] };
  const { ndjson, tooLarge }: RecentRecords = await accountLedger(env.ACCOUNT).recent();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  // A record that nobody has parsed yet may hold anything where somebody else writes to the queue.
  const lines = decoder
    .decode(ndjson)
    .split("\n")
    .filter((line) => readStrictly(line) !== null);
  const notes: Message[] = [];
  if (lines.length === 0)
    notes.push(note("there are no recent events in memory, where they stay for minutes at most: send some as events"));
  if (tooLarge > 0) notes.push(note(`${tooLarge} recent events were too large to be held`));
  return { lines, notes };
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
    records: shown.records,
    not_kept: notKept,
    objects: objects.map(({ day, contentType, ...object }) => ({
      day: dayStamp(day),
      content_type: contentType,
      ...object,
    })),
    left_out: leftOut,
  };
}
