/** What each receiver of alerts gets, of a function whose name is all that a chat could obey. */
import { describe, expect, it } from "vitest";
import {
  type Address,
  FORMAT,
  FORMATS,
  type FormatName,
  type Mail,
  type Post,
  readCall,
} from "../../../src/operate/alerts/alert-formats.ts";
import { type CallBody, callBody, joinedCall, testBody } from "../../../src/operate/alerts/call-body.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { finding } from "../status/findings.ts";

const ORIGIN = "https://logship.example.com";

const HOSTILE = "@everyone <!channel> [pay](https://evil.example) *b* `c` ||s|| <@1>\r\nBcc: x@evil.example\u202e";

const TO: Readonly<Record<FormatName, Address>> = {
  slack: { url: "https://hooks.slack.com/services/T0/B0/X", secret: "" },
  discord: { url: "https://discord.com/api/webhooks/1/x", secret: "" },
  pagerduty: { url: "https://events.pagerduty.com/v2/enqueue", secret: "k".repeat(32) },
  opsgenie: { url: "https://api.opsgenie.com/v2/alerts", secret: "key-of-opsgenie-1" },
  email: { url: "on-call@example.com", secret: "" },
};

function incident(name = "checkout", severity: "error" | "warning" = "error") {
  const about = finding({
    kind: "function_failing",
    severity,
    subject: { type: "function", name },
    summary: `"${name}": 25 % of requests fail.`,
    advice: "Look at its errors.",
  });
  const times = { sinceMs: NOON, firstSeenMs: NOON, openedMs: NOON };
  return { id: "inc_1", finding: about, ...times, well: null, flaps: 0 };
}

const opened = (name?: string, severity?: "error" | "warning") =>
  readCall(callBody(incident(name, severity), null, NOON, null));
const over = () => readCall(callBody(incident(), { overMs: NOON + 180_000 }, NOON, null));

/** Of a job with this name, with a link. */
const parked = (jobName?: string, type: "opened" | "over" = "opened", affected = 1_234): CallBody => {
  const about = finding({
    kind: "parked",
    summary: "Delivery of job 1 is paused: the destination answers HTTP 403.",
    affected: { count: affected, what: "records" },
    ...(jobName !== undefined && { jobName }),
  });
  const end = type === "over" ? { overMs: NOON + 180_000 } : null;
  return readCall(callBody({ ...incident(), finding: about }, end, NOON, ORIGIN));
};

const posts = (written: readonly Post[] | Mail): readonly Post[] => written as readonly Post[];
const bodies = (format: FormatName, call = opened()) =>
  posts(FORMAT[format].write(call, TO[format])).map(({ body }) => JSON.parse(body));

