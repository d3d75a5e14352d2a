/**
 * `npm run search`: finds records in what was shipped, as `POST /search` does; docs/search.md.
 *
 *     npm run search -- 'customer 4711' --since 24h
 *     npm run search -- ray 8f14e45fceea167a --since 7d
 */
import * as z from "zod";
import { escaped, visible } from "../src/web/dashboard/parts/record-summary.ts";
import { recordText } from "./client/show.ts";
import { command, UsageFault } from "./command.ts";

const USAGE = `usage: npm run search -- [<text> | ray <ray id>] [options]

  --since <time>      24h, 30m, 7d, or RFC 3339 (1h)
  --until <time>      likewise (now)
  --function <name>   of one function
  --outcome <name>    one outcome; !ok: all but that
  --filter <json>     a filter as jobs have it, instead of these two
  --job <id>          in what one job shipped
  --oldest            the oldest first
  --limit <n>         at most so many records (100)
  --json              the records as NDJSON

The variables API and TOKEN say where, and who asks:
  API=http://localhost:8787/client/v4/accounts/local/logship TOKEN=… npm run search -- …

Exit code 1: nothing was found; 2: it could not be searched, or not all of it.`;

/** Most hits of one answer. */
const PAGE_MAX = 1_000;

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const Line = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hit"),
    job_id: z.number(),
    object: z.number().nullable(),
    line: z.number(),
    record: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal("progress"), objects: z.number(), read: z.number(), skipped: z.number() }),
  z.object({
    type: z.literal("end"),
    cursor: z.string().nullable(),
    not_searched: z.array(z.object({ what: z.string(), why: z.string() })),
  }),
]);
type Hit = Extract<z.infer<typeof Line>, { type: "hit" }>;
type End = Extract<z.infer<typeof Line>, { type: "end" }>;

/** A time as the API takes it. @param text a distance back from now, or a time. */
function timeOf(name: string, text: string): string {
  const back = /^(\d{1,6})([smhd])$/.exec(text);
  const ms = back === null ? Date.parse(text) : Date.now() - Number(back[1]) * UNIT_MS[back[2] as keyof typeof UNIT_MS];
  if (Number.isNaN(ms)) throw new UsageFault(`--${name}: 24h, 30m, 7d, or RFC 3339, not ${text}`);
  return new Date(ms).toISOString();
}

function filterOf({
  function: name,
  outcome,
}: {
  function?: string | undefined;
  outcome?: string | undefined;
}): string {
  const nodes = [
    ...(name === undefined ? [] : [{ key: "ScriptName", operator: "eq", value: name }]),
    ...(outcome === undefined
      ? []
      : [{ key: "Outcome", operator: outcome.startsWith("!") ? "!eq" : "eq", value: outcome.replace(/^!/, "") }]),
  ];
  return nodes.length === 0 ? "" : JSON.stringify({ where: { and: nodes } });
}

/** The lines of an answer, as they come. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<z.infer<typeof Line>> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield Line.parse(JSON.parse(line));
  }
}

function show({ record, job_id, object, line }: Hit): string {
  return recordText(record, `  job ${job_id}, ${object === null ? "not cut yet" : `object ${object}, line ${line}`}`);
}

const OPTIONS = {
  since: { type: "string", default: "1h" },
  until: { type: "string" },
  function: { type: "string" },
  outcome: { type: "string" },
  filter: { type: "string" },
  job: { type: "string" },
  limit: { type: "string", default: "100" },
  oldest: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
} as const;

type Given = Parameters<Parameters<typeof command<typeof OPTIONS>>[2]>[0];

async function main({ values, positionals }: Given): Promise<number> {
  const { API, TOKEN } = process.env;
  if (!API || !TOKEN) throw new UsageFault("API or TOKEN is not set");
  const words = positionals.join(" ");
  const ray = /^ray\s+(\S+)$/.exec(words)?.[1];
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageFault("--limit: a whole number, 1 or more");
  const question = {
    since: timeOf("since", values.since),
    until: values.until === undefined ? new Date().toISOString() : timeOf("until", values.until),
    ...(values.job !== undefined && { job_id: Number(values.job) }),
    ...(ray === undefined ? words !== "" && { text: words } : { ray_id: ray }),
    filter: values.filter ?? filterOf(values),
    order: values.oldest ? "oldest" : "newest",
  };
  let found = 0;
  let looked = "no object";
  const left: End["not_searched"] = [];
  for (let cursor: string | null = null; ; ) {
    const response: Response = await fetch(`${API.replace(/\/$/, "")}/search`, {
      method: "POST",
      headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
      body: JSON.stringify({
        ...question,
        limit: Math.min(limit - found, PAGE_MAX),
        ...(cursor !== null && { cursor }),
      }),
    });
    if (!response.ok || response.body === null) throw new Error(`${response.status} ${visible(await response.text())}`);
    let end: End | null = null;
    for await (const line of linesOf(response.body)) {
      if (line.type === "hit") {
        found += 1;
        tell("");
        console.log(values.json ? escaped(JSON.stringify(line.record)) : show(line));
      } else if (line.type === "progress") {
        looked = `read ${line.read} of ${line.objects} objects, skipped ${line.skipped} by sketch`;
        tell(looked);
      } else end = line;
    }
    if (end === null) throw new Error("the answer broke off; what was found is not all");
    left.push(...end.not_searched);
    cursor = end.cursor;
    if (cursor !== null && found < limit) continue;
    if (process.stderr.isTTY) process.stderr.write("\n");
    if (cursor !== null) console.error(`there are more: --limit ${2 * limit}, or a narrower question`);
    for (const { what, why } of left) console.error(`not searched: ${visible(what)}: ${visible(why)}`);
    if (found === 0)
      console.error(
        `nothing found: ${looked}. An event takes some ten seconds to arrive; --since 7d looks further back`,
      );
    return left.length > 0 ? 2 : found === 0 ? 1 : 0;
  }
}

/** Shows how far it is, on one line of a terminal; "": clears it. */
function tell(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${words}`);
}

await command(USAGE, OPTIONS, (given) =>
  main(given).catch((error: unknown) => {
    if (error instanceof UsageFault) throw error;
    console.error(visible(error instanceof Error ? error.message : String(error)));
    return 2;
  }),
);
