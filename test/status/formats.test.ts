/** What each receiver of alerts gets, of a function whose name is all that a chat could obey. */
import { describe, expect, it } from "vitest";
import { callBody, testBody } from "../../src/status/call-body.ts";
import {
  type Address,
  FORMAT,
  FORMATS,
  type FormatName,
  type Mail,
  type Post,
  readCall,
} from "../../src/status/formats.ts";
import { NOON } from "../support/runtime/pipeline.ts";
import { finding } from "./findings.ts";

const HOSTILE = "@everyone <!channel> [pay](https://evil.example) *b* `c` ||s|| <@1>\r\nBcc: x@evil.example\u202e";

const TO: Readonly<Record<FormatName, Address>> = {
  slack: { url: "https://hooks.slack.com/services/T0/B0/X", key: "" },
  discord: { url: "https://discord.com/api/webhooks/1/x", key: "" },
  pagerduty: { url: "https://events.pagerduty.com/v2/enqueue", key: "k".repeat(32) },
  opsgenie: { url: "https://api.opsgenie.com/v2/alerts", key: "key-of-opsgenie-1" },
  email: { url: "on-call@example.com", key: "" },
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
  readCall(callBody(incident(name, severity), null, NOON));
const over = () => readCall(callBody(incident(), { overMs: NOON }, NOON));

const posts = (written: readonly Post[] | Mail): readonly Post[] => written as readonly Post[];
const bodies = (format: FormatName, call = opened()) =>
  posts(FORMAT[format].write(call, TO[format])).map(({ body }) => JSON.parse(body));

describe.each(FORMATS.filter((format) => format !== "email"))("%s", (format) => {
  it("is JSON over HTTP to its address, with its key where that belongs", () => {
    for (const { url, headers, body } of posts(FORMAT[format].write(opened(), TO[format]))) {
      expect(url.startsWith(TO[format].url)).toBe(true);
      expect(headers["Content-Type"]).toBe("application/json");
      const { key } = TO[format];
      if (key !== "") expect(`${headers.Authorization} ${body}`).toContain(key);
    }
  });

  it("mentions no user, formats nothing and links nowhere, whatever the name of a function", () => {
    const [body] = bodies(format, opened(HOSTILE));
    const text = JSON.stringify(body);
    expect(text).not.toContain("https://evil");
    expect(text).not.toMatch(/[\u202e\r]|\\r|\\u202e/);
    if (format === "slack") {
      expect(body.text).not.toMatch(/<[!@#]/);
      for (const block of body.blocks) expect(block.text.type).toBe("plain_text");
    }
    if (format === "discord") {
      expect(body.allowed_mentions).toEqual({ parse: [] });
      const [{ title, description }] = body.embeds;
      for (const each of [title, description]) expect(each).not.toMatch(/@everyone|@here|<@[!&\d]|(?<!\\)[*`|[]/);
    }
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
    { event_action: "trigger", dedup_key: "inc_1", payload: { severity: "error", component: "function checkout" } },
  ]);
  expect(bodies("pagerduty", opened("a", "warning"))).toMatchObject([{ payload: { severity: "warning" } }]);
  expect(bodies("pagerduty", over())).toEqual([
    { routing_key: TO.pagerduty.key, event_action: "resolve", dedup_key: "inc_1" },
  ]);
  const test = readCall(testBody(NOON));
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
    'logship: Over: "checkout": 25 % of requests fail.',
  );
});
