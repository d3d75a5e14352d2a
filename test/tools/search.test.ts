/** `npm run search`, against an API that answers with hostile records. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { Shape } from "../../src/formats/measures/measures.ts";
import { Groups } from "../../src/operate/search/count/groups.ts";
import { askedOf, questionOf } from "../../src/web/dashboard/pages/search/address.ts";
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
  { body, status = 200, type = "application/x-ndjson", length, isOpen, told }: Answer,
  settings: NodeJS.ProcessEnv = {},
  meanwhile: (child: ChildProcessByStdio<null, Readable, Readable>) => void = () => {},
) {
  const asked: { path: string | undefined; body: Asked }[] = [];
  const server = createServer(async (request, response) => {
    asked.push({ path: request.url, body: JSON.parse(await text(request)) as Asked });
    response.writeHead(status, { "Content-Type": type, ...(length !== undefined && { "Content-Length": length }) });
    response.write(typeof body === "string" ? body : (body[asked.length - 1] ?? ""), () => {
      if (asked.length === isOpen) told?.();
      else if (length === undefined) response.end();
      else response.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const API = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = spawn(process.execPath, [join(ROOT, "tools/search.ts"), ...args], {
    env: { ...process.env, API, TOKEN: "very-secret-token", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  meanwhile(child);
  const [out, errors, [code]] = await Promise.all([
    // Of one that is destroyed, nothing is told.
    text(child.stdout).catch(() => ""),
    text(child.stderr),
    once(child, "close"),
  ]);
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
  /** Which answer does not end, and is told when it has begun. */
  readonly isOpen?: number;
  readonly told?: () => void;
}

const linesOf = (...lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");
const NOTHING = linesOf(
  { type: "progress", objects: 34, read: 6, skipped: 28, bytes_read: 1_000, sketch_bytes: 200 },
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
  expect(errors).toContain("Not searched: ");
  expect(`${out}${errors}`.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  if (options.length > 0) expect(JSON.parse(out)).toEqual(RECORD);
});

it("completes an address without a path, and says what it looked through when nothing is found", async () => {
  const { out, errors, code, asked } = await search(["customer", "4711"], { body: NOTHING });
  expect([code, out]).toEqual([1, ""]);
  const span = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d to (?:\d{4}-\d\d-\d\d )?\d\d:\d\d UTC`;
  expect(errors).toMatch(
    new RegExp(
      `^Searching http://127.0.0.1:\\d+ from ${span}\\.
0 records\\. Searched 34 files \\(1\\.2 kB\\); 28 could be ruled out\\.
Nothing found\\. Searched from ${span}\\. New events take about 10 s to arrive\\.
Search again with the last day \\(--since 24h\\)\\.
A record must have all words of a search\\. Fewer words may find more\\.
$`,
    ),
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
  expect(errors).toMatch(/Nothing found\. Searched from \d{4}-\d\d-\d\d \d\d:\d\d to .* UTC\. New/);
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
    { type: "groups", rows, at: cursor === null ? null : "1970-01-01T00:05:00.000Z" },
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
  const { out, errors, code, asked } = await search([...COUNT, "declined"], { body });
  expect(out).toBe(`time              status  count  p95:took
1970-01-01 00:00  200         3     30 ms
1970-01-01 00:00  404         1     64 ms
1970-01-01 00:00  500         1      7 ms
`);
  expect(errors).toMatch(/\n5 records\. Searched 2 files \(\d+ B\)\.\n$/);
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
  expect(code).toBe(2);
  expect(errors).toContain(
    "\nPartial: 3 records so far; complete from 1970-01-01 00:05:00 UTC on. Searched 1 file (0 B).\n",
  );
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

it("names what is not searched for one reason together, over all answers, and once", async () => {
  const gone = (...objects: number[]) => ({ what: "…", why: "it is not there", job: 3, objects });
  const silent = (job: number) => ({ what: `job ${job}`, why: "its log does not answer: search again", job });
  const end = (cursor: string | null, ...not_searched: object[]) =>
    linesOf({ type: "end", complete: cursor === null, cursor, not_searched });
  const body = [
    end("a", gone(1, 2), silent(4), { what: "object 9 of job 8", why: "of an earlier release" }),
    end("b", gone(2, 3), silent(4), { ...gone(7), job: 5 }),
    end(null, gone(...Array.from({ length: 9 }, (_, i) => i + 4)), silent(6)),
  ];
  const { errors, code } = await search(["x"], { body });
  expect(code).toBe(2);
  expect(errors.split("\n").filter((line) => line.startsWith("Not searched"))).toEqual([
    "Not searched: 12 objects of job 3 (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …), object 7 of job 5: it is not there",
    "Not searched: jobs 4, 6: its log does not answer: search again",
    "Not searched: object 9 of job 8: of an earlier release",
  ]);
});

it("points at the place of a fault, and offers the words as a phrase for a shell", async () => {
  const errors = [
    { code: 1004, message: `query, character 10: no\n${STEERING}`, source: { pointer: "/query", at: 9 } },
  ];
  const query = "it's \t\u001ba \"b";
  const { out, errors: said, code } = await search([query], { status: 400, body: JSON.stringify({ errors }) });
  expect([out, code]).toEqual(["", 2]);
  expect(said.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  expect(said.split("\n").slice(2)).toEqual([
    "  it's ␛a \"b",
    "          ^",
    `Search for it as a phrase: npm run search -- '"it'\\''s ␛a \\"b"'`,
    "",
  ]);
});

