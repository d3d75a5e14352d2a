import { parsedJson } from "../../../base/bytes.ts";
import { failureOf, isEmpty, judgeAnswer, type Success, words } from "./answers.ts";
import { BUSY, MISCONFIGURED, OF_A_ROW } from "./clickhouse-codes.ts";
import type { Options, Receiver, ReceiverAnswer, Verdict } from "./receiver.ts";
import { host, secretHeader, text } from "./receiver-form.ts";
import { withFirst } from "./records.ts";

/** One block of a server's defaults holds 1,048,449 rows and 256 MiB: a body is inserted whole. */
const BODY_BYTES = 16_000_000;

/** Of an identifier; what could end its quotes is none. */
const IDENTIFIER = /^[A-Za-z0-9_.]{1,200}$/;

/**
 * ClickHouse over HTTP. A table that keeps the tokens of its latest inserts takes an insert once
 * while it has its token.
 * https://clickhouse.com/docs/guides/developer/deduplicating-inserts-on-retries
 */
export const clickhouse: Receiver = {
  scheme: "clickhouse",
  name: "ClickHouse",
  own: ["database", "table"],
  holder: ["database", "table"],
  id: "insert_deduplication_token: once within the window of the table, if it has one; logship_id in each row",
  takes: { plainRecords: true, fields: ["EventTimestampMs"], limits: { records: 20_000, bytes: 5_000_000 } },
  fault: ({ parameters }) => {
    const [database, table] = [parameters.get("database"), parameters.get("table")];
    if (table === undefined) return "table is missing";
    for (const name of [database ?? "default", table])
      if (!IDENTIFIER.test(name)) return "database and table are letters, digits, _ and .";
    return null;
  },
  form: () => ({
    contentType: "application/x-ndjson",
    frame: { open: "", betweenGroups: "", between: "\n", closeGroup: "\n", close: "" },
    limits: { records: 50_000, bytes: BODY_BYTES, entryBytes: BODY_BYTES - 1_000, maxAgeMs: null },
    entry: ({ line, timeMs }, id) => ({
      group: "",
      text: withFirst(line, `"logship_id":"${id}","timestamp":"${new Date(timeMs).toISOString()}"`),
    }),
  }),
  asks: {
    about: "`clickhouse://`, with a table, a user and a password.",
    fields: [
      host({ hint: "The host of its HTTPS interface, such as `abc.eu-central-1.aws.clickhouse.cloud:8443`." }),
      text("database", { label: "Database", hint: "Empty: the user's default database." }),
      text("table", { label: "Table", missing: "Enter the table." }),
      secretHeader("X-ClickHouse-User", { label: "User", hint: "With the right to insert into the table." }),
      secretHeader("X-ClickHouse-Key", { label: "Password" }),
    ],
  },
  request: (options, id) => ({
    query: {
      query: `INSERT INTO ${tableOf(options)} FORMAT JSONEachRow`,
      insert_deduplication_token: id,
      // Asynchronous inserts are acknowledged together, and earlier releases forget their tokens.
      async_insert: "0",
      // The answer waits for the insert: its status is that of the whole.
      wait_end_of_query: "1",
      input_format_skip_unknown_fields: "1",
      date_time_input_format: "best_effort",
    },
  }),
  judge,
  // No row: it needs the table, and the right to insert. Releases refuse the gzip of nothing.
  // https://github.com/ClickHouse/clickhouse-js/pull/229
  probe: { body: "\n" },
  asksBack: { query: (options) => ({ query: windowQuery(options), wait_end_of_query: "1" }), remark: windowRemark },
};

function tableOf({ parameters }: Options): string {
  const [database, table] = [parameters.get("database"), parameters.get("table") ?? ""];
  return database === undefined ? `\`${table}\`` : `\`${database}\`.\`${table}\``;
}

