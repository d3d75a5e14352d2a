import { env } from "cloudflare:workers";
import { describe, expect, inject, it, vi } from "vitest";
import { readConfig } from "../../src/config.ts";
import { ControlPlane, controlPlane } from "../../src/control/plane.ts";
import { filterDo } from "../../src/dashboard/pages/shipping/filter-read.ts";
import { draftPurpose, seal } from "../../src/job/secrets.ts";
import { call, errorsOf, freshBucket, type Job, listJobs } from "../api/harness.ts";
import { ACCESS_KEY, SECRET_KEY } from "../support/constants.ts";
import { destinationConf } from "../support/runtime/api.ts";
import { rule } from "../support/s3-script.ts";
import { Creator, s3Form } from "./creating.ts";
import { textOf, Visitor } from "./support.ts";

const REQUIRED = { settings: { REQUIRE_OWNERSHIP_CHALLENGE: "true" } };

const jobs = async () => (await listJobs()).map(({ id, name, enabled }) => ({ id, name, enabled }));

describe("the way to a job", () => {
  it("leads from a bucket to a job, and forgets the draft", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    const summary = await creator.get("finish");
    expect(textOf(summary.html)).toContain("shop failures");
    expect(textOf(summary.html)).toContain("Step 6 of 6");
    expect(await jobs()).toEqual([]);
    const done = await creator.post("finish");
    const [job] = await listJobs();
    expect([done.status, done.location]).toEqual([303, `/jobs/${job?.id}?created`]);
    expect(job).toMatchObject({ name: "shop failures", enabled: true, destination_conf: expect.any(String) });
    expect(job?.destination_conf).toBe(
      `s3://${creator.bucket.name}/logs/{DATE}?region=auto&endpoint=${encodeURIComponent(inject("s3Url"))}&access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`,
    );
    expect((await creator.get("finish")).status).toBe(404);
    expect(textOf((await creator.visitor.get("/jobs/new")).html)).not.toContain("Drafts");
  });

  it("goes on with a draft of the release before, keys included", async () => {
    const creator = await Creator.begin();
    const id = creator.base.split("/").at(-1) ?? "";
    const { bucket } = creator;
    const destination = {
      ...{ scheme: "s3", bucket: bucket.name, path: "old/{DATE}", accountId: "", region: "auto", sse: false },
      ...{ endpoint: inject("s3Url"), credentials: "keys", secretName: "" },
      ...{ accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY },
    };
    const earlier = {
      ...{ destination, keysOfJob: false, tested: { ok: true, message: "", atMs: 0 }, shared: false },
      ...{ body: { dataset: "functions_trace_events", enabled: true, name: "from before" } },
      ...{ challenge: null, proof: null, done: ["destination", "records"], refusal: [] },
    };
    const config = readConfig(env);
    if (!config.ok) throw new Error("malformed");
    const purpose = draftPurpose(config.config.accountId, "admin:admin", id);
    const sealed = seal(JSON.stringify(earlier), purpose, config.config.keys);
    expect(await controlPlane(env.CONTROL).saveDraft(id, "admin:admin", sealed)).toBe(true);
    expect(textOf((await creator.visitor.get("/jobs/new")).html)).toContain("from before");
    const { html } = await creator.get("destination");
    for (const text of [bucket.name, "old/{DATE}", inject("s3Url")]) expect(html).toContain(`value="${text}"`);
    expect(html).not.toContain(SECRET_KEY);
    // It is tested anew; what else was entered stays.
    expect((await creator.send("destination")).location).toBe(`${creator.base}/records`);
    expect((await bucket.control.puts()).map(({ key }) => key)).toEqual(["old/00010101/test.txt.gz"]);
    expect((await creator.get("output")).html).toContain('value="from before"');
  });

  it("makes one job of a button that is pressed twice", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    const answers = await Promise.all([creator.post("finish"), creator.post("finish")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 404]);
    expect(await jobs()).toHaveLength(1);
  });

  it("says where one is, and lets nobody further than they have come", async () => {
    const creator = await Creator.begin();
    for (const step of ["records", "output", "preview", "ownership", "finish"]) {
      const { status, location } = await creator.get(step);
      expect([step, status, location]).toEqual([step, 303, `${creator.base}/destination`]);
      expect((await creator.post(step, { do: "continue" })).location).toBe(`${creator.base}/destination`);
    }
    expect(await jobs()).toEqual([]);
    await creator.chooseBucket();
    const { html } = await creator.get("records");
    expect(html).toMatch(/<span aria-current="step">Records<\/span>/);
    expect(html).toContain(`<a href="${creator.base}/destination">`);
    expect(html).not.toContain(`<a href="${creator.base}/output">`);
    expect((await creator.visitor.get(creator.base)).location).toBe(`${creator.base}/records`);
  });

  it("shows on no page the keys that were entered, nor a token", async () => {
    const [id, key] = ["AKIDENTERED0001", "s3cret/Entered+0001="];
    const creator = await Creator.begin();
    await creator.post("destination", s3Form(creator.bucket.name, { access_key_id: id, secret_access_key: key }));
    await creator.get("destination");
    await creator.post("destination", s3Form("", { access_key_id: id, secret_access_key: key }));
    await creator.post("destination", { do: "paste", conf: `s3://b?access-key-id=${id}&secret-access-key=${key}&x` });
    await creator.post("destination", {
      do: "paste",
      conf: `${destinationConf("bb").split("?")[0]}?region=a&access-key-id=${id}`,
    });
    await creator.get("destination");
    await creator.visitor.get("/jobs/new").then(({ html }) => creator.pages.push(html));
    await creator.toTheEnd();
    await creator.get("finish");
    expect(await creator.pass("ownership", { do: "write" })).toBe("ownership");
    const [object] = (await creator.bucket.control.objects()).filter((each) => each.key.includes("ownership"));
    const token = new TextDecoder().decode(await creator.bucket.control.object(object?.key ?? ""));
    await creator.post("ownership", { do: "check", token: `${token}x` });
    await creator.pass("ownership", { do: "check", token });
    for (const step of ["destination", "ownership", "finish"]) await creator.get(step);
    expect(creator.pages.length).toBeGreaterThan(15);
    for (const secret of [id, key, encodeURIComponent(key), ACCESS_KEY, SECRET_KEY, token])
      for (const html of creator.pages) expect(html).not.toContain(secret);
  });

  it("shows names that try to be more than text as text, in full length and empty", async () => {
    const hostile = `<img src=x onerror=alert(1)>"'\u202e</script>${"x".repeat(400)}`;
    const creator = await Creator.begin();
    await creator.chooseBucket({ path: `logs/<b>&"'/{DATE}` });
    await creator.send("records");
    await creator.send("output", { name: hostile });
    await creator.pass("preview");
    await creator.pass("ownership", { do: "skip" });
    const { html } = await creator.get("finish");
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(html).toContain("logs/&lt;b&gt;&amp;&quot;&#39;/{DATE}");
    for (const page of [html, (await creator.visitor.get("/jobs/new")).html]) {
      expect(page).not.toContain("<img src=x");
      expect(page).not.toContain("\u202e");
    }
    expect((await creator.post("finish")).status).toBe(303);
    expect((await listJobs())[0]?.name).toBe(hostile);
  });

  it("is not open to readers", async () => {
    const reader = await Visitor.signedIn({ token: await tokenWith(["logs:read"]) });
    const creator = await Creator.begin();
    for (const path of ["/jobs/new", creator.base, `${creator.base}/destination`, `${creator.base}/finish`]) {
      const page = await reader.get(path);
      expect([page.status, textOf(page.html)]).toEqual([403, expect.stringContaining("logs:edit")]);
    }
    expect((await reader.submit("/jobs/new", { kind: "s3" })).status).toBe(403);
    expect((await reader.submit("/jobs/1/duplicate")).status).toBe(403);
  });

  it("can be gone through by somebody who may not read the logs, without what needs that", async () => {
    const visitor = await Visitor.signedIn({ token: await tokenWith(["logs:edit"]) });
    const creator = await Creator.begin({ visitor });
    await creator.chooseBucket();
    expect(textOf((await creator.get("records")).html)).toContain("needs the permission logs:read");
    await creator.send("records");
    await creator.send("output");
    expect(textOf((await creator.get("preview")).html)).toContain("needs the permission logs:read");
    await creator.pass("preview");
    await creator.pass("ownership", { do: "skip" });
    const { location } = await creator.post("finish");
    expect(location).toBe("/jobs/new?created=1");
    expect(textOf((await visitor.get(location ?? "")).html)).toContain("Job 1 created");
  });

  it("takes a job for created that is stored, though not in force yet: another try would make another one", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    const { create } = ControlPlane.prototype;
    vi.spyOn(ControlPlane.prototype, "create").mockImplementation(async function (this: ControlPlane, draft) {
      const change = await create.call(this, draft);
      return change.kind === "changed" ? { ...change, inForce: false } : change;
    });
    expect((await creator.post("finish")).location).toBe("/jobs/1?created");
    expect(await jobs()).toHaveLength(1);
  });
});

