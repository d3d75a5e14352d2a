/** The pages of jobs that ship to receivers, for each kind. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { PreviewPanel, type PreviewView } from "../../src/dashboard/pages/shipping/preview-panel.tsx";
import { FORMS } from "../../src/destinations/kinds.ts";
import { maskDestination } from "../../src/destinations/parse.ts";
import { platform } from "../../src/platform.ts";
import { call, type Job } from "../api/harness.ts";
import { SECRETS } from "../destinations/kinds.ts";
import { RECEIVERS, type ReceiverFixture, type ReceiverService } from "../destinations/receivers.ts";
import { NOON } from "../record/samples.ts";
import { receiving } from "../support/runtime/receiving.ts";
import { untouched } from "./browser-form.ts";
import { Creator } from "./creating.ts";
import { textOf, Visitor } from "./support.ts";

afterEach(() => vi.restoreAllMocks());

const stored = async (): Promise<Job> => (await call<Job>("GET", "/logship/jobs/1")).body.result;

/** A draft whose destination was pasted. */
async function pasted(conf: string): Promise<Creator> {
  const creator = await Creator.begin({ kind: "https" });
  expect((await creator.post("destination", { do: "paste", conf })).status).toBe(303);
  return creator;
}

it("the chooser offers every kind by its name, in groups, and each begins a form of its own", async () => {
  const visitor = await Visitor.signedIn();
  const { html } = await visitor.get("/jobs/new");
  for (const { name } of FORMS) expect(textOf(html)).toContain(name);
  for (const { id, parts, group } of FORMS) {
    const creator = await Creator.begin({ visitor, kind: id });
    const page = await creator.get("destination");
    const form = untouched(page.html, `${creator.base}/destination`);
    expect(form.get("scheme")).toBe(id);
    for (const part of parts) if (!("ways" in part)) expect(page.html).toContain(`name="${part.name}"`);
    expect(page.html.includes("test.txt.gz")).toBe(group === "store");
    expect(textOf(page.html)).toContain(group === "store" ? "Exactly once" : "At least once");
    // What is missing is said, and nothing is sent.
    expect((await creator.post("destination", { scheme: id, do: "test" })).status).toBe(400);
  }
});

it("a form folds away what is rarely needed, until it holds something", async () => {
  const further = (html: string) => /<details class="further"( open="")?>.*?<\/details>/s.exec(html);
  const elastic = (RECEIVERS.elastic as ReceiverFixture).conf;
  const creator = await Creator.begin({ kind: "elastic" });
  const [empty = "", isOpen] = further((await creator.get("destination")).html) ?? [];
  for (const name of ["routing", "require_alias", "headers"]) expect(empty).toContain(`name="${name}"`);
  for (const name of ["address", "path", "pipeline"]) expect(empty).not.toContain(`name="${name}"`);
  expect(isOpen).toBeUndefined();
  const filled = await pasted(`${elastic}&routing=a`);
  expect(further((await filled.get("destination")).html)?.[1]).toBeDefined();
  // Any address needs its headers.
  const https = await Creator.begin({ kind: "https" });
  expect(further((await https.get("destination")).html)).toBeNull();
});

it("a test that leaves no record does not say that it does", async () => {
  for (const [kind, words] of [
    ["clickhouse", "The test sends a request without a record."],
    ["otlp", "The test sends a request without a record."],
    ["loki", "The test sends one small record."],
    ["s3", "The test writes a small object, such as logs/00010101/test.txt.gz"],
  ] as const) {
    const { html } = await (await Creator.begin({ kind })).get("destination");
    expect(textOf(html)).toContain(words);
  }
});

it("what a receiver says of itself stands beside a test that worked, and in the API's answer", async () => {
  const { conf } = RECEIVERS.clickhouse as ReceiverFixture;
  const row = JSON.stringify(["MergeTree", "MergeTree ORDER BY x", "0", "100"]);
  receiving(conf, async (url) => new Response(new URL(url).searchParams.get("query")?.startsWith("SELECT") ? row : ""));
  const creator = await pasted(conf);
  await creator.send("destination", { do: "test" });
  const said = "the table tells no repeat, as its non_replicated_deduplication_window is 0";
  expect(textOf((await creator.get("destination")).html)).toContain(`It works: ${said}`);
  const { body } = await call("POST", "/logship/validate/destination", { destination_conf: conf });
  expect(body.messages).toMatchObject([{ message: expect.stringMatching(`^destination_conf: ${said}`) }]);
  // Of one that does not work, nothing more is asked.
  const sent = receiving(conf, async () => new Response(null, { status: 403 }));
  const refused = await call("POST", "/logship/validate/destination", { destination_conf: conf });
  expect([refused.body.messages, sent.length]).toEqual([[], 1]);
});

it("another table of a server is another place, and a job that ships there is said as one", async () => {
  const { conf, service } = RECEIVERS.clickhouse as ReceiverFixture;
  receiving(conf, service().fetch);
  await call("POST", "/logship/jobs", { destination_conf: conf });
  const exists = async (destination_conf: string) =>
    (await call("POST", "/logship/validate/destination/exists", { destination_conf })).body.result;
  expect(await exists(conf)).toEqual({ exists: true });
  expect(await exists(conf.replace("table=traces", "table=others"))).toEqual({ exists: false });
  const creator = await pasted(conf);
  await creator.send("destination", { do: "test" });
  const said = textOf((await creator.get("destination")).html);
  expect(said).toContain("Another job ships there The receiver gets the records of both jobs.");
});

