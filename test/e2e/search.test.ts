/**
 * `npm run search` against a running service: what people on call type and paste, each as an
 * argument of the real command. What it says is what the page Search says of the same records.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../../tools/paths.ts";
import { until } from "../../tools/until.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

let shipper: IsolatedShipper;

/** The beginning of a slot of five minutes, some minutes ago. */
const SLOT_MS = 300_000;
const AT = Math.floor((Date.now() - 2 * SLOT_MS) / SLOT_MS) * SLOT_MS;

interface Made {
  name: string;
  url: string;
  status: number;
  ray: string;
  logs: readonly (readonly [level: string, ...message: unknown[]])[];
}

const STACK = "at charge (checkout.js:212:11)";

/** Each has much in common with the others. */
const RECORDS: readonly Made[] = [
  {
    ...{ name: "refused", url: "https://shop.example/checkout/77?step=pay", status: 503, ray: "8f14e45fceea167a" },
    logs: [
      ["error", `PaymentError: card declined by bank\n    ${STACK}`],
      ["log", { customer: 4711, note: "late" }],
    ],
  },
  {
    ...{ name: "expired", url: "https://shop.example/checkout/78", status: 500, ray: "8f14e45fceea167b" },
    logs: [
      ["log", "declined: card expired, note late, customer 4711"],
      ["log", { customer: 47110, note: "late" }, "at charge (checkout.js:213:11)"],
    ],
  },
  {
    ...{ name: "accepted", url: "https://shop.example/basket/77?step=pay", status: 200, ray: "8f14e45fceea167c" },
    logs: [["warn", "card 4711 accepted by bank, after an error"]],
  },
  {
    ...{ name: "slow", url: "https://shop.example/checkout/77", status: 200, ray: "8f14e45fceea167d" },
    logs: [["log", { customer: { id: 4711 }, note: "late" }]],
  },
];

beforeAll(async () => {
  shipper = await IsolatedShipper.start();
  const { api } = shipper;
  const { id } = await api.createJob(jobInto("searched"));
  await api.postEvents(RECORDS.map(eventOf));
  await until({
    what: "all to be received",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => api.jobLedger(id),
    enough: ({ received }) => received === RECORDS.length,
  });
  // Where it is does not change while the tests run.
  await api.flush(id);
  await until({
    what: "the object to be delivered",
    withinMs: RECEIVED_WITHIN_MS,
    look: () => api.objects(id),
    enough: (objects) => objects.some(({ state }) => state === "delivered"),
  });
}, 180_000);
afterAll(() => shipper[Symbol.asyncDispose]());

function eventOf({ name, url, status, ray, logs }: Made, i: number): object {
  const timestamp = AT + i * 1_000;
  return {
    scriptName: name,
    outcome: i === 0 ? "exception" : "ok",
    eventTimestamp: timestamp,
    event: { request: { url, method: "GET", headers: { "cf-ray": `${ray}-FRA` } }, response: { status } },
    wallTime: 1_250,
    logs: logs.map(([level, ...message]) => ({ level, message, timestamp })),
    exceptions: i === 0 ? [{ name: "PaymentError", message: "no", timestamp }] : [],
  };
}

/** Runs the command, for the hour of the records. */
async function search(...args: readonly string[]) {
  const child = spawn(process.execPath, [join(ROOT, "tools/search.ts"), "--since", "1h", ...args], {
    env: { ...process.env, API: shipper.url, TOKEN: shipper.token },
  });
  const [out, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { out, errors, code };
}

describe("what is typed or pasted finds its record, and none else", () => {
  it.each([
    ["two words", ["declined bank"], "refused"],
    ["two arguments", ["bank", "declined"], "refused"],
    ["a phrase", ['"card declined"'], "refused"],
    ["a level", ["level:error"], "refused"],
    ["a field of a logged object", ["customer:4711"], "refused"],
    ["a path", ["path:/basket/*"], "accepted"],
    ["a pasted URL", ["https://shop.example/checkout/77?step=pay"], "refused"],
    ["a pasted stack line", [`    ${STACK}`], "refused"],
    ["a pasted JSON line", ['{"customer":4711,"note":"late"}'], "refused"],
    ["a pasted ray id", ["8f14e45fceea167a"], "refused"],
    ["a ray id of the header", ["ray", "8f14e45fceea167b-FRA"], "expired"],
    ["what failed, but for an outcome", ["--outcome", "failed", "-outcome:exception"], "expired"],
  ])("%s: %j", async (_what, args, name) => {
    const { out, errors, code } = await search(...args, "--json");
    const found = out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { ScriptName: string }).ScriptName);
    expect([found, code]).toEqual([[name], 0]);
    expect(errors).toMatch(/^1 record\. Searched 1 file \(/m);
  });
});