describe("what creating the job is refused for", () => {
  it("stands at the step where it can be mended: a bucket that takes nothing any more", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    await creator.bucket.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "PUT" })]);
    const refused = await creator.post("finish");
    expect(refused.status).toBe(400);
    expect(textOf(refused.html)).toContain("HTTP 403 AccessDenied");
    expect(refused.html).toContain(`<a href="${creator.base}/destination">Change it at Destination</a>`);
    expect(textOf((await creator.get("destination")).html)).toContain("HTTP 403 AccessDenied");
    expect((await creator.get("finish")).location).toBe(`${creator.base}/destination`);
    await creator.bucket.control.script([]);
    await creator.chooseBucket({ access_key_id: "", secret_access_key: "" });
    expect((await creator.post("finish")).status).toBe(303);
    expect(await jobs()).toHaveLength(1);
  });

  it("stands at the step where it can be mended: no proof, where one became required meanwhile", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    const strict = await Visitor.signedIn(undefined, REQUIRED);
    const refused = await strict.submit(`${creator.base}/finish`);
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining("incorrect ownership challenge"),
    ]);
    expect(refused.html).toContain(`<a href="${creator.base}/ownership">Change it at Ownership</a>`);
    expect((await strict.get(`${creator.base}/finish`)).location).toBe(`${creator.base}/ownership`);
  });

  it("is said where it is of no step: a hundred jobs", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    vi.spyOn(ControlPlane.prototype, "creationRefusal").mockReturnValue("exceeded max jobs allowed");
    const refused = await creator.post("finish");
    expect([refused.status, textOf(refused.html)]).toEqual([403, expect.stringContaining("exceeded max jobs allowed")]);
    expect((await creator.get("finish")).status).toBe(200);
  });

  it("is noticed at its step already: a name that is too long", async () => {
    const creator = await Creator.begin();
    await creator.chooseBucket();
    // A button of the builder shows the form again and leaves the step open.
    const shown = await creator.send("records", { do: filterDo("show") });
    expect([shown.status, (await creator.get("output")).location]).toEqual([200, `${creator.base}/records`]);
    await creator.send("records");
    const name = await creator.send("output", { name: "n".repeat(513) });
    expect([name.status, textOf(name.html)]).toEqual([400, expect.stringContaining("512")]);
    expect((await creator.get("preview")).location).toBe(`${creator.base}/output`);
  });
});

