/** What people paste: a record that has it is found, whatever objects or lines are passed over. */
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { readQuery } from "../../../src/formats/query/meaning.ts";
import { wantedIn } from "../../../src/formats/query/prune.ts";
import { HashSet } from "../../../src/formats/sketch/hash-set.ts";
import { fold, hashJson } from "../../../src/formats/sketch/terms.ts";
import { ALL, heldBy } from "../../../src/formats/sketch/wanted.ts";

const RECORD = {
  Event: { Request: { URL: "https://shop.example/", Method: "GET" }, Response: { Status: 200 } },
  EventTimestampMs: 5,
  Exceptions: [],
  Logs: [],
  Outcome: "ok",
  ScriptName: "shop",
};

/** Whether a search finds it: "found", "not found", "refused", or what hides it. */
function outcomeOf(query: string, record: object): string {
  const read = readQuery(query);
  if (!read.ok) return "refused";
  const all = read.question === null ? [] : [read.question];
  const { matches, foldedPart, needed } = compileQuery({ all, sinceMs: 0, untilMs: 10 });
  const line = JSON.stringify(record);
  if (!matches(JSON.parse(line))) return "not found";
  if (!fold(line).includes(foldedPart)) return `hidden: no ${foldedPart}`;
  const words = new HashSet();
  hashJson(encodeUtf8(line), words);
  const held = new Set(words.all());
  const wanted = wantedIn(needed);
  const isHeld = wanted === null || heldBy(wanted, (hash) => (held.has(hash) ? ALL : 0n)) === ALL;
  return isHeld ? "found" : "hidden by its sketch";
}

const logging = (...messages: string[]) => ({ ...RECORD, Logs: [{ Level: "log", Message: messages }] });

/** Texts that stand in a record as they are pasted. */
const TEXTS = [
  ...["https://api.shop.example:8443/v1/pay?x=1&y=a%20b#top", "http://[2001:db8::1]:8080/x?y", "localhost:8787"],
  ...["localhost:3000/path", "shop.example:8080/checkout", "redis:6379", "fe80::1%eth0", "cloudflare:workers"],
  ...["at worker.js:120", "at handle (worker.js:120:15)", "at async Object.fetch (file:///srv/index.js:1:2345)"],
  ...["at Module._compile (node:internal/modules/cjs/loader:1256:14)", "at n.t [as fetch] (index.js:1:23456)"],
  ...["at eval (eval at <anonymous> (file.js:1:1), <anonymous>:1:1)", "e@https://x.example/a.js:1:2", "node:fs"],
  ...["D1_ERROR: UNIQUE constraint failed: users.email: SQLITE_CONSTRAINT", 'near "FROM": syntax error'],
  ...['duplicate key violates "users_email_key"', "DETAIL:  Key (email)=(a@b.c) already exists.", "Error:boom"],
  ...["SELECT * FROM users WHERE id = 'x' AND n > 5", "INSERT INTO t (a, b) VALUES (1, 2)", "SELECT count(*) FROM t"],
  ...['request failed: {"error": "boom", "code": 3}', 'payload {"a": 1, "b": "x y"} done', '"customer": 4711,'],
  ...['"status": 503', '"status":"failed"', '"level": "warn", "x": 1', '{"a":1}, {"b":[1,2]}', '["a", "b"]'],
  ...['"say \\"hi\\" now"', '"C:\\\\dir"', "C:\\Users\\x\\file.txt", "\\\\server\\share", "{'a': 1, 'b': 'x y'}"],
  ...["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "urn:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "sha256:9f86d08188"],
  ...["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1", "data:image/png;base64,iVBORw0KGgo=", "<alice@shop.example>"],
  ...["mailto:alice+x@shop.example", "arn:aws:s3:::bucket/key", "s3://bucket/key", "npm:foo@1.2.3", "user:42"],
  ...["2026-11-28T10:15:30.123+02:00", "T10:15", "[28/Nov/2026:10:15:30 +0000]", "Sat, 28 Nov 2026 10:15:30 GMT"],
  ...["[error] 5/10 failed", 'level=error msg="card declined" n=5', "a && b || c", "x => y", "foo(bar", "() => {}"],
  ...['"GET /x HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11; Linux)"', "npm run build -- --watch", "**bold** a*b"],
  ...[
    "決済が拒否されました",
    "エラー：タイムアウト",
    "🔥 deploy failed",
    "“card declined”",
    "5:30\u202fPM",
    "naïve—text…",
  ],
];

