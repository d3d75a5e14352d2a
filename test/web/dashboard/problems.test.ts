/** The pages of problems: what they show of records that came, and what their forms decide. */
import { describe, expect, it } from "vitest";
import { recordPath } from "../../../src/operate/alerts/link.ts";
import { recordsQuery } from "../../../src/web/dashboard/pages/problems/words.tsx";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setSteadyClock } from "../../support/runtime/pipeline.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { textOf, Visitor } from "./support.ts";

type Clock = ReturnType<typeof setSteadyClock>;

const HOUR_MS = 3_600_000;
const SCRIPT = "<script>alert(1)</script>";

const threw = (message: string, version: string, ray = "00000000000000aa", name = "TypeError") => ({
  EventType: "fetch",
  Event: { RayID: ray, Request: { URL: "https://shop.example/", Method: "GET" }, Response: {} },
  Outcome: "exception",
  ScriptVersion: { ID: version, Tag: version === "" ? "" : `tag-${version}` },
  Exceptions: [{ name, message, TimestampMs: NOON }],
});

/** Records with these fields come. */
async function come(clock: Clock, scriptName: string, ...each: readonly object[]): Promise<void> {
  const nowMs = clock.nowMs();
  const some = new Oracle({ at: nowMs }).mint(each.length, { at: nowMs, scriptName });
  const minted = some.map((one, n) => ({
    ...one,
    event: { ...one.event, ...each[n] },
    record: { ...one.record, ...each[n] },
  }));
  await deliver(pack(minted, nowMs));
}

async function begin(): Promise<Clock> {
  const clock = setSteadyClock(NOON);
  await createJob(freshBucket().name);
  return clock;
}

interface Problem {
  id: string;
  state: string;
  ignored_until: string | null;
}
const problems = async () => (await call<Problem[]>("GET", "/logship/problems")).body.result;
const only = async (): Promise<Problem> => (await problems())[0] as Problem;

describe("the list", () => {
  it("has the error, its Worker, counts, marks, and its first and latest record one click away", async () => {
    const clock = await begin();
    await come(clock, "shop", threw("no order 4711", "v1", "00000000000000a1"));
    clock.advance(2 * HOUR_MS);
    await come(clock, "shop", threw("no order 12", "v1", "00000000000000b2"));
    const visitor = await Visitor.signedIn();
    const { html } = await visitor.get("/problems");
    const { id } = await only();
    expect(html).toContain(`href="/problems/${id}"`);
    expect(textOf(html)).toMatch(/TypeError: no order # .*new only in version v1 .*shop .*2 .*open/);
    for (const [atMs, rayId] of [
      [NOON, "00000000000000a1"],
      [NOON + 2 * HOUR_MS, "00000000000000b2"],
    ] as const) {
      const path = recordPath({ script: "shop", atMs, rayId }).replaceAll("&", "&amp;");
      expect(html).toContain(`href="${path}"`);
    }
    const records = /<a href="([^"]*)">2<span class="unseen">: search/.exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(Object.fromEntries(new URL(records, "http://x").searchParams)).toEqual({
      ...{ q: '"TypeError" "no order"', function: "shop", last: "24h" },
    });
  });

  it("shows open problems unless it is asked for others, or for those of one Worker", async () => {
    const clock = await begin();
    await come(clock, "shop", threw("no order 1", "v1"));
    const { id } = await only();
    clock.advance(1_000);
    await come(clock, "billing", threw("no invoice 1", "v1"));
    await call("PATCH", `/logship/problems/${id}`, { state: "resolved" });
    const visitor = await Visitor.signedIn();
    const shown = async (query: string) => {
      const text = textOf((await visitor.get(`/problems${query}`)).html);
      return ["no order #", "no invoice #"].filter((message) => text.includes(message));
    };
    expect(await shown("")).toEqual(["no invoice #"]);
    expect(await shown("?state=resolved")).toEqual(["no order #"]);
    expect(await shown("?state=all")).toEqual(["no order #", "no invoice #"]);
    expect(await shown("?state=all&worker=shop")).toEqual(["no order #"]);
    expect(await shown("?state=nonsense")).toEqual(["no invoice #"]);
    expect(await shown("?state=ignored")).toEqual([]);
    expect(textOf((await visitor.get("/problems?state=ignored")).html)).toContain("No ignored problems");
    // The other filters keep the Worker.
    expect((await visitor.get("/problems?worker=shop")).html).toContain(
      'href="/problems?state=resolved&amp;worker=shop"',
    );
  });
});

