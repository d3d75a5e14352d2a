import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, inject, it } from "vitest";
import { type ControlPlane, controlPlane } from "../../src/control/plane.ts";
import { adviceOn, isOfStore, mendOf } from "../../src/dashboard/pages/create/advice.ts";
import { freshBucket } from "../api/harness.ts";
import { NOON } from "../record/samples.ts";
import { ACCESS_KEY, SECRET_KEY } from "../support/constants.ts";
import { azureConf, destinationConf } from "../support/runtime/api.ts";
import { setClock } from "../support/runtime/pipeline.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { untouched } from "./browser-form.ts";
import { Creator, s3Form } from "./creating.ts";
import { textOf, Visitor } from "./support.ts";

const LOCAL = { settings: { OBJSTORE_ENDPOINT: "http://localhost:9/cdn-cgi/local/r2/s3" } };

/** The draft table, as text. */
const stored = () =>
  runInDurableObject(controlPlane(env.CONTROL), (_plane: ControlPlane, { storage }) =>
    JSON.stringify(storage.sql.exec("SELECT * FROM draft").toArray()),
  );

describe("a destination that is tested", () => {
  it("is reachable and writable, in words, and the test object is there", async () => {
    const creator = await Creator.begin();
    const tested = await creator.post("destination", s3Form(creator.bucket.name, { do: "test" }));
    expect([tested.status, tested.location]).toEqual([303, `${creator.base}/destination#tested`]);
    const { html } = await creator.get("destination");
    expect(textOf(html)).toContain("Reachable and writable");
    expect((await creator.bucket.control.objects()).map(({ key }) => key)).toEqual(["logs/00010101/test.txt.gz"]);
    // Empty fields keep the entered keys.
    const again = s3Form(creator.bucket.name, { access_key_id: "", secret_access_key: "", do: "continue" });
    expect(await creator.pass("destination", again)).toBe("records");
  });

  const refusals: [name: string, action: Action, words: string, status: string][] = [
    [
      "a key that is not known",
      { do: "answer", status: 403, code: "InvalidAccessKeyId" },
      "does not know this access key ID",
      "HTTP 403 InvalidAccessKeyId",
    ],
    [
      "a secret of another key",
      { do: "answer", status: 403, code: "SignatureDoesNotMatch" },
      "does not match the access key ID",
      "HTTP 403 SignatureDoesNotMatch",
    ],
    ["keys that may not write", { do: "answer", status: 403 }, "may not write there", "HTTP 403"],
    [
      "no such bucket",
      { do: "answer", status: 404, code: "NoSuchBucket" },
      "no bucket of this name",
      "HTTP 404 NoSuchBucket",
    ],
    ["a store that is down", { do: "answer", status: 503, code: "X" }, "is not available", "HTTP 503 X"],
    ["a redirect", { do: "redirect", location: "https://elsewhere.example/" }, "in another region", "HTTP 307"],
    ["a proxy", { do: "discard" }, "does not keep what it is sent", "the object is not there"],
    [
      "a connection that breaks",
      { do: "reset", when: "before" },
      "Nothing answers at this endpoint",
      "connection failed",
    ],
  ];

  it.each(refusals)("says what to do about %s, and does not go on", async (_name, action, words, status) => {
    const creator = await Creator.begin();
    await creator.bucket.control.script([rule(action, { method: "PUT" })]);
    const refused = await creator.post("destination", s3Form(creator.bucket.name));
    expect([refused.status, refused.location]).toEqual([303, `${creator.base}/destination#tested`]);
    const text = textOf((await creator.get("destination")).html);
    expect(text).toContain(words);
    expect(text).toContain(status);
    expect(text).toContain("Test failed");
    expect((await creator.get("records")).location).toBe(`${creator.base}/destination`);
    await creator.bucket.control.script([]);
    await creator.chooseBucket({ access_key_id: "", secret_access_key: "" });
  });

  it("has really wrong keys refused by the store", async () => {
    const creator = await Creator.begin();
    await creator.post("destination", s3Form(creator.bucket.name, { secret_access_key: "another" }));
    expect(textOf((await creator.get("destination")).html)).toMatch(/HTTP 403/);
    expect(await creator.bucket.control.objects()).toEqual([]);
  });

  it("is pointed out where another job ships to the same folder", async () => {
    const first = await Creator.begin();
    await first.toTheEnd();
    await first.post("finish");
    const second = await Creator.begin();
    await second.post("destination", s3Form(first.bucket.name, { do: "test" }));
    expect(textOf((await second.get("destination")).html)).toContain("Another job ships to the same folder");
  });

  it("has to be tested again when anything of it is changed", async () => {
    const creator = await Creator.begin();
    await creator.toTheEnd();
    await creator.post("destination", s3Form("", {}));
    expect((await creator.get("finish")).location).toBe(`${creator.base}/destination`);
  });
});