describe("a text that is pasted", () => {
  it.each(TEXTS)("%s finds the record that has it, or is refused", (text) => {
    const within = logging(`before: ${text} after`);
    const thrown = { ...RECORD, Exceptions: [{ name: "Error", message: text }] };
    const outcomes = [logging(text), within, thrown].map((record) => outcomeOf(text, record));
    expect(["found", "refused"]).toContain(outcomes[0]);
    expect(outcomes).toEqual(outcomes.map(() => outcomes[0]));
    expect(outcomeOf(text, logging("something else"))).not.toBe("found");
  });

  it.each([
    ...[
      '{"customer":4711,"level":"error"}',
      '{"customer": 4711, "plan": "gold"}',
      '{\n  "a": 1,\n  "b": {"c": [1, "x"]}\n}',
    ],
    ...['{"status":"failed","Message":"boom","ok":false}', '{"text": "a\\nb", "quoted": "say \\"hi\\"", "of": 1.50}'],
    ...['{"a":null,"b":"","c":"é 😀"}', '{"__proto__": "x", "constructor": 1}'],
  ])("%s finds the object that was logged, in whatever form", (text) => {
    const json = JSON.stringify(JSON.parse(text));
    const row = { ...RECORD, Logs: undefined, Level: "log", Message: "", Fields: JSON.parse(text) };
    expect([logging(json), logging(`it is ${text}`), row].map((record) => outcomeOf(text, record))).toEqual(
      Array(3).fill("found"),
    );
    expect(outcomeOf(text, logging('{"customer":4712}'))).toBe("not found");
  });

  it.each([
    '"plan": "gold",',
    '"plan":"gold"}',
    '{"plan": "gold", "n": 1',
    '"level": "warn"',
    '"n": 1.0, "plan": "gold"',
  ])("%s, a part of an object, finds it", (text) => {
    const fields = { plan: "gold", n: 1, level: "warn" };
    const row = { ...RECORD, Level: "log", Message: "", Fields: fields };
    const records = [row, logging(JSON.stringify(fields)), logging("an object:", JSON.stringify(fields, null, 2))];
    expect(records.map((record) => outcomeOf(text, record))).toEqual(Array(3).fill("found"));
  });
});

describe("a word", () => {
  it.each([
    ["timeout", "timeout… again"],
    ["declined", "“card declined”"],
    ["bar", "foo—bar"],
    ["5:30", "5:30\u202fPM"],
    ["done", "✅done"],
    ["error", "⚠️error"],
    ["拒否", "決済が拒否されました。"],
    ["API", "API障害が発生"],
    ["タイムアウト", "エラー：タイムアウト"],
    ["𝒳", "a𝒳b"],
  ])("%s is found in %s", (word, text) => expect(outcomeOf(word, logging(text))).toBe("found"));

  it.each([
    ["na", "naïve"],
    ["stra", "Straße"],
    ["привет", "приветствие"],
    ["결제", "결제가"],
  ])("%s is none of %s", (word, text) => expect(outcomeOf(word, logging(text))).toBe("not found"));
});

describe("an object that another writer logged", () => {
  // As Go, .NET and PHP write what may not stand in HTML.
  const escaped = '{"url":"a?x=1\\u0026y=2","tag":"\\u003cb\\u003e","who":"o\\u0027hara","path":"\\/pay"}';

  it.each(['url:"a?x=1&y=2"', "url:*y=2", 'tag:"<b>"', "who:o'hara", "who:*hara", "Fields.path:/pay"])(
    "is found by %s",
    (query) => expect(outcomeOf(query, logging(escaped))).toBe("found"),
  );
});

describe("a time", () => {
  it.each(["took:>=0.07s", "took:<=0.07s", "took:70ms", "took:0.07s", "cpu:>=0.0011s"])("%s is exact", (query) =>
    expect(outcomeOf(query, { ...RECORD, WallTimeMs: 70, CPUTimeMs: 1.1 })).toBe("found"),
  );
});
