import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { type Bucket, call, freshBucket, type Job } from "../api/harness.ts";
import { validBody } from "./bodies.ts";
import { untouched } from "./browser-form.ts";
import { type Shown, textOf, Visitor } from "./support.ts";

const FILTER = '{ "where": {"key":"Outcome","operator":"!eq","value":"ok"} }';
const OPTIONS = { field_names: ["Outcome", "ScriptName"], merge_subrequests: true };

let bucket: Bucket;
let visitor: Visitor;
beforeEach(async () => {
  bucket = freshBucket();
  visitor = await Visitor.signedIn();
});

async function created(fields: object = {}): Promise<number> {
  const body = {
    name: "shop",
    filter: FILTER,
    output_options: OPTIONS,
    ...fields,
    destination_conf: destinationConf(bucket.name),
  };
  const answer = await call<Job>("POST", "/logship/jobs", body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body.errors));
  return answer.body.result.id;
}

const stored = async (id: number): Promise<Job> => (await call<Job>("GET", `/logship/jobs/${id}`)).body.result;

const edit = (id: number) => `/jobs/${id}/edit`;

type Fields = Record<string, string | undefined>;

/** The edit form with some fields changed; undefined removes one. */
async function filled(id: number, fields: Fields, page?: Shown): Promise<URLSearchParams> {
  const form = untouched((page ?? (await visitor.get(edit(id)))).html, edit(id));
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) form.delete(name);
    else form.set(name, value);
  }
  return form;
}

const save = async (id: number, fields: Fields): Promise<Shown> =>
  visitor.submit(edit(id), await filled(id, { do: "save", ...fields }));

/** The last entry of the audit. */
async function lastChange(): Promise<{ action: string; body: unknown } | undefined> {
  const { body } = await call<{ action: string; body: unknown }[]>("GET", "/logship/audit");
  return body.result[0];
}