describe.each(FORMATS.filter((format) => format !== "email"))("%s", (format) => {
  it("is JSON over HTTP to its address, with its key where that belongs", () => {
    for (const { url, headers, body } of posts(FORMAT[format].write(opened(), TO[format]))) {
      expect(url.startsWith(TO[format].url)).toBe(true);
      expect(headers["Content-Type"]).toBe("application/json");
      const { secret } = TO[format];
      if (secret !== "") expect(`${headers.Authorization} ${body}`).toContain(secret);
    }
  });

  it.each([
    ["function", () => opened(HOSTILE)],
    ["job", () => parked(HOSTILE)],
    ["job, at the end", () => parked(HOSTILE, "over")],
  ])("mentions no user, formats nothing and links nowhere else, whatever the name of a %s", (_what, call) => {
    const [body] = bodies(format, call());
    const text = JSON.stringify(body);
    expect(text).not.toContain("https://evil");
    expect(text).not.toMatch(/[\u202e\r]|\\r|\\u202e/);
    if (format === "slack") {
      expect(body.text).not.toMatch(/<[!@#]|@(?:everyone|all|here)|\]\(/);
      expect(body.text.match(/[<>|]/g) ?? []).toEqual(call().data.url === undefined ? [] : ["<", "|", ">"]);
      // A link of a rich text is a text, too.
      for (const { type, text, elements } of body.blocks)
        if (type === "rich_text")
          expect(elements[0].elements).toMatchObject([{ type: "link", url: `${ORIGIN}/jobs/1` }]);
        else expect(text.type).toBe("plain_text");
    }
    if (format === "discord") {
      expect(body.allowed_mentions).toEqual({ parse: [] });
      const [{ title, description }] = body.embeds;
      for (const each of [title, description]) expect(each).not.toMatch(/@everyone|@here|<@[!&\d]|(?<!\\)[*`|[]/);
    }
  });

  it("keeps the name of a job short, and the amount and the end readable", () => {
    const texts = JSON.stringify(bodies(format, parked(`${"é".repeat(5_000)}`)));
    expect(texts).toContain("é".repeat(50));
    expect(texts).not.toContain("é".repeat(121));
    expect(texts.length).toBeLessThan(2_500);
  });

  it("keeps to the receiver's limits with the longest names", () => {
    const [body] = bodies(format, opened("é".repeat(5_000)));
    const longest = { slack: 3_000, discord: 4_096, pagerduty: 1_024, opsgenie: 15_000 }[format as "slack"];
    const texts: string[] = [];
    JSON.stringify(body, (_key, value) => {
      if (typeof value === "string") texts.push(value);
      return value;
    });
    expect(Math.max(...texts.map((text) => [...text].length))).toBeLessThanOrEqual(Math.max(longest, 2_000));
    if (format === "pagerduty") expect([...body.payload.summary].length).toBe(1_024);
    if (format === "opsgenie") expect([...body.message].length).toBe(130);
    if (format === "slack") expect([...body.blocks[0].text.text].length).toBe(150);
    if (format === "discord") expect([...body.embeds[0].title].length).toBeLessThanOrEqual(256);
  });
});

it("joins the calls of an incident at a pager, by severity, and takes a test back", () => {
  expect(bodies("pagerduty")).toMatchObject([
    { event_action: "trigger", dedup_key: "inc_1", payload: { severity: "error", component: "Worker checkout" } },
  ]);
  expect(bodies("pagerduty", opened("a", "warning"))).toMatchObject([{ payload: { severity: "warning" } }]);
  expect(bodies("pagerduty", over())).toEqual([
    { routing_key: TO.pagerduty.secret, event_action: "resolve", dedup_key: "inc_1" },
  ]);
  const test = readCall(testBody(NOON, null));
  expect(bodies("pagerduty", test).map(({ event_action }) => event_action)).toEqual(["trigger", "resolve"]);
  expect(bodies("opsgenie")).toMatchObject([{ alias: "inc_1", priority: "P2" }]);
  const closing = posts(FORMAT.opsgenie.write(over(), TO.opsgenie));
  expect(closing.map(({ url }) => url)).toEqual([
    "https://api.opsgenie.com/v2/alerts/inc_1/close?identifierType=alias",
  ]);
  expect(bodies("opsgenie", test)).toHaveLength(2);
});

it("is an e-mail in plain text, whose subject is one line", () => {
  const mail = FORMAT.email.write(opened(HOSTILE), TO.email) as Mail;
  expect(mail.to).toBe("on-call@example.com");
  expect(mail.subject).toMatch(/^logship: Error: [^\r\n]*$/);
  expect(mail.text).toContain("Look at its errors.");
  expect((FORMAT.email.write(over(), TO.email) as Mail).subject).toBe(
    "logship: Over: Worker checkout: failing, 12:00 to 12:03 UTC (3 min).",
  );
  const named = FORMAT.email.write(parked(HOSTILE), TO.email) as Mail;
  expect(named.subject).toMatch(/^logship: Error: Delivery of job 1 \(@everyone [^\r\n\u202e]*$/);
  expect(named.text.endsWith(`\n\n${ORIGIN}/jobs/1\n`)).toBe(true);
});

describe("a message about a job", () => {
  const mail = (call: CallBody): Mail => FORMAT.email.write(call, TO.email) as Mail;

  it("has its name beside its number, how much waits, and how long it lasted", () => {
    expect(mail(parked("orders to archive")).text.split("\n\n")).toEqual([
      "Error: Delivery of job 1 (orders to archive) is paused: the destination answers HTTP 403.",
      "About: job 1, orders to archive. Since 2100-11-20 12:00:00 UTC.",
      "1,234 records wait.",
      "Look at the store.",
      `${ORIGIN}/jobs/1\n`,
    ]);
    expect(mail(parked(undefined, "opened", 1)).text).toContain("\n\n1 record waits.\n\n");
    expect(mail(parked(undefined, "opened", 0)).text).not.toContain("record");
    expect(mail(parked("orders to archive", "over")).subject).toBe(
      "logship: Over: job 1, orders to archive: delivery paused, 12:00 to 12:03 UTC (3 min).",
    );
  });

  it("leads to its page, by each receiver's own means", () => {
    const url = `${ORIGIN}/jobs/1`;
    expect(bodies("slack", parked("a"))[0].text).toBe(
      `<${url}|Error: Delivery of job 1 (a) is paused: the destination answers HTTP 403.>`,
    );
    expect(bodies("discord", parked("a"))).toMatchObject([{ embeds: [{ url }] }]);
    expect(bodies("pagerduty", parked("a"))).toMatchObject([
      { client_url: url, links: [{ href: url }], payload: { source: "logship.example.com", component: "job 1, a" } },
    ]);
    expect(bodies("opsgenie", parked("a"))).toMatchObject([
      { source: "logship.example.com", details: { url, job: "a", records: "1234" } },
    ]);
    expect(bodies("slack", opened())[0].blocks[0].type).toBe("header");
  });

  it("leads to its problem and its first record, by each receiver's own means, and names the version", () => {
    const links = {
      problem: "0123456789abcdef",
      firstRecord: { script: HOSTILE, atMs: NOON + 7, rayId: "8f3c2a1b9d4e5f60" },
      version: `v42 ${HOSTILE}`,
    };
    const about = finding({ subject: { type: "search", id: 7, name: HOSTILE }, links });
    const raw = callBody({ ...incident(), finding: about }, null, NOON, ORIGIN);
    const call = readCall(raw);
    const { problem = "", first_record = "" } = call.data.links ?? {};
    expect(problem).toBe(`${ORIGIN}/problems/0123456789abcdef`);
    expect(Object.fromEntries(new URL(first_record).searchParams)).toEqual({
      ...{ q: 'ray:"8f3c2a1b9d4e5f60"', function: HOSTILE, last: "own" },
      ...{ since: "2100-11-20 12:00:00.007 UTC", until: "2100-11-20 12:00:00.008 UTC" },
    });
    expect(first_record).not.toMatch(/[<>|()\s*`[\]]/);
    const { blocks, text } = bodies("slack", call)[0];
    expect([text, blocks.at(-1).text.text]).toEqual([
      expect.stringContaining(` \u00b7 <${problem}|Problem> \u00b7 <${first_record}|First record>`),
      `<${first_record}|First record>`,
    ]);
    const { description } = bodies("discord", call)[0].embeds[0];
    expect(description.endsWith(`\n[Problem](${problem})\n[First record](${first_record})`)).toBe(true);
    expect([...description].length).toBeLessThanOrEqual(4_096);
    expect(bodies("pagerduty", call)[0].links.map(({ href }: { href: string }) => href)).toEqual([
      ...[`${ORIGIN}/searches/7`, problem, first_record],
    ]);
    expect(bodies("opsgenie", call)[0].details).toMatchObject({ Problem: problem, version: call.data.version });
    expect(mail(call).text).toContain(
      `\n\nProblem: ${problem}\n\nFirst record: ${first_record}\n\n${ORIGIN}/searches/7\n`,
    );
    expect(mail(call).text).toMatch(/\n\nVersion: v42 [^\r\n\u202e]*\.\n/);
    const unknown = readCall(callBody({ ...incident(), finding: about }, null, NOON, null));
    expect([unknown.data.links, unknown.data.version]).toEqual([undefined, call.data.version]);
    const failing = {
      ...about,
      kind: "function_failing",
      links: { firstRecord: { ...links.firstRecord, rayId: null } },
    };
    const { links: of } = readCall(callBody({ ...incident(), finding: failing }, null, NOON, ORIGIN)).data;
    expect(Object.fromEntries(new URL(of?.first_record ?? "").searchParams)).toMatchObject({
      ...{ outcome: "failed", order: "oldest", until: "2100-11-20 12:01:00.007 UTC" },
    });
  });

  it("that tells of several has how many more in its head, each in a line, and what is not listed as a number", () => {
    const calls = Array.from({ length: 14 }, (_, n) => {
      const about = finding({
        subject: { type: "job", id: n },
        severity: n === 9 ? "error" : "warning",
        summary: `Job ${n} fails.`,
      });
      const jobName = n === 3 ? HOSTILE : "";
      const body = callBody({ ...incident(), id: `inc_${n}`, finding: { ...about, jobName } }, null, NOON, ORIGIN);
      return { id: `inc_${n}_opened`, body };
    });
    const call = readCall(joinedCall(calls).body);
    const { subject, text } = mail(call);
    expect(subject).toBe("logship: Error: Job 9 () fails. And 13 more.");
    const lines = text.split("\n\n");
    expect(lines).toContain("13 more:");
    expect(lines).toContain("Warning: Job 0 () fails.");
    expect(lines).toContain("And 3 that are not listed.");
    for (const format of FORMATS)
      expect(JSON.stringify(FORMAT[format].write(call, TO[format]))).not.toContain("https://evil");
    const over = { ...call, type: "incident.over" as const };
    expect(mail(over).text).toContain("\n\nOver: job 0, : failing.\n\n");
    // In any order the same message, and another one with another incident.
    expect(joinedCall(calls.slice(0, 1))).toEqual(calls[0]);
    expect(joinedCall(calls).id).toMatch(/^inc_9_opened_and_[0-9a-f]+$/);
    expect(joinedCall(calls.slice(1)).id).not.toBe(joinedCall(calls).id);
  });

  it("without name and link is written all the same", () => {
    const { url: _url, job_name: _name, affected: _affected, ...data } = parked("a").data;
    for (const format of FORMATS)
      expect(JSON.stringify(FORMAT[format].write({ ...parked(), data }, TO[format]))).toContain("is paused");
  });
});
