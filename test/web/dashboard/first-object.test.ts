import { beforeEach, describe, expect, it } from "vitest";
import { FirstObject, lookOf } from "../../../src/web/dashboard/pages/job/first-object.tsx";
import type { JobView, LedgerView, ObjectView } from "../../../src/web/dashboard/views/job.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call } from "../api/harness.ts";
import { textOf, Visitor } from "./support.ts";

const JOB = { id: 7, enabled: true, max_upload_interval_seconds: 60, error_message: null } as JobView;
const NONE = { filtered: 0, sampled_out: 0, pending: 0, oldest_pending_seconds: null } as LedgerView;
const OBJECT = { number: 1, key: "k", state: "delivered", records: 2, bytes: 3, uploaded_at: null } as ObjectView;

describe("what is said of a new job", () => {
  it("is the first thing of these that is so", () => {
    expect(lookOf(JOB, null, [])).toEqual({ kind: "nothing" });
    expect(lookOf(JOB, NONE, [])).toEqual({ kind: "nothing" });
    expect(lookOf({ ...JOB, enabled: false }, NONE, [])).toEqual({ kind: "paused" });
    const dropped = { ...NONE, received: 5, filtered: 3, sampled_out: 2 };
    expect(lookOf(JOB, dropped, [])).toEqual({ kind: "dropped", filtered: 3, sampledOut: 2 });
    const waiting = { ...dropped, pending: 4, oldest_pending_seconds: 20 };
    expect(lookOf(JOB, waiting, [])).toEqual({ kind: "waiting", records: 4, startsInS: 55 });
    expect(lookOf(JOB, { ...waiting, oldest_pending_seconds: 75 }, [])).toMatchObject({ startsInS: null });
    const cut = { ...OBJECT, state: "waiting" as const };
    expect(lookOf({ ...JOB, error_message: "HTTP 403" }, waiting, [cut])).toMatchObject({
      kind: "failing",
      records: 4,
    });
    expect(lookOf({ ...JOB, error_message: "HTTP 403" }, waiting, [cut, OBJECT])).toEqual({
      kind: "delivered",
      object: OBJECT,
    });
  });
});

it("speaks of a bucket only where there is one", async () => {
  const here = {
    jobId: 7,
    look: { kind: "delivered", object: OBJECT },
    selfName: "",
    origin: "",
    accountId: "",
    isLocal: false,
  } as const;
  for (const [isStore, title] of [
    [true, "Delivered to your bucket"],
    [false, "Delivered to the log service"],
  ] as const)
    expect(textOf(String(await FirstObject({ ...here, isStore })?.toString()))).toContain(title);
});

describe("the page of a new job", () => {
  let clock: ReturnType<typeof setClock>;
  let visitor: Visitor;
  beforeEach(async () => {
    clock = setClock(NOON);
    visitor = await Visitor.signedIn();
  });

  const first = async (id: number): Promise<{ text: string; html: string }> => {
    const { html } = await visitor.get(`/jobs/${id}?created`);
    const part =
      /<section class="panel" id="first-object"[\s\S]*?<\/section>(?:<\/figure>)?[\s\S]*?(?=<section class="panel")/.exec(
        html,
      )?.[0];
    return { html: part ?? "", text: textOf(part ?? "") };
  };

  it("follows its first record into the bucket, and then looks no more", async () => {
    const bucket = freshBucket();
    const id = await createJob(bucket.name);
    const nothing = await first(id);
    expect(nothing.text).toContain("No events yet");
    expect(nothing.text).toContain('"tail_consumers": [{ "service": "logship" }]');
    expect(nothing.html).toContain('data-refresh="3"');
    await deliver(pack(new Oracle({ at: NOON }).mint(3), NOON));
    clock.advance(10_000);
    const waiting = await first(id);
    expect(waiting.text).toContain("3 records waiting; the upload starts within 35 s");
    clock.advance(30_000);
    await settle(id, clock);
    const delivered = await first(id);
    expect(delivered.text).toContain("Delivered to your bucket");
    expect(delivered.text).toContain("3 records");
    expect(delivered.html).toContain(`href="/jobs/${id}/objects/1"`);
    expect(delivered.html).not.toContain("data-refresh");
    const [object] = (await bucket.control.objects()).filter(({ key }) => key.endsWith(".log.gz"));
    expect(delivered.text).toContain(object?.key);
  });

  it("says that the upload fails, and that nothing is kept", async () => {
    const bucket = freshBucket();
    const id = await createJob(bucket.name);
    const none = await createJob(bucket.name, { filter: '{"where":{"key":"Outcome","operator":"eq","value":"none"}}' });
    await bucket.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    await deliver(pack(new Oracle({ at: NOON }).mint(2), clock.nowMs()));
    clock.advance(45_000);
    await call("POST", `/logship/jobs/${id}/flush`);
    expect((await first(id)).text).toMatch(/Upload failed; retrying.*HTTP 403 AccessDenied.*2 records waiting/);
    expect((await first(none)).text).toContain("The job kept none of the events: 2 filtered, 0 sampled out");
  });

  it("is there until something is delivered, also when one comes back later", async () => {
    const id = await createJob(freshBucket().name);
    expect((await visitor.get(`/jobs/${id}`)).html).toContain("first-object");
    await deliver(pack(new Oracle({ at: NOON }).mint(1), NOON));
    clock.advance(40_000);
    await settle(id, clock);
    expect((await visitor.get(`/jobs/${id}`)).html).not.toContain("first-object");
  });
});
