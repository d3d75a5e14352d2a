/** The pages of what is set aside. */
import { env } from "cloudflare:workers";
import { gunzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import type { Part } from "../../../src/formats/queue/message.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { JobReader } from "../../../src/index.ts";
import { createApp } from "../../../src/web/app.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { id } from "../../ship/consumer/scripted.ts";
import { SECRET_KEY } from "../../support/constants.ts";
import { encodeMessage } from "../../support/message.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { poison, putOnHold } from "../../support/runtime/hold.ts";
import {
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  readAll,
  runAlarm,
  setClock,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call } from "../api/harness.ts";
import { token } from "../api/principals.ts";
import { untouched } from "./browser-form.ts";
import { s3Form } from "./creating.ts";
import { IMAGE, LONG, OBEYED, SCRIPT, STEERING } from "./hostile.ts";
import { ORIGIN, textOf, Visitor } from "./support.ts";

const lineOf = (ScriptName: string): string => recordLine(traceRecord({ ScriptName, EventTimestampMs: NOON }));

const messageOf = (n: number, lines: readonly string[], fields: Partial<Part> = {}): ArrayBuffer =>
  encodeMessage(
    { id: id(n), takenInMs: NOON, keyed: false, shards: 1, records: lines.length, ...fields },
    new TextEncoder().encode(lines.map((line) => `${line}\n`).join("")),
  ).buffer;

/** Sets a readable message aside. */
const aside = (n: number, lines: readonly string[], why = "failed too often", fields = {}): Promise<void> =>
  putOnHold(messageOf(n, lines, fields), why);

/** Sets an unreadable message aside. */
const unreadable = (bytes: Uint8Array<ArrayBuffer>): Promise<void> =>
  putOnHold(bytes.buffer, "shorter than a header", "shorter than a header");

/** A job with an object of two records that the store rejects. */
async function refusedObject(): Promise<number> {
  const { name, control } = freshBucket();
  const job = await createJob(name);
  await control.script([
    rule({ do: "answer", status: 413, code: "EntityTooLarge" }, { method: "PUT", keyIncludes: ".log.gz" }),
  ]);
  await deliver(pack(new Oracle({ at: NOON }).mint(2), clock.nowMs()));
  clock.advance(60_000);
  await runAlarm(job);
  await call("PUT", `/logship/jobs/${job}`, { enabled: false });
  expect((await logStatus(job)).counts.set_aside).toBe(2);
  return job;
}

const ids = async (): Promise<string[]> =>
  (await call<{ id: string }[]>("GET", "/logship/set-aside")).body.result.map((each) => each.id);

let clock: ReturnType<typeof setClock>;
let admin: Visitor;
beforeEach(async () => {
  clock = setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  admin = await Visitor.signedIn();
});

const textAt = async (path: string): Promise<string> => textOf((await admin.get(path)).html);

describe("the list", () => {
  it("says that everything went its way", async () => {
    expect(await textAt("/set-aside")).toContain("Messages that logship cannot process, and");
  });

  it("says of each what it is, why, how much, and whether it can be sent again", async () => {
    await aside(1, [lineOf("shop"), lineOf("till")]);
    await unreadable(new Uint8Array(3));
    const job = await refusedObject();
    const { html } = await admin.get("/set-aside");
    const text = textOf(html);
    for (const said of [
      "3 on hold",
      "message-1 queue message failed too often 2 events",
      "Cannot be resent: its records cannot be read: shorter than a header 1 event 3 B",
      `object-${job}-1 object of job ${job} an object is on hold: HTTP 413 EntityTooLarge 2 records`,
      "Resend all 2 on this page",
    ])
      expect(text).toContain(said);
    expect(html).toContain(`href="/jobs/${job}"`);
    expect(html.match(/name="id" value="message-2"/g)).toBeNull();
  });

  it("comes in pages", async () => {
    for (let n = 1; n <= 22; n++) await aside(n, [lineOf("shop")]);
    expect(await textAt("/set-aside")).toContain("1 to 20 of 22");
    expect(await textAt("/set-aside?page=2")).toContain("message-22");
    expect(await textAt("/set-aside?page=9")).toContain("Only 22 entries");
  });

  it("names the jobs whose logs do not answer", async () => {
    const job = await refusedObject();
    vi.spyOn(JobReader.prototype, "asideObjects").mockImplementation(() => {
      throw new Error("out of reach");
    });
    const text = await textAt("/set-aside");
    expect(text).toContain(`No answer from 1 job: ${job}`);
    expect(text).not.toContain("Messages that logship cannot process, and");
  });
});

describe("one", () => {
  it("shows the records of a message as texts, whatever they hold", async () => {
    const lines = [SCRIPT, IMAGE, STEERING, LONG].map(lineOf);
    await aside(
      1,
      [
        ...lines,
        `{"ScriptName":${JSON.stringify(IMAGE)},"Logs":[${JSON.stringify(SCRIPT)}],"EventTimestampMs":1e300}`,
        "null",
        "7",
        "no JSON <img",
      ],
      SCRIPT,
    );
    for (const path of ["/set-aside", "/set-aside/message-1", "/set-aside/message-1/delete"]) {
      const { html, status } = await admin.get(path);
      expect([path, status, OBEYED.exec(html)]).toEqual([path, 200, null]);
    }
    const text = await textAt("/set-aside/message-1");
    for (const said of ["Records: 8", SCRIPT, IMAGE, "no JSON <img"]) expect(text).toContain(said);
  });

  it("shows beside each record where it came from", async () => {
    await aside(1, [lineOf("bank")], "w", { source: "http:<i>ci" });
    expect(await textAt("/set-aside/message-1")).toMatch(/bank http:<i>ci/);
  });

  it("shows many records in pages, and a large one cut", async () => {
    await aside(
      1,
      Array.from({ length: 45 }, (_, i) => lineOf(`shop ${i}`)),
    );
    await aside(2, [recordLine(traceRecord({ ScriptName: "x".repeat(30_000), EventTimestampMs: NOON }))]);
    expect(await textAt("/set-aside/message-1")).toContain("1 to 20 of 45");
    const last = await textAt("/set-aside/message-1?page=3");
    expect([last.includes("shop 44"), last.includes("shop 40"), last.includes("shop 39")]).toEqual([true, true, false]);
    expect(await textAt("/set-aside/message-2")).toContain("more characters");
  });

  it("shows the bytes of what cannot be read", async () => {
    await unreadable(new Uint8Array([60, 105, 109, 103]));
    const text = await textAt("/set-aside/message-1");
    for (const said of ["Cannot be read as records", "PGltZw==", "Cannot be resent"]) expect(text).toContain(said);
    expect(text).not.toContain("Resend ");
  });

  it("shows what is known of an object", async () => {
    const job = await refusedObject();
    const text = await textAt(`/set-aside/object-${job}-1`);
    for (const said of [`object of job ${job}`, "2 records", ".log.gz", "Before compression", "2100-11-20 12:00:0"])
      expect(text).toContain(said);
  });

  it("is downloaded as a file that no browser renders", async () => {
    await aside(1, [lineOf(SCRIPT)]);
    const job = await refusedObject();
    const file = async (path: string): Promise<Response> =>
      createApp(platform).request(ORIGIN + path, { headers: { cookie: admin.cookie ?? "" } }, env as unknown as Env);
    const message = await file("/set-aside/message-1/download");
    expect([message.status, message.headers.get("content-disposition")]).toEqual([
      200,
      'attachment; filename="message-1.ndjson"',
    ]);
    expect(message.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(message.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await message.text()).toBe(`${lineOf(SCRIPT)}\n`);
    const object = await file(`/set-aside/object-${job}-1/download`);
    expect(
      gunzipSync(new Uint8Array(await object.arrayBuffer()))
        .toString()
        .trim()
        .split("\n"),
    ).toHaveLength(2);
    expect((await admin.get("/set-aside/message-9/download")).status).toBe(404);
  });

  it.each(["message-9", "object-1-1", "nothing", "..", "%2e%2e", SCRIPT])(
    "is a 404 where nothing is: %j",
    async (name) => {
      for (const path of [`/set-aside/${encodeURIComponent(name)}`, `/set-aside/${encodeURIComponent(name)}/delete`]) {
        const { html, status } = await admin.get(path);
        if (name === ".." && !path.endsWith("/delete")) continue;
        expect([path, status, OBEYED.exec(html)]).toEqual([path, 404, null]);
      }
    },
  );
});

describe("sending again", () => {
  it("says which jobs have it now, and it is gone", async () => {
    const job = await createJob(freshBucket().name);
    clock.advance(1_000);
    await aside(1, [lineOf("shop")], "failed too often", { takenInMs: clock.nowMs() });
    const answer = await admin.submit("/set-aside/resend", { id: "message-1" });
    const text = textOf(answer.html);
    expect([answer.status, text]).toEqual([200, expect.stringContaining("1 of 1 resent")]);
    expect(text).toContain(`1 event: 1 to jobs, 0 with logging off, 0 without a job. Sent to: job ${job}.`);
    expect(await ids()).toEqual([]);
    await readAll();
    expect((await logStatus(job)).counts.pending).toBe(1);
    const again = await admin.submit("/set-aside/resend", { id: "message-1" });
    expect([again.status, textOf(again.html)]).toEqual([404, expect.stringContaining("no longer here")]);
    expect((await logStatus(job)).counts.pending).toBe(1);
  });

  it("of a page says of each what became of it", async () => {
    await aside(1, [lineOf("shop")]);
    await unreadable(new Uint8Array(3));
    const job = await refusedObject();
    const named = ["message-1", "message-2", `object-${job}-1`, "message-9", SCRIPT, "../../webhook/test", "message-1"];
    const answer = await admin.submit("/set-aside/resend", new URLSearchParams(named.map((each) => ["id", each])));
    const text = textOf(answer.html);
    expect([answer.status, OBEYED.exec(answer.html)]).toEqual([200, null]);
    for (const said of [
      "2 of 6 resent",
      "message-2 ■ still on hold its records cannot be read",
      `object-${job}-1 ● resent 2 records of job ${job} waiting for upload`,
      "message-9 ○ no longer here",
    ])
      expect(text).toContain(said);
    expect(await ids()).toEqual(["message-2"]);
  });

  it("has records made that could not be made", async () => {
    const job = await createJob(freshBucket().name);
    const name = await poison(job, messageOf(1, [lineOf("shop")]));
    expect(await textAt("/set-aside")).toContain(
      `${name} records of job ${job} its reader died with it 3 times 1 record`,
    );
    const { html } = await admin.get(`/set-aside/${name}`);
    expect([textOf(html).includes("stop the process that prepares them"), html.includes("/download")]).toEqual([
      true,
      false,
    ]);
    expect(await textAt(`/set-aside/${name}/delete`)).toContain(`1 record of job ${job} will count as discarded`);
    const text = textOf((await admin.submit("/set-aside/resend", { id: name })).html);
    expect(text).toContain(`${name} ● resent 1 record waiting for upload.`);
    expect([await ids(), (await logStatus(job)).counts.pending]).toEqual([[], 1]);
  });

  it("of nothing is refused", async () => {
    expect((await admin.submit("/set-aside/resend")).status).toBe(400);
  });

  it("is all resent, where there is more than a page of it", async () => {
    await createJob(freshBucket().name);
    for (let n = 1; n <= 22; n++) await aside(n, [lineOf("shop")]);
    expect(await textAt("/set-aside")).toContain("Resend all 22");
    const text = textOf((await admin.submit("/set-aside/resend-all")).html);
    expect(text).toContain("22 entries resent 22 events to their jobs, 0 records waiting for upload.");
    expect(await ids()).toEqual([]);
  });

  it("leads on behind what stayed, and takes no other number", async () => {
    await createJob(freshBucket().name);
    for (let n = 1; n <= 101; n++) await unreadable(new Uint8Array([n]));
    const { html } = await admin.submit("/set-aside/resend-all", { skip: "-1" });
    expect(textOf(html)).toContain(
      "0 entries resent 0 events to their jobs, 0 records waiting for upload. 100 entries",
    );
    expect(html).toContain('name="skip" value="100"');
    const next = await admin.submit("/set-aside/resend-all", { skip: "100" });
    expect(textOf(next.html)).toContain("101 entries could not be resent, and stayed");
    expect(next.html).not.toContain('name="skip"');
  });
});

describe("sending elsewhere", () => {
  const form = (bucket: string, more: Record<string, string> = {}) =>
    s3Form(bucket, { path: "other/{DATE}", do: "start", ...more });

  it("takes a destination as that of a job, tests it, and never shows its keys", async () => {
    const job = await refusedObject();
    const at = `/set-aside/object-${job}-1/elsewhere`;
    expect((await admin.get(`/set-aside/object-${job}-1`)).html).toContain(`href="${at}"`);
    const page = await admin.get(`${at}?scheme=s3`);
    expect(textOf(page.html)).toContain(`2 records of job ${job}`);
    expect([page.html.includes('value="set-aside/{DATE}"'), page.html.includes('value="kind:gs"')]).toEqual([
      true,
      true,
    ]);
    const { name, control } = freshBucket();
    const tested = await admin.submit(at, form(name, { do: "test" }));
    expect([tested.status, textOf(tested.html)]).toEqual([200, expect.stringContaining("Reachable and writable")]);
    expect([tested.html.includes(SECRET_KEY), await ids()]).toEqual([false, [`object-${job}-1`]]);
    // The form carries what was entered: nothing is entered again.
    const carried = untouched(tested.html.slice(tested.html.indexOf('aria-label="Destination"')));
    carried.set("do", "start");
    expect(carried.get("destination-secret_access_key")).toBe("");
    const sent = await admin.submit(at, carried);
    expect(sent.location).toBe(`/set-aside?sent=${job}-1`);
    expect(await textAt(sent.location ?? "")).toContain(`Object 1 of job ${job}`);
    await runAlarm(job);
    expect((await control.objects()).map(({ key }) => key)).toEqual([
      "other/00010101/test.txt.gz",
      expect.stringMatching(/^other\/21001120\/.*\.log\.gz$/),
    ]);
    const object = await admin.get(`/jobs/${job}/objects/1`);
    expect(textOf(object.html)).toContain(`Sent to s3://${name}/other/{DATE}`);
    expect(textOf(object.html)).toContain("sent to another destination, whose keys logship does not keep");
    expect(object.html).not.toContain(SECRET_KEY);
    expect((await admin.get(at)).status).toBe(404);
  });

  it("shows why it is refused, and it stays", async () => {
    const job = await refusedObject();
    const at = `/set-aside/object-${job}-1/elsewhere`;
    const { name, control } = freshBucket();
    const missing = await admin.submit(at, form(""));
    expect([missing.status, missing.html.includes('id="field-destination-bucket-error"')]).toEqual([400, true]);
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    const refused = await admin.submit(at, form(name));
    expect([refused.status, textOf(refused.html)]).toEqual([200, expect.stringContaining("HTTP 403 AccessDenied")]);
    expect([refused.html.includes(SECRET_KEY), await ids()]).toEqual([false, [`object-${job}-1`]]);
    // Another caller, or another entry, does not open what the form carries.
    const entered = /name="entered" value="([^"]+)"/.exec(refused.html)?.[1] ?? "";
    const without = form(name, { access_key_id: "", secret_access_key: "", entered });
    await control.script([]);
    const other = await Visitor.signedIn({ token: (await token(["logs:read", "logs:edit"])).secret });
    expect((await other.submit(at, without)).status).toBe(400);
    expect((await admin.submit("/set-aside/object-1-99/elsewhere", without)).status).toBe(404);
    expect((await admin.submit(at, without)).status).toBe(303);
  });

  it("is not for messages", async () => {
    await aside(1, [lineOf("shop")]);
    expect((await admin.get("/set-aside/message-1/elsewhere")).location).toBe("/set-aside/message-1");
    expect((await admin.get("/set-aside/message-1")).html).not.toContain("/elsewhere");
    const { name, control } = freshBucket();
    const sent = await admin.submit("/set-aside/message-1/elsewhere", form(name));
    expect([sent.location, await control.requests()]).toEqual(["/set-aside/message-1", []]);
    expect(await ids()).toEqual(["message-1"]);
  });
});

describe("deleting", () => {
  it("counts as discarded, after a page that says so", async () => {
    await aside(1, [lineOf("shop"), lineOf("till")]);
    const job = await refusedObject();
    expect(await textAt("/set-aside/message-1/delete")).toContain("2 events will count as discarded by the account");
    expect(await textAt(`/set-aside/object-${job}-1/delete`)).toContain(
      `2 records of job ${job} will count as discarded`,
    );
    for (const each of ["message-1", `object-${job}-1`])
      expect((await admin.submit(`/set-aside/${each}/delete`)).location).toBe("/set-aside?deleted");
    expect(await ids()).toEqual([]);
    expect((await logStatus(job)).counts).toMatchObject({ set_aside: 0, discarded: 2 });
    expect((await admin.submit("/set-aside/message-1/delete")).status).toBe(404);
  });
});
