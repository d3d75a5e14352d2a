/**
 * `npm run search`: finds records in what was shipped, as `POST /search` does; docs/search.md.
 *
 *     npm run search -- 'status:5xx checkout' --since 24h
 *     npm run search -- ray 8f14e45fceea167a --since 7d
 *     npm run search -- --by status --every 5m --measure count,p95:took
 */
import * as z from "zod";
import { between } from "../src/web/dashboard/pages/search/when.ts";
import { escaped, visible } from "../src/web/dashboard/parts/record-summary.ts";
import { parseJson } from "./client/api-client.ts";
import { COUNT_END, type Counted, CountPages, countedOf, GroupsLine } from "./client/counts.ts";
import { findService, type Service } from "./client/service.ts";
import { recordText } from "./client/show.ts";
import { command, Refusal, UsageFault } from "./command.ts";
import { plain } from "./project-files/text.ts";

const USAGE = `usage: npm run search -- [<query> | ray <ray id>] [options]

Finds records in what was shipped and in what still waits, or counts them. A query is in one pair of quotes:
  'card declined'  '"card declined" -test'  'status:5xx path:/checkout/*'  'level:error took:>1s'
docs/search.md has the whole language.

  --since <time>      3 hours, 30m, 7d, yesterday, 15:07, 11-23 15:07, or RFC 3339 (1h)
  --until <time>      likewise (now)
  --function <name>   of one Worker
  --outcome <name>    one outcome; !ok: all but that
  --filter <json>     a filter as jobs have it, instead of these two
  --job <id>          in what one job shipped
  --oldest            the oldest first
  --limit <n>         at most so many records (100)
  --json              the records, or groups, as NDJSON
  --by <names>        counts, by status, path, worker, Fields.customer: up to three, with commas
  --every <time>      counts, by slots of time: 1m to 1d
  --measure <names>   of each group: count, p95:took, distinct:ray, … (count)
  --top <n>           groups that are shown, those with the most records (100)
  --once              one answer, though it may not be all
  --deployed          asks the deployment, though npm start runs

Times are UTC, unless they name a zone (15:07 +01:00). The running \`npm start\` is asked, or else the
deployment of \`npm run setup\`, or the service that the variables API and TOKEN name:
  API=https://logship.acme.workers.dev TOKEN=… npm run search -- …

Exit code 1: nothing was found; 2: it could not be searched, or not all of it.`;

/** The type of an answer with lines. */
const NDJSON = "application/x-ndjson";

/** Most hits of one answer. */
const PAGE_MAX = 1_000;

const BROKEN_OFF = "the answer broke off: more may be there";

const HOUR_MS = 3_600_000;
const WEEK_MS = 168 * HOUR_MS;

const Line = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hit"),
    job_id: z.number(),
    object: z.number().nullable(),
    line: z.number(),
    // A service of an earlier release names none.
    also_in: z.array(z.number()).default([]),
    record: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal("progress"), objects: z.number(), read: z.number(), skipped: z.number() }),
  GroupsLine,
  z.object({
    type: z.literal("end"),
    ...COUNT_END,
    cursor: z.string().nullable(),
    not_searched: z.array(z.object({ what: z.string(), why: z.string() })),
  }),
]);
type Hit = Extract<z.infer<typeof Line>, { type: "hit" }>;
type End = Extract<z.infer<typeof Line>, { type: "end" }>;

/** The time from `since` to `until`, as the page Search reads them. @throws UsageFault */
function timesOf(since: string, until: string, nowMs: number): [number, number] {
  try {
    // The rest of a time that was not understood would be taken for the query: `3 huors`.
    for (const text of [since, until]) if (/^\d{1,2}$/.test(text)) throw new RangeError(text);
    return between(since, until, HOUR_MS, "", nowMs);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const name = error.message === since ? "since" : "until";
    throw new UsageFault(
      `--${name}: 3 hours, 30m, 7d, yesterday, 15:07, 11-23 15:07, or RFC 3339, not ${error.message}`,
    );
  }
}

/** The arguments, with a time of several words as one: `--since 3 hours`. */
function joinedTimes(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of args) {
    const longer = `${joined.at(-1)} ${word}`;
    if (/^--(?:since|until)$/.test(joined.at(-2) ?? "") && isRead(longer)) joined.splice(-1, 1, longer);
    else joined.push(word);
  }
  return joined;
}