describe("editing a job", () => {
  it("changes nothing, and asks for no change, if nothing was touched", async () => {
    const id = await created();
    const before = await stored(id);
    const answer = await save(id, {});
    expect([answer.status, answer.location]).toEqual([303, `${edit(id)}?same`]);
    expect(await stored(id)).toEqual(before);
    expect((await lastChange())?.action).toBe("job.create");
    expect(textOf((await visitor.get(`${edit(id)}?same`)).html)).toContain("No changes");
  });
  it("leaves every job alone that nobody touched, whatever it is", async () => {
    await fc.assert(
      fc.asyncProperty(validBody, async (body) => {
        const id = await created(body);
        expect((await save(id, {})).location).toBe(`${edit(id)}?same`);
        await call("DELETE", `/logship/jobs/${id}`);
      }),
      { numRuns: 15 },
    );
  });
  it("sends what is different, and nothing else", async () => {
    const id = await created();
    const answer = await save(id, { name: "new", max_upload_records: "5000" });
    expect([answer.status, answer.location]).toEqual([303, `${edit(id)}?saved`]);
    expect(await lastChange()).toMatchObject({ action: "job.update", body: { name: "new", max_upload_records: 5000 } });
    expect(await stored(id)).toMatchObject({ name: "new", filter: FILTER, output_options: OPTIONS });
    // The stored secrets are unchanged.
    expect((await stored(id)).destination_conf).toBe(destinationConf(bucket.name));
  });
  it("builds a filter over several pages, and stores it at the last", async () => {
    const id = await created({ filter: "" });
    const press = async (button: string, fields: Fields, page?: Shown) => {
      const form = await filled(id, { ...fields, do: button }, page);
      const answer = await visitor.submit(edit(id), form);
      expect(answer.status).toBe(200);
      return answer;
    };
    let page = await press("filter:add:0", { name: "kept in the form" });
    page = await press("filter:add:0", { "key-0": "Outcome", "operator-0": "eq", "value-0": "exception" }, page);
    expect((await stored(id)).filter).toBe("");
    const fields = { "join-0": "or", "key-2": "CPUTimeMs", "operator-2": "gt", "value-2": "50", do: "save" };
    const asked = await visitor.submit(edit(id), await filled(id, fields, page));
    expect(textOf(asked.html)).toContain("records that the new filter does not match are no longer shipped");
    const answer = await visitor.submit(edit(id), await filled(id, { do: "save" }, asked));
    expect(answer.status).toBe(303);
    const job = await stored(id);
    expect(job.name).toBe("kept in the form");
    expect(JSON.parse(`${job.filter}`)).toEqual({
      where: {
        or: [
          { key: "Outcome", operator: "eq", value: "exception" },
          { key: "CPUTimeMs", operator: "gt", value: 50 },
        ],
      },
    });
  });
  it("shows what is wrong beside what was sent, and stores nothing of it", async () => {
    const id = await created();
    const before = await stored(id);
    const answer = await save(id, {
      "key-0": "outcome",
      max_upload_interval_seconds: "12",
      "sample-rate": "2",
      record_template: "{{ if }}",
      name: "other",
    });
    expect(answer.status).toBe(400);
    const text = textOf(answer.html);
    expect(text).toContain("Not saved");
    expect(answer.html).toMatch(
      /id="field-max_upload_interval_seconds-error">max_upload_interval_seconds: must be 0 or/,
    );
    const again = untouched(answer.html, edit(id));
    expect([again.get("name"), again.get("key-0"), again.get("max_upload_interval_seconds")]).toEqual([
      "other",
      "outcome",
      "12",
    ]);
    expect(await stored(id)).toEqual(before);
    // With the right shape, the meaning is checked.
    const meant = await save(id, { "key-0": "outcome", record_template: "{{ if }}" });
    expect(meant.html).toMatch(/bad predicate: where\.key: unknown field [^<]*, did you mean [^<]*Outcome/);
    expect(meant.html).toMatch(/id="field-record_template-error">bad template: /);
  });
  it("has a preview of what is not saved", async () => {
    const id = await created();
    const page = await visitor.submit(edit(id), await filled(id, { do: "preview", name: "unsaved" }));
    expect(page.status).toBe(200);
    expect(textOf(page.html)).toContain("Preview on recent events");
    expect(untouched(page.html, edit(id)).get("name")).toBe("unsaved");
    const bad = await visitor.submit(edit(id), await filled(id, { do: "preview", "value-0": "", "operator-0": "lt" }));
    expect([bad.status, textOf(bad.html)]).toEqual([400, expect.stringContaining("lt does not apply to Outcome")]);
  });
});