it("says of a SAS that works what it does not allow, and nothing of one that allows all", async () => {
  for (const [permissions, said] of [
    ["rcw", false],
    ["w", true],
  ] as const) {
    const creator = await Creator.begin({ kind: "azure" });
    await creator.post("destination", {
      do: "paste",
      conf: azureConf(creator.bucket.name, "logs/{DATE}", permissions),
    });
    await creator.send("destination", { do: "test" });
    const shown = textOf((await creator.get("destination")).html);
    expect(shown).toContain("Reachable and writable");
    expect([permissions, shown.includes("It works: the SAS is write-only")]).toEqual([permissions, said]);
  }
});

describe("a region that the store names", () => {
  const wrong = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>";

  it("is offered, and tried with the keys that were entered", async () => {
    const creator = await Creator.begin();
    const { control } = creator.bucket;
    await control.script([rule({ do: "answer", status: 400, body: wrong }, { method: "PUT" })]);
    await creator.post("destination", s3Form(creator.bucket.name, { region: "us-east-1" }));
    const { html } = await creator.get("destination");
    expect(textOf(html)).toContain("The region is not the one of the bucket. The store says that it is eu-west-1.");
    expect(html).toContain("Use region eu-west-1 and test");
    await control.script([]);
    const used = await creator.post("destination", { do: "mend" });
    expect(used.location).toBe(`${creator.base}/destination#tested`);
    const after = (await creator.get("destination")).html;
    expect(textOf(after)).toContain("Reachable and writable");
    expect(after).toContain('value="eu-west-1"');
    expect(after).not.toContain("Use region");
  });

  const tested = { ok: false, message: "error writing object: error uploading: HTTP 301 (region eu-west-1)", atMs: 0 };
  const draft = (endpoint: string, message = tested.message, form = "s3") => ({
    destination: { form, values: { endpoint, region: "auto" }, base: "s3://" },
    tested: { ...tested, message },
  });
  it.each<[string, ReturnType<typeof draft>, string | null]>([
    ["of AWS", draft(""), "eu-west-1"],
    ["behind another endpoint", draft("s3.us-east-1.amazonaws.com"), null],
    ["at this endpoint", draft("a.example", "HTTP 400 AuthorizationHeaderMalformed (region garage)"), "garage"],
    ["of none", draft("", "HTTP 301"), null],
    ["that is not S3", draft("", tested.message, "objstore"), null],
  ])("is offered where it alone has to change: %s", (_what, of, region) =>
    expect(mendOf(of)?.values ?? null).toEqual(region === null ? null : { ...of.destination.values, region }),
  );
});