function isRead(time: string): boolean {
  try {
    return between(time, "", HOUR_MS, "", 0).every((ms) => !Number.isNaN(ms));
  } catch {
    return false;
  }
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

/** The lines of an answer, as they come. @throws Refusal if it breaks off */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<z.infer<typeof Line>> {
  let rest = "";
  const texts = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (;;) {
    const { done, value } = await texts.read().catch(() => Promise.reject(new Refusal(BROKEN_OFF)));
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield Line.parse(JSON.parse(line));
  }
}

function show({ record, job_id, object, line, also_in }: Hit): string {
  const others = also_in.length === 0 ? "" : `; also in ${also_in.length === 1 ? "job" : "jobs"} ${also_in.join(", ")}`;
  const where = object === null ? "not cut yet" : `object ${object}, line ${line}`;
  return recordText(record, `  job ${job_id}, ${where}${others}`);
}

const OPTIONS = {
  since: { type: "string", default: "" },
  until: { type: "string", default: "" },
  function: { type: "string" },
  outcome: { type: "string" },
  filter: { type: "string" },
  job: { type: "string" },
  limit: { type: "string", default: "100" },
  oldest: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  by: { type: "string" },
  every: { type: "string" },
  measure: { type: "string", multiple: true },
  top: { type: "string", default: "100" },
  once: { type: "boolean", default: false },
  deployed: { type: "boolean", default: false },
} as const;

type Given = Parameters<Parameters<typeof command<typeof OPTIONS>>[2]>[0];

/** The lines of one answer. @throws Refusal without a page of HTML in it */
async function ask(
  { api, token }: Service,
  question: object,
  signal: AbortSignal | null = null,
): Promise<ReadableStream<Uint8Array>> {
  const response = await fetch(`${api}/search`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  }).catch((error: unknown) => {
    const { message, cause } = error as Error;
    throw new Refusal(
      `${api} does not answer: ${cause instanceof Error && cause.message !== "" ? cause.message : message}`,
    );
  });
  if (response.ok && response.body !== null && typeOf(response).startsWith(NDJSON)) return response.body;
  const Envelope = z.object({ errors: z.array(z.object({ message: z.string() })).min(1) });
  const text = await response.text();
  const said = Envelope.safeParse(parseJson(text));
  if (said.success)
    throw new Refusal(`HTTP ${response.status}: ${said.data.errors.map((each) => each.message).join("; ")}`);
  const what = typeOf(response).startsWith("text/html") ? "a page" : text.slice(0, 200);
  throw new Refusal(
    `${api} is not the API of logship, which is at <address>/client/v4/accounts/<account id>/logship: HTTP ${response.status}, ${what}`,
  );
}

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? "";
}

async function main({ values, positionals }: Given): Promise<number> {
  const words = positionals.join(" ");
  const ray = /^ray\s+(\S+)$/.exec(words)?.[1];
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageFault("--limit: a whole number, 1 or more");
  if (values.job !== undefined && !/^\d{1,15}$/.test(values.job)) throw new UsageFault("--job: the number of a job");
  const [sinceMs, untilMs] = timesOf(values.since, values.until, Date.now());
  const [since, until] = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  const counted = countedOf(values);
  const service = findService(process.env, values.deployed);
  const question = {
    ...{ since, until },
    ...(values.job !== undefined && { job_id: Number(values.job) }),
    ...(ray === undefined ? words !== "" && { query: words } : { ray_id: ray }),
    filter: values.filter ?? filterOf(values),
    order: values.oldest ? "oldest" : "newest",
  };
  const isLastHour = values.since === "" && values.until === "";
  const when = isLastHour ? "in the last hour" : `from ${shownTime(since)} to ${shownTime(until)} UTC`;
  console.error(`Searching ${visible(service.name)}, ${when}.`);
  if (counted !== null) return countAll(service, question, counted, values);
  let found = 0;
  let looked = "Searched no file.";
  const left: End["not_searched"] = [];
  for (let cursor: string | null = null; ; ) {
    const part: object = { limit: Math.min(limit - found, PAGE_MAX), ...(cursor !== null && { cursor }) };
    let end: End | null = null;
    for await (const line of linesOf(await ask(service, { ...question, ...part }))) {
      if (line.type === "hit") {
        found += 1;
        tell("");
        console.log(values.json ? escaped(JSON.stringify(line.record)) : show(line));
      } else if (line.type === "progress") {
        looked = lookedWords(line.read, line.skipped);
        tell(looked);
      } else if (line.type === "end") end = line;
    }
    if (end === null) throw new Refusal(BROKEN_OFF);
    left.push(...end.not_searched);
    cursor = end.cursor;
    if (cursor !== null && found < limit) continue;
    if (process.stderr.isTTY) process.stderr.write("\n");
    if (cursor !== null) console.error(`There are more: --limit ${2 * limit}, or a narrower question.`);
    for (const { what, why } of left) console.error(`not searched: ${visible(what)}: ${visible(why)}`);
    if (found === 0) {
      const further = untilMs - sinceMs < WEEK_MS ? "; use --since 7d to look further back" : "";
      console.error(`Nothing found ${when}. New events take about 10 s${further}. ${looked}`);
    }
    return left.length > 0 ? 2 : found === 0 ? 1 : 0;
  }
}