/**
 * Asks for the engine of the table and for the windows that the server has by default. Who may
 * insert into a table may see it here: a grant on its columns implies SHOW TABLES.
 * https://clickhouse.com/docs/operations/system-tables/tables
 * https://github.com/ClickHouse/ClickHouse/blob/master/src/Access/ContextAccess.cpp
 */
function windowQuery({ parameters }: Options): string {
  const database = parameters.get("database");
  const fallback = (name: string): string => `(SELECT value FROM system.merge_tree_settings WHERE name = '${name}')`;
  const columns = ["engine", "engine_full", ...WINDOWS.map(fallback)].join(", ");
  const where = `database = ${database === undefined ? "currentDatabase()" : `'${database}'`} AND name = '${parameters.get("table")}'`;
  return `SELECT ${columns} FROM system.tables WHERE ${where} FORMAT JSONCompactEachRow`;
}

/** Of tables that are not replicated, and of those that are. */
const WINDOWS = ["non_replicated_deduplication_window", "replicated_deduplication_window"] as const;

const UNKNOWN_WINDOW =
  "the deduplication window of the table cannot be read; without one, records sent again after a lost answer are stored twice";

/** Whether a repeat is told. A window counts inserts; 0, as it is by default: there is none. */
function windowRemark(answer: ReceiverAnswer | null): string {
  const row = answer?.status === 200 && exceptionOf(answer) === null ? parsedJson(answer.text) : null;
  if (!Array.isArray(row) || !/^[A-Za-z]{0,64}MergeTree$/.test(`${row[0]}`)) return UNKNOWN_WINDOW;
  const isReplicated = /^(?:Replicated|Shared)/.test(row[0]);
  const name = WINDOWS[isReplicated ? 1 : 0];
  const own = new RegExp(`\\b${name} = (\\d{1,15})\\b`).exec(`${row[1]}`)?.[1];
  const value = own ?? `${row[isReplicated ? 3 : 2]}`;
  if (!/^\d{1,15}$/.test(value)) return UNKNOWN_WINDOW;
  return Number(value) === 0
    ? `the table does not deduplicate, as its ${name} is 0: records sent again after a lost answer are stored twice`
    : `the table deduplicates within its last ${value} inserts (${name})`;
}

/** An insert that worked answers nothing. */
const TAKEN: Success = { statuses: [200], says: isEmpty, otherwise: "the empty answer of an insert" };

/**
 * What fails later than the head of its answer says so in the body alone.
 * https://clickhouse.com/docs/interfaces/http#http_response_codes_caveats
 */
function judge(answer: ReceiverAnswer): Verdict {
  const code = exceptionOf(answer);
  if (code === null) return judgeAnswer(answer, TAKEN);
  const isLate = answer.status >= 200 && answer.status < 300;
  const said = { words: words(answer, nameOf(code)), cause: answer.status };
  // Parsing comes before the only block of a body is written.
  if (code in OF_A_ROW) return { kind: "failed", error: { kind: "refused", ...said }, mayBeThere: false };
  if (code in MISCONFIGURED) return { kind: "failed", error: { kind: "misconfigured", ...said }, mayBeThere: false };
  const { retryAfterS } = answer;
  if (code in BUSY || isLate || answer.status >= 500)
    return { kind: "failed", error: { kind: "busy", retryAfterS, ...said }, mayBeThere: true };
  return { kind: "failed", error: failureOf(answer, nameOf(code)), mayBeThere: false };
}

function nameOf(code: number): string {
  return MISCONFIGURED[code] ?? OF_A_ROW[code] ?? BUSY[code] ?? `Code${code}`;
}

/** The code of the exception that an answer tells of; null: of none. */
function exceptionOf({ headers, text }: ReceiverAnswer): number | null {
  const told = /^\d{1,5}$/.exec(headers.get("x-clickhouse-exception-code") ?? "");
  const code = told?.[0] ?? /\bCode: (\d{1,5})\. DB::/.exec(text)?.[1];
  return code === undefined ? null : Number(code);
}