describe("a problem", () => {
  it("names the version that began it, and counts over time and by version", async () => {
    const clock = await begin();
    await come(clock, "shop", threw("no order 1", "v1"));
    clock.advance(HOUR_MS);
    const later = ["v2", "v2", "v3", "v3", "v3", "v4", "v5"].map((version) => threw("no order 2", version));
    await come(clock, "shop", ...later);
    const visitor = await Visitor.signedIn();
    const { id } = await only();
    const text = textOf((await visitor.get(`/problems/${id}`)).html);
    expect(text).toMatch(/First record 60 min ago : open the first record , in version tag-v1/);
    expect(text).toContain("8 records in the last 6 hours.");
    expect(text).toMatch(/■ tag-v3 .*tag-v2 .*others/);
    expect(text).toContain("2100-11-20 13:00 3 2 0 2");
    expect(text).toMatch(/tag-v3 \(v3\) 3 38 % tag-v2 \(v2\) 2 25 %/);
    // What is longer ago than five minutes are kept is shown by the hour.
    clock.advance(3 * 24 * HOUR_MS);
    const back = await Visitor.signedIn();
    const old = textOf((await back.get(`/problems/${id}`)).html);
    expect(old).toContain("8 records in the last 7 days.");
    expect(textOf((await back.get(`/problems/${id}?range=6h`)).html)).toContain("No records in the last 6 hours");
  });

  it("shows its latest record, with the stack, and the first as a row", async () => {
    const clock = await begin();
    const stack = { ExceptionStacks: ["at pay (shop.js:6:9)"] };
    await come(clock, "shop", threw("no order 1", "v1", "00000000000000a1"));
    const visitor = await Visitor.signedIn();
    const { id } = await only();
    const page = async () => {
      const { html } = await visitor.get(`/problems/${id}`);
      return textOf(html.slice(html.indexOf('id="latest"')));
    };
    // One record is both.
    expect(await page()).toMatch(/Latest record .*TypeError .*no order 1/);
    expect(await page()).not.toContain("First record");
    clock.advance(60_000);
    await come(clock, "shop", { ...threw("no order 2", "v1", "00000000000000a2"), ...stack });
    expect(await page()).toMatch(/Latest record .*TypeError .*no order 2 .*First record .*no order 1/);
  });

  it("is resolved, ignored for a time and opened by its forms", async () => {
    const clock = await begin();
    await come(clock, "shop", threw("no order 1", "v1"));
    const visitor = await Visitor.signedIn();
    const { id } = await only();
    const decide = async (fields: Record<string, string>) => {
      expect((await visitor.submit(`/problems/${id}`, fields)).location).toBe(`/problems/${id}`);
      return only();
    };
    expect(await decide({ state: "resolved" })).toMatchObject({ state: "resolved" });
    expect(textOf((await visitor.get(`/problems/${id}`)).html)).toContain("resolved by admin , just now");
    expect(await decide({ state: "open" })).toMatchObject({ state: "open" });
    for (const days of [1, 7])
      expect(await decide({ state: "ignored", days: `${days}` })).toMatchObject({
        state: "ignored",
        ignored_until: new Date(NOON + days * 24 * HOUR_MS).toISOString(),
      });
    for (const wrong of [{ state: "gone" }, { state: "ignored", days: "1e9" }, { state: "resolved", days: "1" }, {}])
      expect((await visitor.submit(`/problems/${id}`, wrong as Record<string, string>)).status).toBe(400);
    expect(await only()).toMatchObject({ state: "ignored" });
    clock.advance(1_000);
    await decide({ state: "resolved" });
    clock.advance(1_000);
    await come(clock, "shop", threw("no order 2", "v1"));
    expect(textOf((await visitor.get(`/problems/${id}`)).html)).toMatch(
      /regressed .*open : resolved by admin , just now , and came again/,
    );
  });

  it("is read by who may not decide, and says what that needs", async () => {
    const clock = await begin();
    await come(clock, "shop", threw("no order 1", "v1"));
    const { secret } = await token(["logs:read"]);
    const reader = await Visitor.signedIn({ token: secret });
    const { id } = await only();
    const { html, status } = await reader.get(`/problems/${id}`);
    expect(status).toBe(200);
    expect(html).not.toContain(`action="/problems/${id}"`);
    expect(textOf(html)).toContain("Resolve (needs the permission logs:edit)");
    expect((await reader.submit(`/problems/${id}`, { state: "resolved" })).status).toBe(403);
    expect(await only()).toMatchObject({ state: "open" });
  });

  it("that is not there is a page that says so", async () => {
    const visitor = await Visitor.signedIn();
    for (const id of ["0123456789abcdef", "%3Cb%3E", "nothing"]) {
      const { status, html } = await visitor.get(`/problems/${id}`);
      expect([status, textOf(html)]).toEqual([404, expect.stringContaining("No such problem")]);
      expect((await visitor.submit(`/problems/${id}`, { state: "open" })).status).toBe(404);
    }
  });
});

it("names, messages and versions of a sender are text", async () => {
  const clock = await begin();
  await come(clock, `shop ${SCRIPT}`, threw(`${SCRIPT} "quoted" \u202e`, `v${SCRIPT}`, "", `Error${SCRIPT}`));
  const visitor = await Visitor.signedIn();
  const { id } = await only();
  for (const path of ["/problems", `/problems/${id}`]) {
    const { status, html } = await visitor.get(path);
    expect(status).toBe(200);
    expect(html).not.toContain(SCRIPT);
    expect(html).not.toContain("\u202e");
    expect(textOf(html)).toContain(`shop ${SCRIPT}`);
  }
});

it.for([
  [{ name: "HTTP 503", message: "" }, "status:503"],
  [{ name: "exceededCpu", message: "" }, '"exceededCpu"'],
  [{ name: "TypeError", message: "no order #" }, '"TypeError" "no order"'],
  [{ name: "E", message: 'a # said "no \\ luck" (#)' }, '"E" "said \\"no \\\\ luck\\""'],
  [{ name: "E", message: "# #" }, '"E"'],
] as const)("%s is searched for as %s", ([problem, query]) => {
  expect(recordsQuery(problem)).toBe(query);
});
