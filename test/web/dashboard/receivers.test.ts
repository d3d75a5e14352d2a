/** The pages of jobs that ship to receivers, for each kind. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { maskDestination } from "../../../src/ship/destinations/parse.ts";
import { PreviewPanel, type PreviewView } from "../../../src/web/dashboard/pages/shipping/preview-panel.tsx";
import { NOON } from "../../formats/record/samples.ts";
import { SECRETS } from "../../ship/destinations/kinds.ts";
import { RECEIVERS, type ReceiverFixture, type ReceiverService } from "../../ship/destinations/receivers.ts";
import { receiving } from "../../support/runtime/receiving.ts";
import { call, type Job } from "../api/harness.ts";
import { untouched } from "./browser-form.ts";
import { Creator } from "./creating.ts";
import { textOf, Visitor } from "./support.ts";

afterEach(() => vi.restoreAllMocks());

const stored = async (): Promise<Job> => (await call<Job>("GET", "/logship/jobs/1")).body.result;

/** A form whose destination was pasted, with the button that is pressed then. */
async function pasted(conf: string, button = "preview"): Promise<Creator> {
  const creator = await Creator.begin();
  await creator.press(button, { destination_conf: conf });
  return creator;
}

it("a form folds away what is rarely needed, until it holds something", async () => {
  const further = (html: string) => /<details class="further"( open="")?><summary>More.*?<\/details>/s.exec(html);
  const elastic = (RECEIVERS.elastic as ReceiverFixture).conf;
  const creator = await Creator.begin();
  const [empty = "", isOpen] = further((await creator.press("kind:elastic")).html) ?? [];
  for (const name of ["routing", "require_alias", "headers"]) expect(empty).toContain(`name="destination-${name}"`);
  for (const name of ["address", "path", "pipeline"]) expect(empty).not.toContain(`name="destination-${name}"`);
  expect(isOpen).toBeUndefined();
  expect(further((await pasted(`${elastic}&routing=a`)).page.html)?.[1]).toBeDefined();
  // Any address needs its headers.
  expect(further((await creator.press("kind:https")).html)).toBeNull();
});

it("a test that leaves no record does not say that it does", async () => {
  const creator = await Creator.begin();
  for (const [kind, words] of [
    ["clickhouse", "The test sends a request without a record."],
    ["otlp", "The test sends a request without a record."],
    ["loki", "The test sends one small record."],
    ["s3", "The test writes a small object, such as logs/00010101/test.txt.gz"],
  ] as const)
    expect(textOf((await creator.press(`kind:${kind}`)).html)).toContain(words);
});

it("what a receiver says of itself stands beside a test that worked, and in the API's answer", async () => {
  const { conf } = RECEIVERS.clickhouse as ReceiverFixture;
  const row = JSON.stringify(["MergeTree", "MergeTree ORDER BY x", "0", "100"]);
  receiving(conf, async (url) => new Response(new URL(url).searchParams.get("query")?.startsWith("SELECT") ? row : ""));
  const creator = await pasted(conf, "test");
  const said = "the table does not deduplicate, as its non_replicated_deduplication_window is 0";
  expect(textOf(creator.page.html)).toContain(`It works: ${said}`);
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
  const said = textOf((await pasted(conf, "test")).page.html);
  expect(said).toContain("Another job ships there The log service gets the records of both jobs.");
});

describe.each(Object.entries(RECEIVERS))("a receiver: %s", (_name, { conf, service }) => {
  const answers = (fetch: ReceiverService["fetch"] = service().fetch) => receiving(conf, fetch);

  it("says what to do where it refuses, and keeps what was entered", async () => {
    answers(async () => new Response(SECRETS.join(), { status: 403 }));
    const creator = await pasted(conf);
    expect(textOf(creator.page.html)).toContain("At least once");
    const { status, html } = await creator.press("save");
    expect([status, textOf(html)]).toEqual([400, expect.stringMatching(/Test failed .*HTTP 403/)]);
    for (const secret of SECRETS) expect(html).not.toContain(secret);
    answers();
    expect((await creator.press("save")).location).toBe("/jobs/1?created");
    expect((await stored()).destination_conf).toBe(conf);
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
    const creator = await Creator.begin(undefined, "/jobs/new?from=1");
    const form = untouched(creator.page.html, "/jobs/new?from=1");
    const places = ["destination-url", "destination-address"].filter((name) => form.has(name));
    const sent: string[] = [];
    vi.spyOn(platform, "fetch").mockImplementation(async (url, { headers }) => {
      sent.push(JSON.stringify([url, ...new Headers(headers)]));
      return new Response(null, { status: 204 });
    });
    await creator.press("save", Object.fromEntries(places.map((name) => [name, "https://evil.example/in"])));
    for (const secret of SECRETS) {
      expect(sent.join()).not.toContain(secret);
      for (const page of creator.pages) expect(page).not.toContain(secret);
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