describe.each(Object.entries(RECEIVERS))("a receiver: %s", (_name, { conf, service }) => {
  const answers = (fetch: ReceiverService["fetch"] = service().fetch) => receiving(conf, fetch);

  it("is entered, tested, and shipped to, without a step that it has no use for, or a secret on a page", async () => {
    answers();
    const creator = await pasted(conf);
    const filled = await creator.get("destination");
    const tested = await creator.send("destination", { do: "test" });
    expect(tested.location).toBe(`${creator.base}/destination#tested`);
    expect(textOf((await creator.get("destination")).html)).toContain("Reachable and writable");
    expect((await creator.send("destination")).location).toBe(`${creator.base}/records`);
    expect((await creator.send("records")).location).toBe(`${creator.base}/output`);
    const output = await creator.get("output");
    expect(output.html).not.toContain('name="canary"');
    expect((await creator.send("output")).location).toBe(`${creator.base}/preview`);
    await creator.get("preview");
    expect(await creator.pass("preview")).toBe("finish");
    expect((await creator.get("ownership")).location).toBe(`${creator.base}/finish`);
    expect(textOf((await creator.get("finish")).html)).toContain("At least once");
    expect((await creator.post("finish")).location).toBe("/jobs/1?created");
    expect((await stored()).destination_conf).toBe(conf);
    const pages = [filled.html, ...creator.pages, (await creator.visitor.get("/jobs/1?created")).html];
    for (const secret of SECRETS) for (const page of pages) expect(page).not.toContain(secret);
  });

  it("says what to do where its test fails, and keeps what was entered", async () => {
    answers(async () => new Response(SECRETS.join(), { status: 403 }));
    const creator = await pasted(conf);
    await creator.send("destination", { do: "continue" });
    const { html } = await creator.get("destination");
    expect(textOf(html)).toMatch(/Test failed .*HTTP 403/);
    for (const secret of SECRETS) expect(html).not.toContain(secret);
    answers();
    expect((await creator.send("destination")).location).toBe(`${creator.base}/records`);
  });

  it("is edited with its secrets kept, or replaced, and is never shown with them", async () => {
    answers();
    await call("POST", "/logship/jobs", { destination_conf: conf });
    const visitor = await Visitor.signedIn();
    const shown = await visitor.get("/jobs/1/edit");
    const form = untouched(shown.html, "/jobs/1/edit");
    form.set("do", "save");
    expect((await visitor.submit("/jobs/1/edit", form)).location).toBe("/jobs/1/edit?same");
    const { html } = await visitor.get("/jobs/1/edit");
    const again = untouched(html, "/jobs/1/edit");
    again.set("do", "save");
    again.set("destination-headers", `${again.get("destination-headers")}\nX-New: another-secret`);
    const saved = await visitor.submit("/jobs/1/edit", again);
    expect([saved.location, textOf(saved.html)]).toEqual(["/jobs/1/edit?saved", ""]);
    const after = String((await stored()).destination_conf);
    expect(after).toContain("header_X-New=another-secret");
    expect(maskDestination(after)).toBe(maskDestination(after.replace("another-secret", "****")));
    const pages = [shown.html, html, (await visitor.get("/jobs/1/edit")).html, (await visitor.get("/jobs/1")).html];
    for (const secret of [...SECRETS, "another-secret"]) for (const page of pages) expect(page).not.toContain(secret);
  });

  it("is copied with its secrets for the same place alone", async () => {
    answers();
    await call("POST", "/logship/jobs", { destination_conf: conf });
    const visitor = await Visitor.signedIn();
    const copy = (await visitor.submit("/jobs/1/duplicate")).location ?? "";
    const page = await visitor.get(copy);
    const form = untouched(page.html, copy);
    for (const name of ["url", "address"]) if (form.has(name)) form.set(name, "https://evil.example/in");
    form.set("do", "continue");
    const sent: string[] = [];
    vi.spyOn(platform, "fetch").mockImplementation(async (url, { headers }) => {
      sent.push(JSON.stringify([url, ...new Headers(headers)]));
      return new Response(null, { status: 204 });
    });
    await visitor.submit(copy, form);
    for (const secret of SECRETS) {
      expect(sent.join()).not.toContain(secret);
      expect((await visitor.get(copy)).html).not.toContain(secret);
    }
  });

  it("is previewed as its requests", async () => {
    answers();
    const events = [NOON - 1, NOON].map((EventTimestampMs) => ({ EventTimestampMs, ScriptName: "shop" }));
    const asked = await call<PreviewView>("POST", "/logship/preview", { destination_conf: conf, events });
    const html = String(await PreviewPanel({ preview: asked.body.result, body: {} })?.toString());
    expect(textOf(html)).toContain("compressed with gzip");
    expect(textOf(html)).toContain("idempotency-key: ");
    for (const secret of SECRETS) expect(html).not.toContain(secret);
  });
});