it("takes a word with a dash for a part of the query, in its place", async () => {
  const { asked } = await search(["a", "OR", "-b", "--since", "1h", "-status:200"], { body: NOTHING });
  expect(String(asked[0]?.body.query).replace(/ +/g, " ")).toBe("a OR -b -status:200");
});

it("asks for what failed as the page does, beside a filter", async () => {
  const filter = '{"where":{"key":"EventType","operator":"eq","value":"fetch"}}';
  const { asked } = await search(["--outcome", "failed", "--function", "a", "--filter", filter], { body: NOTHING });
  const all = askedOf(new URLSearchParams({ outcome: "failed", function: "a", filter }));
  expect(asked[0]?.body.filter).toBe(questionOf(all ?? expect.unreachable(), 0).filter);
  const { asked: not } = await search(["--outcome", "!ok", "--filter", "{"], { body: NOTHING });
  expect(not[0]?.body.filter).toBe("{");
});

it("ends without a word when its reader has what it wants", async () => {
  const hit = { type: "hit", job_id: 1, object: 1, line: 1, record: { ScriptName: "x".repeat(1_000) } };
  const body = linesOf(...Array.from({ length: 1_000 }, () => hit)) + NOTHING;
  const { errors, code } = await search(["x"], { body }, {}, (child) =>
    child.stdout.once("data", () => child.stdout.destroy()),
  );
  expect([code, errors]).toEqual([0, expect.stringMatching(/^Searching \S+ from .*\.\n$/)]);
});

it("stops counting at Ctrl-C, with what is counted so far, and says how far that is", async () => {
  // The second answer does not end.
  const body = [
    countedOn(
      [
        [200, 10],
        [500, 7],
      ],
      "more",
    ),
    linesOf({ type: "progress", objects: 9, read: 2, skipped: 1 }),
  ];
  const begun = Promise.withResolvers<void>();
  const { out, errors, code } = await search(COUNT, { body, isOpen: 2, told: begun.resolve }, {}, (child) => {
    void begun.promise.then(() => child.kill("SIGINT"));
  });
  expect(out).toBe(`time              status  count  p95:took
1970-01-01 00:00  200         1     10 ms
1970-01-01 00:00  500         1      7 ms
`);
  expect(code).toBe(2);
  expect(errors).toMatch(/\nPartial: 2 records so far; complete from 1970-01-01 00:05:00 UTC on\. Searched .*\n$/);
});

it("shows its options, and colours nothing where no terminal is", async () => {
  const { out, errors, code, asked } = await search(["--help"], { body: NOTHING });
  expect([code, errors, asked]).toEqual([0, "", []]);
  expect(out).toMatch(/^usage: npm run search -- /);
  for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(110);
  const options = [...out.matchAll(/^ {2}(--\S+).*$/gm)].map(([, name]) => name);
  expect(options).toEqual(expect.arrayContaining(["--since", "--outcome", "--by", "--measure", "--once", "--help"]));
  expect(new Set([...out.matchAll(/^ {2}--\S+(?: <[^>]*>)? +/gm)].map(([start]) => start.length)).size).toBe(1);
  for (const args of [["x"], COUNT]) {
    const { out, errors } = await search(args, { body: args === COUNT ? countedOn([[200, 1]], null) : NOTHING });
    expect(`${out}${errors}`).not.toContain("\u001b");
  }
});
