/** What the form of a new job keeps: secrets between its pages, a copied job, the challenge. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ENTERED_MS } from "../../../src/base/limits.ts";
import { NOON } from "../../formats/record/samples.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { call, errorsOf, freshBucket, type Job, listJobs } from "../api/harness.ts";
import { untouched } from "./browser-form.ts";
import { Creator, entered, UNSEEN } from "./creating.ts";
import { openGroups, textOf, Visitor } from "./support.ts";

afterEach(() => vi.restoreAllMocks());

const REQUIRED = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };

describe("the secrets that are entered", () => {
  const ID = "AKIDENTERED0001";
  const KEY = "s3cret/Entered+0001=";

  it("are on no page, and are kept by it for the same service, session and hour", async () => {
    const clock = setClock(NOON);
    const creator = await Creator.begin();
    await creator.s3("preview", { access_key_id: ID, secret_access_key: KEY, bucket: "" });
    const page = creator.page;
    const hint = /id="field-destination-secret_access_key-hint">Already entered/;
    expect(page.html).toMatch(hint);
    const again = async (fields: Record<string, string>) => {
      creator.page = page;
      return (await creator.press("preview", fields)).html;
    };
    expect(await again(entered({ bucket: "another" }))).toMatch(hint);
    expect(await again(entered({ bucket: "another", endpoint: "other.example" }))).not.toMatch(hint);
    const form = untouched(page.html, "/jobs/new");
    form.delete("csrf");
    form.set("do", "preview");
    const stranger = await Visitor.signedIn();
    expect((await stranger.submit("/jobs/new", form)).html).not.toMatch(hint);
    creator.page = page;
    clock.advance(ENTERED_MS - 1);
    expect((await creator.press("preview")).html).toMatch(hint);
    creator.page = page;
    clock.advance(1);
    expect((await creator.press("preview")).html).not.toMatch(hint);
    for (const html of creator.pages)
      for (const secret of [ID, KEY, encodeURIComponent(KEY)]) expect(html).not.toContain(secret);
  });
});

describe("a copy of a job", () => {
  const FILTER = '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}';
  const jobWith = async (bucket: string, more: object = {}): Promise<number> => {
    const body = { destination_conf: destinationConf(bucket), name: "first", filter: FILTER, ...more };
    const answer = await call<Job>("POST", "/logship/jobs", body);
    expect([answer.status, errorsOf(answer)]).toEqual([201, []]);
    return answer.body.result.id;
  };
  const copying = (id: number | string) => Creator.begin(undefined, `/jobs/new?from=${id}`);

  it("has all of it but the name, with keys that are on no page", async () => {
    const { name } = freshBucket();
    const options = { output_options: { output_type: "csv", merge_subrequests: true }, frequency: "high" };
    const id = await jobWith(name, { ...options, max_upload_interval_seconds: 60, canary: false });
    const creator = await copying(id);
    expect((await creator.press("preview", entered({ path: "copy/{DATE}" }))).status).toBe(200);
    expect((await creator.press("save")).location).toBe(`/jobs/${id + 1}?created`);
    for (const html of creator.pages) for (const key of [ACCESS_KEY, SECRET_KEY]) expect(html).not.toContain(key);
    const [first, copy] = await listJobs();
    const times = { time_created: expect.any(String), time_modified: expect.any(String) };
    const destination_conf = destinationConf(name, "copy/{DATE}");
    expect(copy).toEqual({ ...first, id: expect.any(Number), name: "first (copy)", destination_conf, ...times });
  });

  it("starts now, wherever its job was told to start", async () => {
    const clock = setClock(NOON);
    const since = new Date(NOON).toISOString();
    await jobWith(freshBucket().name, { enabled: true, logpull_options: `sample=0.5&sinc%65=${since}` });
    await jobWith(freshBucket().name, { enabled: true, logpull_options: `since=${since}` });
    clock.advance(2 * 86_400_000);
    for (const { id } of await listJobs()) expect((await (await copying(id)).press("save")).status).toBe(303);
    const copies = (await listJobs()).slice(2);
    expect(copies.map(({ logpull_options }) => logpull_options)).toEqual(["sample=0.5", ""]);
  });

  it("keeps the keys for that store alone, one of them replaced or not, however often it is tried", async () => {
    const { name } = freshBucket();
    const creator = await copying(await jobWith(name));
    const other = freshBucket();
    const elsewhere = entered({ bucket: other.name });
    const conf = destinationConf(other.name).replaceAll(/key(-id)?=[\w-]+/g, "key$1=****");
    const tries = [
      elsewhere,
      elsewhere,
      { destination_conf: conf },
      elsewhere,
      entered({ bucket: name, access_key_id: "another" }),
    ];
    for (const fields of [...tries, entered({ bucket: name, endpoint: "store.example" }), { scheme: "r2" }]) {
      await creator.press("test", { ...UNSEEN, ...fields });
      const refused = await creator.press("save", elsewhere);
      expect(textOf(refused.html)).toContain("Enter the secret access key");
    }
    expect(await other.control.requests()).toEqual([]);
  });

  it("is one of a job that is there, under a name that a job may have", async () => {
    const visitor = await Visitor.signedIn();
    for (const id of ["1", "0", "x", "99999999999999999999"])
      expect((await visitor.get(`/jobs/new?from=${id}`)).status).toBe(404);
    const creator = await copying(await jobWith(freshBucket().name, { name: `${"n".repeat(504)}${"😀".repeat(4)}` }));
    expect(creator.page.html.isWellFormed()).toBe(true);
    expect((await creator.press("save")).status).toBe(303);
  });
});

describe("the proof that a bucket can be read", () => {
  const begin = async (options: object = REQUIRED) => Creator.begin(await Visitor.signedIn(undefined, options));
  /** The challenge, as the bucket's owner reads it. */
  const tokenIn = async ({ bucket }: Creator): Promise<{ key: string; token: string }> => {
    const found = (await bucket.control.objects()).filter(({ key }) => key.includes("ownership-challenge"));
    const key = found.at(-1)?.key ?? "";
    return { key, token: new TextDecoder().decode(await bucket.control.object(key)) };
  };

  it("is required where the deployment says so, and pasted text is one", async () => {
    const creator = await begin();
    expect(openGroups(creator.page.html)).toEqual(["ownership"]);
    const without = await creator.s3("save");
    expect([without.status, textOf(without.html)]).toEqual([
      400,
      expect.stringContaining("incorrect ownership challenge"),
    ]);
    await creator.press("own:write");
    const { key, token: right } = await tokenIn(creator);
    expect(textOf(creator.page.html)).toContain(key);
    for (const wrong of [`${right}x`, "1.9999999999.x", "t".repeat(5_000), "<script>alert(1)</script>"]) {
      const { status, html } = await creator.press("save", { ownership_challenge: wrong });
      expect([status, html.includes("alert(1)")]).toEqual([400, false]);
    }
    // Kept by the page, whatever else is refused.
    const faulty = await creator.press("save", { ownership_challenge: `  ${right}\n`, "sample-rate": "2" });
    expect([faulty.status, faulty.html.includes(right)]).toEqual([400, false]);
    expect((await creator.press("save", { "sample-rate": "" })).status).toBe(303);
  });

  it("is read back with the entered keys, and is one of the place that it was written to", async () => {
    const creator = await begin();
    await creator.s3("own:write");
    expect(textOf((await creator.press("own:read")).html)).toContain("It proves that you own the bucket");
    const { token: read } = await tokenIn(creator);
    expect(creator.page.html).not.toContain(read);
    const proven = creator.page;
    expect((await creator.press("save", entered({ path: "elsewhere/{DATE}" }))).status).toBe(400);
    // Back to the page before, whose form was sent already.
    creator.page = proven;
    expect((await creator.press("save")).status).toBe(409);
    expect((await creator.press("save")).status).toBe(303);
  });

  const failures: [name: string, action: Action, words: string][] = [
    ["keys that may only write", { do: "answer", status: 403, code: "AccessDenied" }, "may write but not read"],
    ["an object that is gone", { do: "answer", status: 404, code: "NoSuchKey" }, "is gone"],
    ["a redirect", { do: "redirect", location: "http://elsewhere.example/" }, "did not send it"],
    ["an object without end", { do: "answer", status: 200, body: "x".repeat(5_000) }, "larger than a challenge"],
    ["another object", { do: "answer", status: 200, body: "<b>not a token</b>" }, "holds something else"],
  ];

  it.each(failures)("is not read back of %s, in words", async (_name, action, words) => {
    const creator = await begin({});
    await creator.s3("own:write");
    await creator.bucket.control.script([rule(action, { method: "GET" })]);
    const { status, html } = await creator.press("own:read");
    expect([status, textOf(html)]).toEqual([400, expect.stringContaining(words)]);
    expect(html).not.toContain("not a token");
    // It is not required here.
    expect((await creator.press("save")).status).toBe(303);
  });

  it("cannot be written into a bucket that takes nothing", async () => {
    const creator = await begin({});
    await creator.bucket.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "PUT" })]);
    expect(textOf((await creator.s3("own:write")).html)).toMatch(/could not be written .*HTTP 403 AccessDenied/);
  });
});
