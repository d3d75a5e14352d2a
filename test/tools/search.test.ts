/** `npm run search`, against an API that answers with hostile records. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { Groups } from "../../src/operate/search/count/groups.ts";
import { Shape } from "../../src/operate/search/count/measures.ts";
import { ROOT } from "../../tools/paths.ts";

/** Escape, its one-character form, a line from the right, and a line feed. */
const STEERING = "\u001b[2J\u009b2J\u202e\n";

const RECORD = {
  EventTimestampMs: 0,
  ScriptName: `shop${STEERING}`,
  Outcome: STEERING,
  Logs: [{ Message: [STEERING] }],
};

type Asked = Record<string, unknown>;

/** Runs a search against a server that answers every request with this. */
async function search(
  args: readonly string[],
  { body, status = 200, type = "application/x-ndjson", length }: Answer,
  settings: NodeJS.ProcessEnv = {},
) {
  const asked: { path: string | undefined; body: Asked }[] = [];
  const server = createServer(async (request, response) => {
    asked.push({ path: request.url, body: JSON.parse(await text(request)) as Asked });
    response.writeHead(status, { "Content-Type": type, ...(length !== undefined && { "Content-Length": length }) });
    response.write(typeof body === "string" ? body : (body[asked.length - 1] ?? ""), () =>
      length === undefined ? response.end() : response.destroy(),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const API = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [join(ROOT, "tools/search.ts"), ...args], {
    env: { ...process.env, API, TOKEN: "very-secret-token", ...settings },
  });
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  server.close();
  expect(`${out}${errors}`).not.toContain("very-secret-token");
  return { out, errors, code, asked };
}

interface Answer {
  /** Of each request; or of one after the other. */
  readonly body: string | readonly string[];
  readonly status?: number;
  readonly type?: string;
  /** More than it has: the connection breaks. */
  readonly length?: number;
}

const linesOf = (...lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");
const NOTHING = linesOf(
  { type: "progress", objects: 34, read: 6, skipped: 28 },
  { type: "end", complete: true, cursor: null, not_searched: [] },
);

it.each([[], ["--json"]])("shows a terminal nothing that it obeys (%j)", async (...options) => {
  const body = linesOf(
    { type: "hit", job_id: 1, object: 1, line: 1, record: RECORD },
    { type: "end", complete: false, cursor: null, not_searched: [{ what: STEERING, why: STEERING }] },
  );
  const { out, errors, code } = await search(["x", ...options], { body });
  expect(code).toBe(2);
  expect(out).toContain("shop");
  expect(errors).toContain("not searched");
  expect(`${out}${errors}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  if (options.length > 0) expect(JSON.parse(out)).toEqual(RECORD);
});

it("completes an address without a path, and says what it looked through when nothing is found", async () => {
  const { out, errors, code, asked } = await search(["customer", "4711"], { body: NOTHING });
  expect([code, out]).toEqual([1, ""]);
  expect(errors).toContain(
    "Nothing found in the last hour. New events take about 10 s; use --since 7d to look further back. Searched 34 files; 28 could be ruled out.\n",
  );
  expect(asked).toMatchObject([
    { path: "/client/v4/accounts/local/logship/search", body: { query: "customer 4711", order: "newest" } },
  ]);
});

const HOUR_MS = 3_600_000;

it.each([
  [["--since", "3 hours", "x"], 3 * HOUR_MS],
  [["--since", "3", "hours", "x"], 3 * HOUR_MS],
  [["x", "--since", "2", "days", "ago", "--until", "now"], 48 * HOUR_MS],
  [["--since=30m", "x"], HOUR_MS / 2],
])("takes times as the page Search does: %j", async (args, wanted) => {
  const { asked, errors } = await search(args, { body: NOTHING });
  const { since, until, query: words } = asked[0]?.body ?? {};
  expect([words, Math.round(Date.parse(`${until}`) - Date.parse(`${since}`))]).toEqual(["x", wanted]);
  expect(errors).toMatch(/Nothing found from \d{4}-\d\d-\d\d \d\d:\d\d to .* UTC\. New/);
});

it("takes a day, which begins at midnight", async () => {
  const { asked } = await search(["--since", "yesterday"], { body: NOTHING });
  const ago = Date.now() - Date.parse(`${asked[0]?.body.since}`);
  expect(`${asked[0]?.body.since}`).toMatch(/T00:00:00\.000Z$/);
  expect([ago >= 24 * HOUR_MS - 60_000, ago <= 48 * HOUR_MS + 60_000]).toEqual([true, true]);
});

it("refuses what is no time", async () => {
  const { code, errors, asked } = await search(["--since", "blue"], { body: NOTHING });
  expect([code, asked]).toEqual([2, []]);
  expect(errors).toMatch(/^--since: 3 hours, .*, not blue\n/);
});

it.each([
  [["--since", "3", "huors"], "--since: 3 hours, 30m"],
  [["--until", "3"], "--until: 3 hours, 30m"],
  [["--job", "x"], "--job: the number of a job\n"],
  [["--since", "-3h"], "Option '--since' argument is ambiguous. Did you"],
])("refuses what would be taken for something else: %j", async (args, words) => {
  const { code, errors, asked } = await search(args, { body: NOTHING });
  expect([code, asked, errors.startsWith(words)]).toEqual([2, [], true]);
});

it.each([
  [{ TOKEN: "very-secret-token\nanother" }, "TOKEN has a character that no token has"],
  [{ TOKEN: "very-secret-token€" }, "TOKEN has a character that no token has"],
  [
    { API: "https://me:very-secret-token@127.0.0.1:1" },
    "API holds a password, which would be shown: TOKEN is for that",
  ],
])("shows no secret of an address or a token that cannot be used: %j", async (settings, words) => {
  const { code, errors, asked } = await search(["x"], { body: NOTHING }, settings);
  expect([code, asked, errors]).toEqual([2, [], `${words}\n`]);
});

it.each([
  [{ body: "<!DOCTYPE html><p>a page", status: 200, type: "text/html; charset=utf-8" }, "HTTP 200, a page"],
  [{ body: "<!DOCTYPE html><p>a page", status: 404, type: "text/html" }, "HTTP 404, a page"],
  [{ body: '{"hello":1}', type: "application/json" }, "is not the API of logship"],
  [{ body: "", type: "" }, "is not the API of logship"],
  [{ body: '{"type":"progress","objects":1,"read":1,"skipped":0}\n' }, "the answer broke off: more may be there"],
  [{ body: '{"type":"progress"', length: 1_000 }, "the answer broke off: more may be there"],
  [{ body: '{"success":false,"errors":[{"code":1,"message":"no"}]}', status: 403 }, "HTTP 403: no"],
])("says in one line what an answer is that is none of the API: %j", async (answer, words) => {
  const { code, out, errors } = await search(["x"], answer);
  expect([code, out]).toEqual([2, ""]);
  expect(errors).toContain(words);
  expect(errors).not.toMatch(/doctype|<p>/i);
  expect(errors.trimEnd().split("\n")).toHaveLength(2);
});

/** The answer to a count of these values, as the API has it. */
function countedOn(values: readonly (readonly [status: number, took: number])[], cursor: string | null, isPart = true) {
  const shape = new Shape([{ op: "count" }, { op: "p95", of: "took" }]);
  const groups = new Groups(shape);
  for (const [status, took] of values) groups.add({ by: [status], atMs: 0 }, [took]);
  const { rows, other } = groups.answer(null, isPart);
  return linesOf(
    { type: "groups", rows: [], at: null },
    { type: "progress", objects: 1, read: 1, skipped: 0 },
    { type: "groups", rows, at: null },
    { type: "end", complete: cursor === null, cursor, not_searched: [], other, overflow: false },
  );
}

const COUNT = ["--by", "status", "--every", "5m", "--measure", "count", "--measure", "p95:took"];

it("counts over all answers, and shows one table", async () => {
  const body = [
    countedOn(
      [
        [200, 10],
        [500, 7],
        [200, 30],
      ],
      "more",
    ),
    countedOn(
      [
        [200, 20],
        [404, 64],
      ],
      null,
    ),
  ];
  const { out, code, asked } = await search([...COUNT, "declined"], { body });
  expect(out).toBe(`time              status  count  p95:took
1970-01-01 00:00  200         3        30
1970-01-01 00:00  404         1        64
1970-01-01 00:00  500         1         7
`);
  const count = { by: ["status"], every: "5m", measures: [{ op: "count" }, { op: "p95", of: "took" }], top: 100 };
  expect([code, asked.map(({ body }) => body)]).toMatchObject([
    0,
    [
      { count, query: "declined" },
      { count, query: "declined", cursor: "more" },
    ],
  ]);
});

it("ends after one answer with --once, and says that there is more", async () => {
  const { out, errors, code } = await search([...COUNT, "--once", "--json", "--top", "1"], {
    body: [
      countedOn(
        [
          [200, 10],
          [500, 7],
          [200, 30],
        ],
        "more",
      ),
    ],
  });
  expect(
    out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([{ time: "1970-01-01T00:00:00.000Z", status: 200, count: 2, "p95:took": 30 }]);
  expect([code, errors]).toEqual([2, expect.stringContaining("Not all was counted: there is more.")]);
});

it("shows a terminal nothing of a group that it obeys, and sums what it does not show", async () => {
  const body = linesOf(
    { type: "groups", rows: [{ by: [STEERING], values: [3] }], at: null },
    { type: "end", complete: true, cursor: null, not_searched: [], other: { values: [2] }, overflow: true },
  );
  const { out, errors, code } = await search(["--by", "path"], { body });
  expect(`${out}${errors}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  expect([code, out]).toEqual([0, expect.stringMatching(/\nothers +2\n$/)]);
  expect(errors).toContain("There are too many groups");
});

it.each([
  [["--measure", "median:took"], "--measure: count, sum, "],
  [["--by", "status", "--top", "0"], "--top: a whole number from 1 to 1000"],
])("refuses %j", async (args, words) => {
  const { code, errors, asked } = await search(args, { body: NOTHING });
  expect([code, asked, errors.startsWith(words)]).toEqual([2, [], true]);
});

it("refuses a state that is none", async () => {
  const body = linesOf(
    { type: "groups", rows: [{ by: [200], values: [1, 1], state: "AA" }], at: null },
    { type: "end", complete: false, cursor: "more", not_searched: [], other: null, overflow: false },
  );
  const { code, errors } = await search(COUNT, { body });
  expect([code, errors]).toEqual([2, expect.stringContaining("a state breaks off")]);
});