describe("a copy of a job", () => {
  const jobWith = async (bucket: string, more: object = {}): Promise<number> => {
    const body = { destination_conf: destinationConf(bucket), name: "first", filter: FILTER, ...more };
    const answer = await call<Job>("POST", "/logship/jobs", body);
    expect([answer.status, errorsOf(answer)]).toEqual([201, []]);
    return answer.body.result.id;
  };
  const FILTER = '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}';

  it("has all of it but the name, with keys that nobody sees", async () => {
    const { name } = freshBucket();
    const id = await jobWith(name, {
      output_options: { output_type: "csv" },
      max_upload_interval_seconds: 60,
      canary: false,
    });
    const visitor = await Visitor.signedIn();
    const { location } = await visitor.submit(`/jobs/${id}/duplicate`);
    const page = await visitor.get(location ?? "");
    expect(page.html).toContain(`value="${name}"`);
    expect(page.html).not.toContain(ACCESS_KEY);
    const base = (location ?? "").replace("/destination", "");
    const form = s3Form(name, { path: "copy/{DATE}", access_key_id: "", secret_access_key: "" });
    expect((await visitor.submit(`${base}/destination`, form)).location).toBe(`${base}/records`);
    for (const step of ["records", "output"]) expect((await visitor.get(`${base}/${step}`)).status).toBe(200);
    expect(textOf((await visitor.get("/jobs/new")).html)).toContain("first (copy)");
    await visitor.submit(`${base}/preview`);
    await visitor.submit(`${base}/ownership`, { do: "skip" });
    expect((await visitor.submit(`${base}/finish`)).status).toBe(303);
    const [first, copy] = await listJobs();
    const times = { time_created: expect.any(String), time_modified: expect.any(String) };
    const destination_conf = destinationConf(name, "copy/{DATE}");
    expect(copy).toEqual({ ...first, id: expect.any(Number), name: "first (copy)", destination_conf, ...times });
  });

  it("keeps the keys for that store alone", async () => {
    const { name } = freshBucket();
    const id = await jobWith(name);
    const visitor = await Visitor.signedIn();
    const base = (await visitor.submit(`/jobs/${id}/duplicate`)).location?.replace("/destination", "");
    const other = freshBucket();
    const elsewhere = s3Form(other.name, { access_key_id: "", secret_access_key: "" });
    const refused = await visitor.submit(`${base}/destination`, elsewhere);
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining("Enter the secret access key"),
    ]);
    expect(await other.control.requests()).toEqual([]);
    // A second try, or a pasted text, does not help.
    expect((await visitor.submit(`${base}/destination`, elsewhere)).status).toBe(400);
    const conf = destinationConf(other.name).replaceAll(/key(-id)?=[\w-]+/g, "key$1=****");
    expect((await visitor.submit(`${base}/destination`, { do: "paste", conf })).status).toBe(303);
    expect((await visitor.submit(`${base}/destination`, elsewhere)).status).toBe(400);
    expect(await other.control.requests()).toEqual([]);
  });

  it("keeps them for it when one of the two is replaced, and when that makes the whole too long to be a destination", async () => {
    const { name } = freshBucket();
    const id = await jobWith(name);
    const visitor = await Visitor.signedIn();
    const other = freshBucket();
    const start = destinationConf(name, "").split("&access-key-id=")[0] ?? "";
    // The longest key with which the destination is still valid without the secret.
    const longest = "A".repeat(4_096 - `${start}&access-key-id=`.length);
    const ways = [{}, { endpoint: "store.example" }, { scheme: "r2", account_id: "a".repeat(32) }];
    for (const [access_key_id, more] of ["another", longest].flatMap((key) => ways.map((way) => [key, way] as const))) {
      const base = (await visitor.submit(`/jobs/${id}/duplicate`)).location?.replace("/destination", "");
      await visitor.submit(`${base}/destination`, s3Form(name, { path: "", access_key_id, secret_access_key: "" }));
      expect((await visitor.get(`${base}/destination`)).html).toMatch(/id="field-secret_access_key-hint">Stored\./);
      const elsewhere = s3Form(other.name, { access_key_id: "", secret_access_key: "", ...more });
      const refused = await visitor.submit(`${base}/destination`, elsewhere);
      expect([more, refused.status, textOf(refused.html)]).toEqual([
        more,
        400,
        expect.stringContaining("Enter the secret access key"),
      ]);
    }
    expect(await other.control.requests()).toEqual([]);
  });

  it("is one of a job that is there", async () => {
    const visitor = await Visitor.signedIn();
    for (const id of ["1", "0", "x", "99999999999999999999"])
      expect((await visitor.submit(`/jobs/${id}/duplicate`)).status).toBe(404);
  });

  it("of a name that is as long as one may be has a name that a job may have", async () => {
    const { name } = freshBucket();
    const id = await jobWith(name, { name: `${"n".repeat(504)}${"😀".repeat(4)}` });
    const visitor = await Visitor.signedIn();
    const base = (await visitor.submit(`/jobs/${id}/duplicate`)).location?.replace("/destination", "");
    await visitor.submit(`${base}/destination`, s3Form(name, { access_key_id: "", secret_access_key: "" }));
    const { html } = await visitor.get("/jobs/new");
    expect(html).not.toContain("\ufffd");
    expect(html.isWellFormed()).toBe(true);
  });
});

async function tokenWith(permissions: string[]): Promise<string> {
  const answer = await call<{ value: string }>("POST", "/tokens", { name: "some", permissions });
  return answer.body.result.value;
}
