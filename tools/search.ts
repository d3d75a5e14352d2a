/**
 * `npm run search`: finds records in what was shipped, as `POST /search` does; docs/search.md.
 *
 *     npm run search -- 'status:5xx checkout' --since 24h
 *     npm run search -- ray 8f14e45fceea167a --since 7d
 *     npm run search -- --by status --every 5m --measure count,p95:took
 */
import { plural, stamp, timeSpan } from "../src/base/words.ts";
import { quoted } from "../src/formats/query/show.ts";
import { type Left, notSearchedLines } from "../src/operate/search/not-searched.ts";
import {
  alsoInWords,
  FEWER_WORDS,
  faultPlace,
  type Looked,
  lookedSince,
  lookedWords,
  NOT_SEARCHED,
  NOTHING_FOUND,
  nothingWords,
  placeWords,
  REFUSED,
  SEARCH_AGAIN,
  soFarWords,
  TOO_MANY_GROUPS,
  widerWays,
} from "../src/operate/search/words.ts";
import { between } from "../src/web/dashboard/pages/search/when.ts";
import { combined, narrowed } from "../src/web/dashboard/parts/record-filter.ts";
import { escaped, visible } from "../src/web/dashboard/parts/record-summary.ts";
import { type Counted, CountPages, countedOf } from "./client/counts.ts";
import { type AnswerLine, answerTo, type End, type Hit, QueryFault } from "./client/search-answer.ts";
import { findService, type Service } from "./client/service.ts";
import { oneLine, recordText } from "./client/show.ts";
import { command, UsageFault } from "./command.ts";
import { plain } from "./project-files/text.ts";