describe("a save that takes something away", () => {
  const OTHERS = "CPUTimeMs, DispatchNamespace, Entrypoint, Event, EventTimestampMs, EventType, Exceptions, Logs";

  it("names the fields that go, stores nothing, and is done when it is pressed again", async () => {
    visitor = await Visitor.signedIn(undefined, { settings: { EXTRA_FIELDS: "ExceptionStacks" } });
    const id = await created({ output_options: {}, filter: null });
    const asked = await save(id, { fields: "some", field: "ExceptionStacks" });
    expect(asked.status).toBe(200);
    expect(textOf(asked.html)).toContain(`Not saved yet. Save anyway? no longer shipped: ${OTHERS}, Outcome`);
    expect((await stored(id)).output_options).toEqual({});
    const answer = await visitor.submit(edit(id), await filled(id, { do: "save" }, asked));
    expect(answer.location).toBe(`${edit(id)}?saved`);
    expect((await stored(id)).output_options).toEqual({ field_names: ["ExceptionStacks"] });
  });
  it("asks again where more goes than was told", async () => {
    const id = await created();
    const asked = await save(id, { field: "Outcome" });
    expect(textOf(asked.html)).toContain("no longer shipped: ScriptName");
    const more = await visitor.submit(edit(id), await filled(id, { do: "save", "sample-rate": "0.5" }, asked));
    expect(textOf(more.html)).toContain("the share of records that is shipped falls from 1 to 0.5");
    expect((await stored(id)).output_options).toEqual(OPTIONS);
  });
  it("asks nothing where all stays, and where something is added: all fields, and also an extra one", async () => {
    visitor = await Visitor.signedIn(undefined, { settings: { EXTRA_FIELDS: "ExceptionStacks" } });
    const id = await created({ output_options: {}, filter: null });
    expect((await save(id, { fields: "also", field: "ExceptionStacks" })).location).toBe(`${edit(id)}?saved`);
    expect((await stored(id)).output_options).toEqual({ field_names: ["*", "ExceptionStacks"] });
    expect((await save(id, {})).location).toBe(`${edit(id)}?same`);
    expect(textOf((await visitor.get(edit(id))).html)).toContain("All fields and 1 extra field");
  });
  it.each<[gone: string, fields: Fields]>([
    ["Outcome", { record_template: "{{ .ScriptName }}" }],
    ["Outcome", { fields: "some", field: "ScriptName", output_type: "parquet" }],
    ["Outcome", { fields: "some", field: "ScriptName", output_type: "csv" }],
    ["an invocation without a log line", { rows: "log" }],
  ])("asks of every change of the format that does: %s", async (gone, fields) => {
    const id = await created();
    const asked = await save(id, fields);
    expect([asked.status, textOf(asked.html).includes(gone)]).toEqual([200, true]);
    expect((await stored(id)).output_options).toEqual(OPTIONS);
  });
});

describe("two people who edit a job", () => {
  it("do not undo each other's changes unseen", async () => {
    const id = await created();
    const mine = await filled(id, { name: "mine", do: "save" });
    await call("PUT", `/logship/jobs/${id}`, { name: "theirs <b>", enabled: true });
    const answer = await visitor.submit(edit(id), mine);
    expect(answer.status).toBe(409);
    const text = textOf(answer.html);
    expect(text).toContain("Not saved: the job changed since you opened this form");
    expect(text).toMatch(/name theirs <b> mine/);
    expect(answer.html).not.toContain("<b>");
    expect((await stored(id)).name).toBe("theirs <b>");
    // After the warning, saving again overwrites.
    const asked = await visitor.submit(edit(id), await filled(id, { do: "save" }, answer));
    expect(textOf(asked.html)).toContain("events that arrive while the job is paused are not shipped");
    expect((await visitor.submit(edit(id), await filled(id, { do: "save" }, asked))).status).toBe(303);
    expect(await stored(id)).toMatchObject({ name: "mine", enabled: false });
  });
  it("notice it behind any number of buttons", async () => {
    const id = await created();
    const page = await visitor.submit(edit(id), await filled(id, { do: "filter:add:0" }));
    await call("PUT", `/logship/jobs/${id}`, { name: "theirs" });
    const preview = await visitor.submit(edit(id), await filled(id, { do: "preview" }, page));
    expect((await visitor.submit(edit(id), await filled(id, { do: "save" }, preview))).status).toBe(409);
  });
  it("may do so at once where neither changes anything", async () => {
    const id = await created();
    const form = await filled(id, { do: "save", base: "" });
    expect(textOf((await visitor.submit(edit(id), form)).html)).toContain("The form matches what is stored now");
  });
});

