import { afterEach, describe, expect, inject, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { entryOf } from "../../../src/ship/destinations/entry.ts";
import { FORMS } from "../../../src/ship/destinations/kinds.ts";
import { ControlPlane } from "../../../src/state/control/plane.ts";
import { adviceOn, isOfStore, mendOf } from "../../../src/web/dashboard/pages/shipping/test-write.tsx";
import { NOON } from "../../formats/record/samples.ts";
import { PRODUCTION } from "../../ship/destinations/context.ts";
import { FIXTURES, SECRETS } from "../../ship/destinations/kinds.ts";
import { RECEIVERS } from "../../ship/destinations/receivers.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { azureConf, destinationConf } from "../../support/runtime/api.ts";
import { setClock } from "../../support/runtime/pipeline.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { listJobs } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { untouched } from "./browser-form.ts";
import { besideField, Creator, entered, s3Form } from "./creating.ts";
import { openGroups, textOf, Visitor } from "./support.ts";

afterEach(() => vi.restoreAllMocks());

const LOCAL = { settings: { OBJSTORE_ENDPOINT: "http://localhost:9/cdn-cgi/local/r2/s3", DESTINATION_BINDINGS: "" } };
describe("the form of a new job", () => {
  it("makes one of a name and a destination, enabled, with every default stated", async () => {
    const creator = await Creator.begin();
    const text = textOf(creator.page.html);
    for (const said of ["Every event", "All fields, NDJSON", "30 s, 100,000 records or 100 MB", "Enabled"])
      expect(text).toContain(said);
    expect(openGroups(creator.page.html)).toEqual([]);
    const done = await creator.s3("save", {});
    const [job] = await listJobs();
    expect([done.status, done.location]).toEqual([303, `/jobs/${job?.id}?created`]);
    expect(job).toMatchObject({ name: null, enabled: true, filter: null, max_upload_records: 0 });
    expect(job).not.toHaveProperty("output_options");
    expect(job?.destination_conf).toBe(
      `s3://${creator.bucket.name}/logs/{DATE}?region=auto&endpoint=${encodeURIComponent(inject("s3Url"))}&access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`,
    );
  });

  it("begins with a bound bucket, the local one or R2, whichever there is", async () => {
    const first = async (options: object) => (await Visitor.signedIn(undefined, options)).get("/jobs/new");
    const [bound, local, away] = await Promise.all(
      [{}, LOCAL, { settings: { DESTINATION_BINDINGS: "" } }].map((options) => first(options)),
    );
    const form = untouched(bound?.html ?? "", "/jobs/new");
    expect([form.get("scheme"), form.get("destination-binding")]).toEqual(["binding", "TRACES"]);
    expect(untouched(local?.html ?? "", "/jobs/new").get("destination-bucket")).toBe("traces");
    expect(local?.html).not.toMatch(/local-(?:access|secret)-key/);
    expect(untouched(away?.html ?? "", "/jobs/new").get("destination-account_id")).toBe("test-account");
    expect(away?.html).not.toContain("Local bucket");
  });

  it("offers every kind, shows the fields of the chosen one, and keeps what else was entered", async () => {
    const creator = await Creator.begin();
    await creator.press("kind:s3", {
      name: "kept",
      "filter-json": '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}',
    });
    for (const { id, name, parts, group } of FORMS) {
      expect(textOf(creator.page.html)).toContain(name);
      const { html } = await creator.press(`kind:${id}`);
      const form = untouched(html, "/jobs/new");
      expect([form.get("scheme"), form.get("name"), form.get("key-0")]).toEqual([id, "kept", "Outcome"]);
      for (const part of parts) if (!("ways" in part)) expect(html).toContain(`name="destination-${part.name}"`);
      expect([html.includes('name="canary"'), html.includes('id="ownership"')]).toEqual(
        group === "store" ? [true, true] : [false, false],
      );
      expect(html).not.toContain('class="error"');
    }
    expect(await listJobs()).toEqual([]);
  });

  it("opens each group that differs from its default or has a fault, and no other", async () => {
    const creator = await Creator.begin();
    await creator.s3("preview", {});
    expect(textOf(creator.page.html)).toContain("No recent events");
    expect(openGroups(creator.page.html)).toEqual([]);
    await creator.press("preview", { max_upload_records: "5000", output_type: "csv" });
    expect(openGroups(creator.page.html)).toEqual(["format", "limits"]);
    const refused = await creator.press("save", { max_upload_records: "", output_type: "ndjson", "sample-rate": "2" });
    expect([refused.status, openGroups(refused.html)]).toEqual([400, ["sample"]]);
    const unnamed = await creator.press("save", { "sample-rate": "", name: "n".repeat(513) });
    expect([unnamed.status, openGroups(unnamed.html)]).toEqual([400, []]);
    expect(unnamed.html).toMatch(/id="field-name-error">[^<]*512/);
    expect(await listJobs()).toEqual([]);
  });

  it("makes one job of a form that is sent twice, and says so", async () => {
    const creator = await Creator.begin();
    const answers = await Promise.all([creator.s3("save"), creator.s3("save")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
    expect(textOf(creator.page.html)).toContain("This form was sent before");
    expect(await listJobs()).toHaveLength(1);
    // As meant, once more.
    expect((await creator.press("save")).status).toBe(303);
    expect(await listJobs()).toHaveLength(2);
  });

  it("takes a job for created that is stored, though not in force yet: another try would make another one", async () => {
    const creator = await Creator.begin();
    const { create } = ControlPlane.prototype;
    vi.spyOn(ControlPlane.prototype, "create").mockImplementation(async function (this: ControlPlane, draft) {
      const change = await create.call(this, draft);
      return change.kind === "changed" ? { ...change, inForce: false } : change;
    });
    expect((await creator.s3("save")).location).toBe("/jobs/1?created");
  });

  it("takes the first minute that it says all is kept since, and so does that of a rerun", async () => {
    setClock(NOON + 21_000);
    const { visitor, bucket, page } = await Creator.begin();
    const first = "2026-11-19 12:01";
    expect(textOf(page.html)).toContain(`that arrived since ${first} UTC`);
    const made = await visitor.submit("/jobs/new", { ...s3Form(bucket.name), since: first, do: "save" });
    expect(made.location).toBe("/jobs/1?created");
    expect(textOf((await visitor.get("/jobs/1/rerun")).html)).toContain(`The log keeps everything since ${first}`);
    const begun = await visitor.submit("/jobs/1/rerun", { since: first, until: "2026-11-20 12:00", to: "own" });
    expect(begun.location).toBe("/jobs/1/replay#replays");
  });

  it("is not open to readers, and needs no right to read", async () => {
    const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
    expect((await reader.get("/jobs/new")).status).toBe(403);
    expect((await reader.submit("/jobs/new", { ...s3Form("some-bucket"), do: "save" })).status).toBe(403);
    const editor = await Visitor.signedIn({ token: (await token(["logs:edit"])).secret });
    const creator = await Creator.begin(editor);
    expect(textOf(creator.page.html)).toContain("need logs:read");
    const { location } = await creator.s3("save");
    expect(location).toBe("/jobs/new?created=1");
    expect(textOf((await editor.get(location ?? "")).html)).toContain("Job 1 created");
  });

  it("shows names that try to be more than text as text, and stores them as they are", async () => {
    const hostile = `<img src=x onerror=alert(1)>"'\u202e</script>${"x".repeat(400)}`;
    const creator = await Creator.begin();
    const { html } = await creator.press("preview", {
      ...s3Form(creator.bucket.name, { path: `a/<b>&"'/{DATE}` }),
      name: hostile,
    });
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
    expect(html).not.toMatch(/<img src=x|<b>/);
    expect((await creator.press("save")).status).toBe(303);
    expect((await listJobs())[0]?.name).toBe(hostile);
  });
});

describe.each(Object.entries({ ...FIXTURES, ...RECEIVERS }))(
  "a destination of each kind: %s",
  (_name, { conf, service }) => {
    it("is created from its fields, and no secret is on a page", async () => {
      const { fetch } = service();
      vi.spyOn(platform, "fetch").mockImplementation(fetch);
      setClock(NOON + 1_000);
      const valuesOf = (text: string) => {
        const read = entryOf(text, PRODUCTION);
        if (!read.ok) throw new Error(read.why);
        return read.value;
      };
      const { form, values } = valuesOf(conf);
      const creator = await Creator.begin();
      await creator.press(`kind:${form}`);
      const done = await creator.press("save", { scheme: form, ...entered(values) });
      expect([done.location, textOf(done.html)]).toEqual(["/jobs/1?created", ""]);
      const [job] = await listJobs();
      expect(valuesOf(String(job?.destination_conf)).values).toEqual(values);
      for (const html of creator.pages) for (const secret of SECRETS) expect(html).not.toContain(secret);
    });
  },
);

describe("what is entered", () => {
  const faults: [name: string, more: Record<string, string>, field: string, words: string][] = [
    ["no bucket", { bucket: "" }, "bucket", "Enter the bucket name"],
    ["a bucket with a slash", { bucket: "a/b" }, "bucket", "the bucket must not contain a slash"],
    ["a path with a question mark", { path: "a?b" }, "path", "the path must not contain a ?"],
    ["no region", { region: "" }, "region", "Enter the region"],
    ["an address of a private network", { endpoint: "10.0.0.1" }, "endpoint", "endpoint must be a public host"],
    ["no secret", { secret_access_key: "" }, "secret_access_key", "Enter the secret access key"],
    ["a secret that there is not", { credentials: "env", secret_name: "DEST_NO" }, "secret_name", "there is no secret"],
  ];

  it.each(faults)("is told beside its field, and kept: %s", async (_name, more, field, words) => {
    const creator = await Creator.begin();
    const { status, html } = await creator.press("save", { ...s3Form(creator.bucket.name, more), name: "kept" });
    expect([status, besideField(html, field)]).toEqual([400, expect.stringContaining(words)]);
    expect(await creator.bucket.control.requests()).toEqual([]);
    expect(untouched(html, "/jobs/new").get("name")).toBe("kept");
    const whole = Object.fromEntries(
      Object.keys(more).map((name) => [name, s3Form(creator.bucket.name)[`destination-${name}`] ?? ""]),
    );
    expect((await creator.press("save", entered(whole))).status).toBe(303);
  });

  const refusals: [name: string, action: Action, field: string | null, advice: string][] = [
    [
      "an unknown key",
      { do: "answer", status: 403, code: "InvalidAccessKeyId" },
      "access_key_id",
      "does not know this access key ID",
    ],
    [
      "a wrong secret",
      { do: "answer", status: 403, code: "SignatureDoesNotMatch" },
      "secret_access_key",
      "does not match the access key ID",
    ],
    ["no such bucket", { do: "answer", status: 404, code: "NoSuchBucket" }, "bucket", "no bucket with this name"],
    ["a connection that breaks", { do: "reset", when: "before" }, "endpoint", "Nothing answers at this endpoint"],
    ["keys that may not write", { do: "answer", status: 403 }, null, "may not write there"],
    ["a store that is down", { do: "answer", status: 503, code: "X" }, null, "is not available"],
    ["a proxy", { do: "discard" }, null, "does not keep what it accepts"],
  ];

  it.each(refusals)(
    "has what to do beside its field where the store refuses it: %s",
    async (_name, action, field, advice) => {
      const creator = await Creator.begin();
      await creator.bucket.control.script([rule(action, { method: "PUT" })]);
      const { status, html } = await creator.s3("save");
      expect([status, textOf(html)]).toEqual([400, expect.stringContaining("nothing is stored")]);
      if (field === null) expect(textOf(html)).toMatch(new RegExp(`Test failed .*${advice}`));
      else expect(besideField(html, field)).toContain(advice);
      await creator.bucket.control.script([]);
      expect((await creator.press("save")).status).toBe(303);
      expect(await listJobs()).toHaveLength(1);
    },
  );

  it("can be tested without a job, and says where another one ships to the same folder", async () => {
    const creator = await Creator.begin();
    expect(textOf((await creator.s3("test")).html)).toContain("Reachable and writable");
    expect((await creator.bucket.control.objects()).map(({ key }) => key)).toEqual(["logs/00010101/test.txt.gz"]);
    expect(await listJobs()).toEqual([]);
    expect((await creator.press("save")).status).toBe(303);
    expect(textOf((await creator.press("test")).html)).toContain("Another job ships to the same folder");
    const sas = azureConf(creator.bucket.name, "logs/{DATE}", "w");
    expect(textOf((await creator.press("test", { destination_conf: sas })).html)).toContain("the SAS is write-only");
  });

  it("takes the region that the store names, with the keys that were entered", async () => {
    const creator = await Creator.begin();
    const body = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>";
    await creator.bucket.control.script([rule({ do: "answer", status: 400, body }, { method: "PUT" })]);
    const { html } = await creator.s3("save", { region: "us-east-1" });
    expect(besideField(html, "region")).toContain("The store says that it is eu-west-1");
    expect(html).toContain("Use region eu-west-1 and test");
    await creator.bucket.control.script([]);
    const mended = (await creator.press("mend")).html;
    expect([textOf(mended), untouched(mended, "/jobs/new").get("destination-region")]).toEqual([
      expect.stringContaining("Reachable and writable"),
      "eu-west-1",
    ]);
  });

  it.each<[string, string, string, string, string | null]>([
    ["of AWS", "", "HTTP 301 (region eu-west-1)", "s3", "eu-west-1"],
    ["behind another endpoint", "s3.us-east-1.amazonaws.com", "HTTP 301 (region eu-west-1)", "s3", null],
    ["at this endpoint", "a.example", "HTTP 400 AuthorizationHeaderMalformed (region garage)", "s3", "garage"],
    ["of none", "", "HTTP 301", "s3", null],
    ["that is not S3", "", "HTTP 301 (region eu-west-1)", "objstore", null],
  ])("is offered a region where it alone has to change: %s", (_name, endpoint, message, form, region) => {
    const values = { endpoint, region: "auto" };
    const mended = mendOf({ form, values, base: "s3://" }, message)?.values ?? null;
    expect(mended).toEqual(region === null ? null : { ...values, region });
  });

  it("may be pasted as a whole, and is not shown again where it is none", async () => {
    const creator = await Creator.begin();
    for (const conf of ["nonsense", `s3://b?secret-access-key=${SECRET_KEY}`, "s3://bb/x?region=auto&other=a-secret"]) {
      const { status, html } = await creator.press("save", { destination_conf: conf });
      expect([status, textOf(html)]).toEqual([
        400,
        expect.stringContaining("logship does not show the pasted text again"),
      ]);
      expect(html).not.toMatch(/a-secret|nonsense/);
    }
    const conf = destinationConf(creator.bucket.name, "pasted/{DATE}");
    const { html } = await creator.press("preview", { destination_conf: conf });
    expect(untouched(html, "/jobs/new").get("destination-path")).toBe("pasted/{DATE}");
    expect((await creator.press("save")).status).toBe(303);
    expect((await listJobs())[0]?.destination_conf).toBe(conf);
  });

  it("shows an example of a key, and what its placeholders mean", async () => {
    setClock(NOON);
    const creator = await Creator.begin();
    const said = textOf((await creator.s3("preview", { path: "a/{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" })).html);
    for (const words of ["{DATE_ISO} 2026-11-20", "{HOUR} 12", "{SCRIPT} shop", "its own objects"])
      expect(said).toContain(words);
    expect(said).toContain("Example: a/shop/dt=2026-11-20/hour=12/20261120T120000Z_20261120T120001Z_d4cf1da2.log.gz");
  });

  it("has advice for whatever a store may say", () => {
    for (const message of ["", "HTTP 418", "HTTP 200 toString", "HTTP 403 constructor", "x"])
      expect(adviceOn(message)).toMatch(/^[A-Z].*\.$/);
    expect([isOfStore("error writing object: HTTP 403"), isOfStore("region is missing")]).toEqual([true, false]);
  });
});