/** Counts, answer by answer, until all is counted or it is stopped. @returns the exit code. */
async function countAll(
  service: Service,
  question: object,
  counted: Counted,
  { once, json }: Given["values"],
): Promise<number> {
  const pages = new CountPages(counted);
  const left: End["not_searched"] = [];
  const stopped = new AbortController();
  process.once("SIGINT", () => stopped.abort());
  let drawn = 0;
  const draw = (lines: readonly string[]): void => {
    if (!process.stderr.isTTY) return;
    // A terminal that does not say how large it is says 0.
    const [rows, columns] = [process.stderr.rows || 24, process.stderr.columns || 80];
    const shown = lines.slice(0, Math.max(1, rows - 2)).map((line) => line.slice(0, columns - 1));
    process.stderr.write(
      `${drawn > 0 ? `\u001b[${drawn}A` : ""}\r\u001b[J${shown.map((line) => `${line}\n`).join("")}`,
    );
    drawn = shown.length;
  };
  let cursor: string | null = null;
  try {
    do {
      const sent: object = { ...question, count: counted, ...(cursor !== null && { cursor }) };
      const isFirst: boolean = cursor === null;
      let end: End | null = null;
      for await (const line of linesOf(await ask(service, sent, stopped.signal))) {
        if (line.type === "groups") pages.show(line.rows);
        if (line.type === "progress") draw([...pages.table(), lookedWords(line.read, line.skipped)]);
        if (line.type === "end") end = line;
      }
      if (end === null) throw new Refusal(BROKEN_OFF);
      left.push(...end.not_searched);
      cursor = end.cursor;
      pages.end(end.other, end.overflow, !isFirst || cursor !== null);
    } while (cursor !== null && !once);
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    cursor ??= "";
  }
  draw([]);
  const { rows } = pages.answer();
  for (const line of json ? pages.json().map(escaped) : pages.table()) console.log(line);
  for (const { what, why } of left) console.error(`not searched: ${visible(what)}: ${visible(why)}`);
  if (pages.overflow) console.error("There are too many groups: others may have records of those that are shown.");
  if (cursor !== null) console.error("Not all was counted: there is more.");
  return left.length > 0 || cursor !== null ? 2 : rows.length === 0 ? 1 : 0;
}

function lookedWords(read: number, skipped: number): string {
  const files = read + skipped;
  return `Searched ${files} ${files === 1 ? "file" : "files"}${skipped === 0 ? "" : `; ${skipped} could be ruled out`}.`;
}

/** `2026-11-30 15:07`. */
function shownTime(iso: string): string {
  return iso.slice(0, 16).replace("T", " ");
}

/** Shows how far it is, on one line of a terminal; "": clears it. */
function tell(words: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${words}`);
}

await command(
  USAGE,
  OPTIONS,
  (given) =>
    main(given).catch((error: unknown) => {
      if (error instanceof UsageFault) throw error;
      console.error(plain(visible(error instanceof Error ? error.message : String(error))));
      return 2;
    }),
  joinedTimes(process.argv.slice(2)),
);