describe("what is entered", () => {
  const faults: [name: string, more: Record<string, string>, field: string, words: string][] = [
    ["no bucket", { bucket: "" }, "bucket", "Enter the bucket name"],
    ["a bucket with a slash", { bucket: "a/b" }, "bucket", "the bucket must not contain a slash"],
    ["a bucket that is none", { bucket: "-" }, "bucket", "the bucket must be 2 to 255 letters"],
    ["a path with a question mark", { path: "a?b" }, "path", "the path must not contain a ?"],
    ["a path that leads up", { path: "../x" }, "path", "the path must not contain . or .."],
    ["no region", { region: "" }, "region", "Enter the region"],
    ["a region that is none", { region: "Frankfurt am Main" }, "region", "region must be 1 to 64 letters"],
    ["an endpoint that is no host", { endpoint: "http://store.example" }, "endpoint", "endpoint must use https"],
    ["an address of a private network", { endpoint: "10.0.0.1" }, "endpoint", "endpoint must be a public host"],
    ["no secret", { secret_access_key: "" }, "secret_access_key", "Enter the secret access key"],
    ["a key id that no header can carry", { access_key_id: "ü" }, "access_key_id", "must be printable ASCII"],
    ["no name of a secret", { credentials: "env" }, "secret_name", "Enter the secret name"],
    [
      "a secret that there is not",
      { credentials: "env", secret_name: "DEST_NONE" },
      "secret_name",
      "there is no secret DEST_NONE",
    ],
    [
      "a secret that is none of these",
      { credentials: "env", secret_name: "ADMIN_TOKEN" },
      "secret_name",
      "must be env:DEST_",
    ],
  ];

  it("shows what the placeholders of its path mean, with an example of a key of now", async () => {
    setClock(NOON);
    const creator = await Creator.begin();
    const path = "a/{SCRIPT}/dt={DATE_ISO}/hour={HOUR}";
    const said = textOf((await creator.post("destination", s3Form(creator.bucket.name, { path, bucket: "" }))).html);
    for (const words of ["{DATE_ISO} 2026-11-20", "{HOUR} 12", "{SCRIPT} shop", "objects of its own"])
      expect(said).toContain(words);
    expect(said).toContain("Example: a/shop/dt=2026-11-20/hour=12/20261120T120000Z_20261120T120001Z_d4cf1da2.log.gz");
  });

  it.each(faults)("is told beside its field: %s", async (_name, more, field, words) => {
    const creator = await Creator.begin();
    const { status, html } = await creator.post("destination", s3Form(creator.bucket.name, more));
    expect(status).toBe(400);
    const error = new RegExp(`<p class="error" id="field-${field}-error">([^<]*)</p>`).exec(html)?.[1];
    expect(error).toContain(words);
    expect(await creator.bucket.control.requests()).toEqual([]);
    // The form keeps all other values, and the keys once they were entered.
    if (more.path === undefined) expect(html).toContain('value="logs/{DATE}"');
    if (field !== "secret_access_key" && field !== "access_key_id")
      await creator.chooseBucket({ access_key_id: "", secret_access_key: "" });
  });

  it("is told the right endpoint where it entered one that holds the bucket", async () => {
    const creator = await Creator.begin();
    const form = s3Form("traces", { endpoint: "https://traces.store.example" });
    const { status, html } = await creator.post("destination", form);
    expect([status, textOf(html)]).toEqual([400, expect.stringContaining("Use https://store.example")]);
    expect(html).toContain('id="field-endpoint-error"');
  });

  it("takes no longer to refuse where it is made of slashes", async () => {
    const creator = await Creator.begin();
    const path = `a${"/".repeat(150_000)}a`;
    expect((await creator.post("destination", s3Form(creator.bucket.name, { path }))).status).toBe(400);
  }, 5_000);

  it("is sealed where it is stored", async () => {
    const creator = await Creator.begin();
    await creator.chooseBucket();
    const text = await stored();
    expect(text).toContain(creator.base.split("/").at(-1));
    for (const word of [ACCESS_KEY, SECRET_KEY, creator.bucket.name, "logs/", "region"])
      expect(text).not.toContain(word);
  });

  it("may be the keys of a secret of the deployment", async () => {
    const creator = await Creator.begin();
    const more = { credentials: "env", secret_name: "DEST_TEST", access_key_id: "", secret_access_key: "" };
    await creator.chooseBucket(more);
    expect((await creator.get("destination")).html).toContain('value="DEST_TEST"');
  });

  it("may be pasted, and fills the form", async () => {
    const creator = await Creator.begin();
    const conf = destinationConf(creator.bucket.name, "pasted/{DATE}");
    expect((await creator.post("destination", { do: "paste", conf })).status).toBe(303);
    const { html } = await creator.get("destination");
    expect(html).toContain('value="pasted/{DATE}"');
    expect(html).toContain(`value="${inject("s3Url")}"`);
    const form = s3Form(creator.bucket.name, { path: "pasted/{DATE}", access_key_id: "", secret_access_key: "" });
    expect(await creator.pass("destination", form)).toBe("records");
  });

  it.each(["", "nonsense", `s3://b?secret-access-key=${SECRET_KEY}`, "s3://bucket/x?region=auto&other=secret-of-mine"])(
    "is not shown again where it was pasted and is none: %j",
    async (conf) => {
      const creator = await Creator.begin();
      const { status, html } = await creator.post("destination", { do: "paste", conf });
      expect([status, textOf(html)]).toEqual([400, expect.stringContaining("The pasted text is not shown again")]);
      expect(html).not.toContain("secret-of-mine");
    },
  );

  it("goes with its owner's keys to another bucket of the same store, and to no other store", async () => {
    const creator = await Creator.begin();
    await creator.chooseBucket();
    const other = freshBucket();
    const kept = { access_key_id: "", secret_access_key: "" };
    expect((await creator.post("destination", s3Form(other.name, { ...kept, endpoint: "store.example" }))).status).toBe(
      400,
    );
    const lost = await creator.post("destination", s3Form(other.name, kept));
    expect(textOf(lost.html)).toContain("Enter the secret access key");
    await creator.chooseBucket();
    expect((await creator.post("destination", s3Form(other.name, kept))).location).toBe(`${creator.base}/records`);
  });

  it("has the local bucket at hand in local development alone", async () => {
    const away = await Creator.begin();
    expect((await away.get("destination")).html).not.toContain("Use the local bucket");
    const visitor = await Visitor.signedIn(undefined, LOCAL);
    expect((await visitor.get("/jobs/new")).html).toContain("Use the local bucket");
    const creator = await Creator.begin({ visitor, kind: "local" });
    const { html } = await creator.get("destination");
    expect(html).toContain('value="traces"');
    expect(html).not.toMatch(/local-(?:access|secret)-key/);
    const used = await creator.post("destination", { do: "local" });
    expect(used.location).toBe(`${creator.base}/destination#tested`);
    // Nothing listens there in this test, but the bucket was asked.
    expect(textOf((await creator.get("destination")).html)).toContain("Nothing answers at this endpoint");
  });

  it("is of one kind of store or the other", async () => {
    const creator = await Creator.begin({ kind: "objstore" });
    expect(untouched((await creator.get("destination")).html, `${creator.base}/destination`).get("account_id")).toBe(
      "test-account",
    );
    const s3 = await creator.get("destination?scheme=s3");
    expect(s3.html).toContain('name="region"');
    expect((await creator.get("destination?scheme=nonsense")).html).toContain('name="account_id"');
    const form = { scheme: "objstore", account_id: "a1", region: "" };
    await creator.chooseBucket(form);
    expect((await creator.get("destination?scheme=objstore")).html).toContain('value="a1"');
  });
});

it("has advice for whatever a store may say", () => {
  for (const message of ["", "HTTP 418", "HTTP 200 toString", "HTTP 403 constructor", "x"])
    expect(adviceOn(message)).toMatch(/^[A-Z].*\.$/);
  expect([isOfStore("error writing object: error uploading: HTTP 403"), isOfStore("region is missing")]).toEqual([
    true,
    false,
  ]);
});