const USAGE = `usage: npm run search -- [<query> | ray <ray id>] [options]

Finds records in what was shipped and in what still waits, or counts them. A query is in one pair of quotes:
  'card declined'  '"card declined" -test'  'status:5xx path:/checkout/*'  'level:error took:>1s'
docs/search.md has the whole language.

  --since <time>      3 hours, 30m, 7d, yesterday, 15:07, 11-23 15:07, or RFC 3339 (1h)
  --until <time>      likewise (now)
  --function <name>   of one Worker
  --outcome <name>    one outcome; !ok: all but that; failed: with an error, or 5xx
  --filter <json>     a filter as jobs have it
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

/** Most hits of one answer. */
const PAGE_MAX = 1_000;

const HOUR_MS = 3_600_000;

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

/**
 * The arguments, with a time of several words as one: `--since 3 hours`; and `-word` as a part of
 * the query, as no option has one dash.
 */
function joinedTimes(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const word of args) {
    const [before = "", last = ""] = [joined.at(-2), joined.at(-1)];
    const longer = `${last} ${word}`;
    if (/^--(?:since|until)$/.test(before) && isRead(longer)) joined.splice(-1, 1, longer);
    else joined.push(/^-[^-]/.test(word) && !takesValue(last) ? ` ${word}` : word);
  }
  return joined;
}

function takesValue(word: string): boolean {
  return Object.entries(OPTIONS).some(([name, { type }]) => word === `--${name}` && type === "string");
}

function isRead(time: string): boolean {
  try {
    return between(time, "", HOUR_MS, "", 0).every((ms) => !Number.isNaN(ms));
  } catch {
    return false;
  }
}

function filterOf({ function: name = "", outcome = "", filter = "" }: Given["values"]): string {
  const value = outcome.replace(/^!/, "");
  if (value === outcome) return combined(filter, name, outcome);
  let all = filter;
  try {
    all = narrowed(filter, { key: "Outcome", operator: "eq", value }, true);
  } catch {
    // The service says what is wrong with a filter that is none.
  }
  return combined(all, name, "");
}

function show(hit: Hit): string {
  const place = [placeWords(hit), alsoInWords(hit)].filter((words) => words !== "").join(". ");
  return recordText(hit.record, `  (${place})`);
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

async function main({ values, positionals }: Given): Promise<number> {
  const words = positionals.join(" ");
  const ray = /^ray\s+(\S+)$/.exec(words)?.[1];
  const limit = Number(values.limit);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageFault("--limit: a whole number, 1 or more");
  if (values.job !== undefined && !/^\d{1,15}$/.test(values.job)) throw new UsageFault("--job: the number of a job");
  const [sinceMs, untilMs] = timesOf(values.since, values.until, Date.now());
  const counted = countedOf(values);
  const service = findService(process.env, values.deployed);
  const order: Question["order"] = values.oldest ? "oldest" : "newest";
  const question = {
    ...{ since: new Date(sinceMs).toISOString(), until: new Date(untilMs).toISOString() },
    ...(values.job !== undefined && { job_id: Number(values.job) }),
    ...(ray === undefined ? words !== "" && { query: words } : { ray_id: ray }),
    ...{ filter: filterOf(values), order },
  };
  console.error(`Searching ${visible(service.name)} from ${timeSpan(sinceMs, untilMs)}.`);
  try {
    if (counted !== null) return await countAll(service, question, counted, values);
    const { found, code } = await findAll(service, question, limit, values.json);
    if (found === 0) sayNothing({ ...values, q: words }, sinceMs, untilMs);
    return code;
  } catch (error) {
    if (!(error instanceof QueryFault)) throw error;
    sayFault(error, words);
    return 2;
  }
}

interface Question {
  readonly order: "newest" | "oldest";
}

/** Shows what is found, answer by answer, until there is no more or it is enough. */
async function findAll(
  service: Service,
  question: Question,
  limit: number,
  json: boolean,
): Promise<{ found: number; code: number }> {
  let found = 0;
  const { looked, saw, isOver } = lookingOn();
  const left: Left[] = [];
  let cursor: string | null = null;
  do {
    const part: object = { limit: Math.min(limit - found, PAGE_MAX), ...(cursor !== null && { cursor }) };
    const end: End = await answerTo(service, { ...question, ...part }, (line) => {
      if (line.type === "progress") tell(`${plural(found, "record")}. ${looked(line)}`);
      if (line.type !== "hit") return;
      found += 1;
      tell("");
      console.log(json ? escaped(JSON.stringify(line.record)) : show(line));
    });
    isOver();
    left.push(...end.not_searched);
    cursor = end.cursor;
  } while (cursor !== null && found < limit);
  tell("");
  console.error(`${plural(found, "record")}. ${saw()}`);
  if (cursor !== null) console.error(`There are more: --limit ${2 * limit}, or a narrower question.`);
  sayLeft(left);
  return { found, code: left.length > 0 ? 2 : found === 0 ? 1 : 0 };
}

/** Counts, answer by answer, until all is counted or it is stopped. @returns the exit code. */
async function countAll(
  service: Service,
  question: Question,
  counted: Counted,
  { once, json }: Given["values"],
): Promise<number> {
  const pages = new CountPages(counted);
  const left: Left[] = [];
  const stopped = new AbortController();
  process.once("SIGINT", () => stopped.abort());
  const { looked, saw, isOver } = lookingOn();
  const draw = drawing();
  let cursor: string | null = null;
  let isAll = false;
  try {
    do {
      const sent: object = { ...question, count: counted, ...(cursor !== null && { cursor }) };
      const isFirst: boolean = cursor === null;
      const told = (line: AnswerLine): void => {
        if (line.type === "groups") pages.show(line.rows, line.at);
        if (line.type === "progress") draw([...pages.table(), looked(line)]);
      };
      const end: End = await answerTo(service, sent, told, stopped.signal);
      isOver();
      left.push(...end.not_searched);
      cursor = end.cursor;
      pages.end(end.other, end.overflow, !isFirst || cursor !== null);
      isAll = cursor === null;
    } while (!isAll && !once);
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
  }
  draw([]);
  for (const line of json ? pages.json().map(escaped) : pages.table()) console.log(line);
  const { total } = pages;
  const records = total === null ? "" : plural(total, "record");
  const said = isAll ? records : `Partial: ${records}${soFarWords(pages.at, question.order)}`;
  console.error([said, saw()].filter((words) => words !== "").join(". "));
  sayLeft(left);
  if (pages.overflow) console.error(TOO_MANY_GROUPS);
  return left.length > 0 || !isAll ? 2 : pages.answer().rows.length === 0 ? 1 : 0;
}

/** How far it is, over all answers. `saw`: at last. */
function lookingOn() {
  let before: Looked = { objects: 0, read: 0, skipped: 0, bytes_read: 0, sketch_bytes: 0 };
  let now = before;
  return {
    looked: (line: Looked): string => {
      now = lookedSince(before, line);
      return lookedWords(now);
    },
    isOver: (): void => {
      before = now;
    },
    saw: (): string => lookedWords(now),
  };
}

/** Shows lines in place of those before, where stderr is a terminal. */
function drawing(): (lines: readonly string[]) => void {
  let drawn = 0;
  return (lines) => {
    if (!process.stderr.isTTY) return;
    // A terminal that does not say how large it is says 0.
    const [rows, columns] = [process.stderr.rows || 24, process.stderr.columns || 80];
    const shown = lines.slice(0, Math.max(1, rows - 2)).map((line) => line.slice(0, columns - 1));
    process.stderr.write(
      `${drawn > 0 ? `\u001b[${drawn}A` : ""}\r\u001b[J${shown.map((line) => `${line}\n`).join("")}`,
    );
    drawn = shown.length;
  };
}

function sayLeft(left: readonly Left[]): void {
  for (const line of notSearchedLines(left)) console.error(`${NOT_SEARCHED}: ${oneLine(line)}`);
}

/** What was looked for, and the options with which more may be found. */
function sayNothing(asked: Given["values"] & { q: string }, sinceMs: number, untilMs: number): void {
  const { q, outcome = "", function: name = "", filter = "", job = "" } = asked;
  const conditions = { outcome, function: name, filter, job };
  console.error(`${NOTHING_FOUND}. ${oneLine(nothingWords(outcome, sinceMs, untilMs))}`);
  const ways = widerWays(conditions, sinceMs, untilMs, asked.until === "").map(({ label, without, last, span }) => {
    const [since, until] = (span ?? []).map((ms) => stamp(ms, 1));
    if (since !== undefined) return `${label} (--since '${since}' --until '${until}')`;
    return `${label} (${without === undefined ? `--since ${last}` : `without --${without}`})`;
  });
  if (ways.length > 0) console.error(`${SEARCH_AGAIN} ${ways.join(", ")}.`);
  if (q !== "") console.error(FEWER_WORDS);
}

/** Points at the place of a fault, and offers what was typed as a phrase. */
function sayFault({ message, at }: QueryFault, query: string): void {
  const [before, from] = faultPlace(query, at).map(oneLine) as [string, string];
  console.error(`${REFUSED}: ${oneLine(message)}\n  ${before}${from}\n  ${" ".repeat([...before].length)}^`);
  // Quotes of a POSIX shell.
  const phrase = oneLine(quoted(query)).replaceAll("'", "'\\''");
  console.error(`Search for it as a phrase: npm run search -- '${phrase}'`);
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