/** The page Search, as text, for the same hour. */
async function page(query: string): Promise<string> {
  const form = { method: "POST", redirect: "manual", body: new URLSearchParams({ token: shipper.token }) } as const;
  const headers = { origin: shipper.url, "sec-fetch-site": "same-origin" };
  const { headers: answer } = await fetch(`${shipper.url}/sign-in`, { ...form, headers });
  const cookie = (answer.get("set-cookie") ?? "").split(";")[0] ?? "";
  const shown = await fetch(`${shipper.url}/search?last=1h&${query}`, { headers: { cookie } });
  return (await shown.text())
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&#39;", "'")
    .replace(/\s+/g, " ");
}

describe("the terminal says what the page says", () => {
  it("of a record: its time, how long it took, and where it is", async () => {
    const [{ out, errors }, shown] = await Promise.all([search("declined bank"), page("q=declined+bank")]);
    const time = new Date(AT).toISOString().slice(0, 23).replace("T", " ");
    const [place = "nothing"] = /Object 1 of job 1, line \d/.exec(out) ?? [];
    expect(out).toBe(
      `${time}  503 exception  refused  1.25 s  GET /checkout/77?step=pay  shop.example  (${place})\n${"".padEnd(25)}PaymentError: no +2\n`,
    );
    for (const words of [time.slice(5), "1.25 s", place, "PaymentError: no +2"]) expect(shown).toContain(words);
    const [said = "nothing"] = /^1 record\. Searched.*$/m.exec(errors) ?? [];
    expect(shown).toContain(said);
  });

  it("of nothing that was found, and of what may find more", async () => {
    const [{ errors, code }, shown] = await Promise.all([
      search("nowhere", "--function", "slow"),
      page("q=nowhere&function=slow"),
    ]);
    expect(code).toBe(1);
    expect(errors).toMatch(
      /^Nothing found\. Searched from \S+ \d\d:\d\d to .*UTC\. New events take about 10 s to arrive\.$/m,
    );
    expect(errors).toContain("\nSearch again with the last day (--since 24h), all Workers (without --function).\n");
    for (const words of ["Nothing found", "New events take about 10 s to arrive.", "the last day", "all Workers"])
      expect(shown).toContain(words);
    for (const line of ["A record must have all words of a search. Fewer words may find more."]) {
      expect(errors).toContain(line);
      expect(shown).toContain(line);
    }
  });

  it("of a fault: its place, and the phrase, which finds", async () => {
    const [{ out, errors, code }, shown] = await Promise.all([
      search('card "declined by'),
      page(`q=${encodeURIComponent('card "declined by')}`),
    ]);
    expect([out, code]).toEqual(["", 2]);
    const [, message = "nothing", query, caret] =
      /^The search was refused: HTTP 400: (.*)\n {2}(.*)\n {2}( *\^)$/m.exec(errors) ?? [];
    expect([query, caret]).toEqual(['card "declined by', "     ^"]);
    for (const words of ["The search was refused", message, "Search for it as a phrase"])
      expect(shown).toContain(words);
    const [, quoted = ""] = /npm run search -- '(.*)'$/m.exec(errors) ?? [];
    expect(quoted).toBe('"card \\"declined by"');
    expect((await search(quoted)).code).toBe(1);
  });

  it("of a count: as many records, by their statuses", async () => {
    const [{ out, errors, code }, shown] = await Promise.all([search("--by", "status", "--every", "5m"), page("q=")]);
    const time = new Date(AT).toISOString().slice(0, 16).replace("T", " ");
    expect(out).toBe(
      `time              status  count\n${time}  200         2\n${time}  500         1\n${time}  503         1\n`,
    );
    expect(code).toBe(0);
    const [said = "nothing"] = /^4 records\./m.exec(errors) ?? [];
    expect(shown).toContain(said);
    const { out: table } = await search("--by", "status", "--measure", "count,p95:took,sum:took,distinct:ray");
    expect(table).toMatch(/^503 +1 +1\.2\d s +1,250 ms +1$/m);
  });
});