describe("the destination of a job that is edited", () => {
  it("moves to another path with the stored keys, and is tried there", async () => {
    const id = await created();
    expect((await save(id, { "destination-path": "other/{DATE}" })).status).toBe(303);
    expect((await stored(id)).destination_conf).toBe(destinationConf(bucket.name, "other/{DATE}"));
    expect((await bucket.control.objects()).map(({ key }) => key)).toContain("other/00010101/test.txt.gz");
  });
  it("is refused in words where it cannot be written, and no key that was entered is shown again", async () => {
    const id = await created();
    const answer = await save(id, { "destination-secret_access_key": "wrong-secret/+&<", name: "other" });
    expect(answer.status).toBe(400);
    expect(textOf(answer.html)).toMatch(/error validating destination: .*403/);
    expect(answer.html).not.toContain("wrong-secret");
    expect((await stored(id)).destination_conf).toBe(destinationConf(bucket.name));
  });
  it("is not shown again where it is broken: anything in it may be a key", async () => {
    const id = await created();
    for (const destination_conf of [`s3://${bucket.name}&x=${SECRET_KEY}`, `s3://b/x&access-key-id=${SECRET_KEY}`]) {
      const { status, html } = await save(id, { destination_conf });
      expect([status, html.includes(SECRET_KEY)]).toEqual([400, false]);
    }
  });
  it("may be of another kind, whose keys are asked for", async () => {
    const id = await created();
    const page = await visitor.submit(edit(id), await filled(id, { do: "kind:gs", name: "unsaved" }));
    const form = await filled(id, { do: "save" }, page);
    expect([form.get("scheme"), form.get("name"), form.get("destination-bucket")]).toEqual([
      "gs",
      "unsaved",
      bucket.name,
    ]);
    const answer = await visitor.submit(edit(id), form);
    expect([answer.status, textOf(answer.html)]).toEqual([400, expect.stringContaining("Enter the secret")]);
    expect((await stored(id)).destination_conf).toBe(destinationConf(bucket.name));
  });
  it("takes other keys, as they are", async () => {
    const id = await created();
    const before = (await bucket.control.puts()).length;
    // The same keys as stored: the page cannot know that.
    const keys = {
      "destination-access_key_id": ACCESS_KEY,
      "destination-secret_access_key": SECRET_KEY,
      "destination-path": "x/{DATE}",
    };
    expect((await save(id, keys)).status).toBe(303);
    expect((await bucket.control.puts()).length).toBe(before + 1);
    expect((await stored(id)).destination_conf).toBe(destinationConf(bucket.name, "x/{DATE}"));
  });
  it("takes a whole one, whose secrets are on no page", async () => {
    const id = await created();
    const other = freshBucket();
    const conf = destinationConf(other.name, "here");
    const shown = await visitor.submit(edit(id), await filled(id, { destination_conf: conf, do: "preview" }));
    expect(shown.status).toBe(200);
    expect([untouched(shown.html, edit(id)).get("destination_conf"), shown.html.includes(SECRET_KEY)]).toEqual([
      "",
      false,
    ]);
    // The page carries it.
    expect((await visitor.submit(edit(id), await filled(id, { do: "save" }, shown))).status).toBe(303);
    expect((await stored(id)).destination_conf).toBe(conf);
  });
  it("keeps a masked secret for the same store alone", async () => {
    const id = await created();
    const masked = (conf: string) => conf.replace(/(key-id|access-key)=[^&]+/g, "$1=****");
    const elsewhere = masked(destinationConf(freshBucket().name));
    const answer = await save(id, { destination_conf: elsewhere });
    expect([answer.status, textOf(answer.html)]).toEqual([400, expect.stringContaining("Enter the secret access key")]);
    expect((await save(id, { destination_conf: masked(destinationConf(bucket.name, "here")) })).status).toBe(303);
    expect((await stored(id)).destination_conf).toBe(destinationConf(bucket.name, "here"));
  });
  it("is tested and proven with the stored keys, which are on no page", async () => {
    const id = await created();
    const moved = { "destination-path": "moved/{DATE}" };
    let page: Shown | undefined;
    for (const button of ["test", "own:write", "own:read", "save"]) {
      page = await visitor.submit(edit(id), await filled(id, { ...moved, do: button }, page));
      for (const key of [ACCESS_KEY, SECRET_KEY]) expect(page.html).not.toContain(key);
      if (button === "own:read") expect(textOf(page.html)).toContain("It proves that you own the bucket");
    }
    expect(page?.location).toBe(`${edit(id)}?saved`);
  });
});
