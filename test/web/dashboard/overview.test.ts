import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ControlPlane } from "../../../src/index.ts";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import type { Finding } from "../../../src/operate/status/finding.ts";
import { USAGE_PATIENCE } from "../../../src/web/api/usage.ts";
import { InnerApi } from "../../../src/web/dashboard/inner-api.ts";
import { LOOK_PATIENCE, ROW_PATIENCE } from "../../../src/web/dashboard/pages/overview/asks.ts";
import { lookAnew } from "../../operate/alerts/fresh.ts";
import { finding } from "../../operate/status/findings.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, runAlarm, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { token } from "../api/principals.ts";
import { OBEYED, SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();
const PATIENCE = { row: ROW_PATIENCE.ms, look: LOOK_PATIENCE.ms, usage: USAGE_PATIENCE.ms };
beforeEach(() => {
  setClock(NOON);
});
afterEach(() => {
  ROW_PATIENCE.ms = PATIENCE.row;
  LOOK_PATIENCE.ms = PATIENCE.look;
  USAGE_PATIENCE.ms = PATIENCE.usage;
});

async function overview(visitor?: Visitor, headers: Record<string, string> = {}): Promise<string> {
  const page = await (visitor ?? (await Visitor.signedIn())).get("/", headers);
  expect(page.status).toBe(200);
  return page.html;
}

/** A visitor with only these permissions. */
async function holding(...permissions: string[]): Promise<Visitor> {
  const { secret } = await token(permissions as never);
  return Visitor.signedIn({ token: secret });
}

/** One job that has delivered records of a function. */
async function shipped(records = 7): Promise<number> {
  const clock = setClock(NOON);
  const job = await createJob(freshBucket().name, { name: "all traces" });
  await deliver(pack(new Oracle({ at: NOON }).mint(records), clock.nowMs()));
  await settle(job, clock);
  return job;
}

/** The watch finds these. */
function finds(...findings: Finding[]): void {
  vi.spyOn(Watch.prototype, "snapshot").mockResolvedValue({
    checkedMs: NOON,
    incidents: [],
    notices: [],
    keptSinceMs: null,
    findings: findings.map((each) => ({ ...each, incidentId: null })),
  });
}

const ofJob = (id: number, fields: Partial<Finding>): Finding => finding({ subject: { type: "job", id }, ...fields });

describe("whoever has just deployed", () => {
  it("is shown the way to the first job, with the snippet for this very deployment", async () => {
    const html = await overview();
    const text = textOf(html);
    expect(text).toContain("No jobs yet");
    expect(text).toContain('"tail_consumers": [{ "service": "logship" }]');
    expect(html).toContain('href="/jobs/new"');
    expect(text).not.toContain("(done)");
    expect(text).toContain("Nothing counted yet");
  });

  it("sees each step ticked as it is done, and no way any more at its end", async () => {
    await createJob(freshBucket().name);
    const text = textOf(await overview());
    expect(text).toMatch(/Step 1: Create a job \(done\).*Step 2: Attach a Worker (?!\(done\))/);
    await shipped();
    expect(textOf(await overview())).not.toContain("Step 1");
  });

  it("is told that somebody else has to create a job", async () => {
    const text = textOf(await overview(await holding("logs:read")));
    expect(text).toContain("Needs the permission logs:edit.");
  });
});

describe("the overview", () => {
  it("says that everything is well, and of each job what it shipped", async () => {
    await shipped();
    const html = await overview();
    const text = textOf(html);
    expect(text).toContain("No problems: 1 job delivers, nothing waiting");
    expect(text).toMatch(/Workers All Workers .* \S+ 0 0 \d+ ms .* ago/);
    expect(html).toContain("<title>7 requests in 24 hours, 0 failed</title>");
    expect(text).toMatch(/all traces ● on , nothing waiting delivered up to/);
    expect(text).toMatch(/In all 7 processed = 7 sent to jobs 0 lost on arrival/);
    expect(text).toContain("Cost in November 2100 so far");
    for (const id of ["verdict", "functions", "jobs"])
      expect(html).toMatch(new RegExp(`id="${id}"[^>]*data-refresh="15"`));
  });

  it("says how long the oldest record waits", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    await deliver(pack(new Oracle({ at: NOON }).mint(3), clock.nowMs()));
    clock.advance(20_000);
    const text = textOf(await overview());
    expect(text).toContain("No problems: 1 job delivers, longest wait 20 s");
    expect(text).toContain("on , waiting: 3 records for 20 s");
  });

  it("says what is wrong, with whom, and where more is said of it", async () => {
    const job = await createJob(freshBucket().name);
    await createJob(freshBucket().name);
    const name = '"><script>alert(1)</script>';
    const quiet = { kind: "function_quiet", severity: "warning", summary: `No event of ${name} has come.` } as const;
    finds(
      ofJob(job, { kind: "parked", summary: "Nothing is delivered." }),
      finding({ ...quiet, sinceMs: NOON - 60_000, subject: { type: "function", name } }),
    );
    const html = await overview();
    const text = textOf(html);
    expect(text).toMatch(
      /2 problems .* error Job \d+ Nothing is delivered\..* warning "><script>.*<\/script> No event of .* 60 s ago/,
    );
    expect(html).toContain('href="/status"');
    expect(html).not.toContain("<script>alert");
    expect(html).toContain(`href="/functions/${encodeURIComponent(name)}"`);
  });

  it("counts a job that fails by its row, though the last check did not see it yet", async () => {
    const { control, job, clock } = await waitingJob();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
    clock.advance(30_000);
    await runAlarm(job);
    finds();
    const text = textOf(await overview());
    expect(text).toMatch(new RegExp(`1 problem .* error Job ${job} .*403`));
    expect(text).not.toContain("No problems");
  });

  it("names a job by its name, or its number, as a link", async () => {
    const job = await createJob(freshBucket().name, { name: "all traces" });
    const other = await createJob(freshBucket().name);
    finds(
      ofJob(job, { summary: `Uploads of job ${job} fail: HTTP 403.` }),
      ofJob(other, { kind: "parked", summary: `Delivery of job ${other} is paused: HTTP 404.` }),
      ofJob(other, { kind: "parked", summary: `Of ${other}0 jobs, job ${other}0 is another.` }),
    );
    const html = await overview();
    const text = textOf(html);
    expect(text).toContain(`error all traces Uploads of job ${job} fail: HTTP 403.`);
    expect(text).toContain(`error Job ${other} Delivery of job ${other} is paused`);
    expect(html).toContain(`<a href="/jobs/${other}"><bdi class="foreign">Job ${other}</bdi></a>`);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("out of reach"))],
    ["hangs", () => new Promise<never>(() => {})],
  ])("says that nobody can tell, where the watch %s, and shows all the rest", async (_how, silence) => {
    await shipped();
    LOOK_PATIENCE.ms = 200;
    vi.spyOn(Watch.prototype, "snapshot").mockImplementation(silence);
    const text = textOf(await overview());
    expect(text).toContain("Status unavailable");
    expect(text).toContain("all traces");
    expect(text).toContain("7 processed");
    expect(text).not.toContain("cannot be shown");
  });

  it("does not wait for a job that does not answer", async () => {
    const silent = await shipped();
    ROW_PATIENCE.ms = 50;
    USAGE_PATIENCE.ms = 50;
    const { get } = InnerApi.prototype;
    vi.spyOn(InnerApi.prototype, "get").mockImplementation(function (this: InnerApi, path, ...query) {
      return path === `/logship/jobs/${silent}/ledger` ? new Promise(() => {}) : get.call(this, path, ...query);
    } as typeof get);
    const text = textOf(await overview());
    expect(text).toContain("does not answer");
    expect(text).toContain("No problems: 1 job delivers");
  });

  it("shows 25 jobs in detail, those that fail first, and a link to the others", async () => {
    const { name } = freshBucket();
    for (let i = 0; i < 27; i++) await createJob(name, { name: `job number ${i}`, enabled: i !== 0 });
    const html = await overview();
    expect(html.match(/<div class="row-subject"><a href="\/jobs/g)).toHaveLength(25);
    expect(textOf(html)).toContain("2 more jobs, 27 in total");
    expect(html).not.toContain("job number 0<");
  });

  it("makes only what is looked at again when a script looks again", async () => {
    await shipped();
    const text = textOf(await overview(undefined, { "x-logship-refresh": "1" }));
    expect(text).toContain("No problems");
    expect(text).toContain("all traces");
    expect(text).not.toContain("Cost in");
    expect(text).not.toContain("processed");
  });
});

describe("whoever may not read logs", () => {
  it("sees functions alone, if these are open to him, and what is closed", async () => {
    await shipped();
    const visitor = await holding("functions:read");
    const text = textOf(await overview(visitor));
    expect(text).toContain("You cannot see what is shipped");
    expect(text).toContain("needs the permission logs:read");
    expect(text).toContain("Workers 1 Worker");
    expect(text).not.toMatch(/all traces|7 records|Cost in/);
    expect((await visitor.get("/cost")).status).toBe(403);
  });

  it("sees access alone, if that is what he may", async () => {
    const text = textOf(await overview(await holding("access:edit")));
    expect(text).toContain("Tokens, members and changes");
    expect(text).not.toContain("1 function");
  });

  it("sees how Workers are, and no link to what else is known of them", async () => {
    await shipped();
    const html = await overview(await holding("logs:read"));
    const text = textOf(html);
    expect(text).toContain("No problems");
    expect(text).toMatch(/Last event Version \S+ 0 0/);
    expect(html).not.toContain('href="/functions');
  });
});

it("an API that is silent about the jobs is said to be, not shown as none", async () => {
  await shipped();
  const visitor = await Visitor.signedIn();
  vi.spyOn(ControlPlane.prototype, "list").mockImplementation(() => {
    throw new Error("out of reach");
  });
  const text = textOf(await overview(visitor));
  expect(text).toContain("Jobs are unavailable.");
  expect(text).not.toContain("Step 1");
  expect((await api("GET", "/logship/jobs")).status).toBe(503);
});

it("the status leads to where a job is mended, names it, and sends nobody to the page of one that is deleted", async () => {
  const job = await createJob(freshBucket().name, { name: `nightly ${SCRIPT}` });
  finds(
    ofJob(job, { kind: "parked" }),
    ofJob(job, { kind: "filter_keeps_nothing" }),
    ofJob(99, { kind: "draining_stuck", severity: "warning", summary: "Job 99 is not well." }),
  );
  const { html } = await (await Visitor.signedIn()).get("/status");
  expect(html).toContain(`<a href="/jobs/${job}/edit#destination">Change the destination</a>`);
  expect(html).toContain(`<a href="/jobs/${job}/edit#records">Change the filter</a>`);
  expect(textOf(html)).toContain(`error nightly ${SCRIPT}`);
  expect([html.includes('href="/jobs#draining"><bdi class="foreign">Job 99'), html.includes('href="/jobs/99')]).toEqual(
    [true, false],
  );
  expect([textOf(html).includes("2 errors, 1 warning"), OBEYED.exec(html)]).toEqual([true, null]);
  expect((await (await holding("logs:read")).get("/status")).html).not.toContain("Change the destination");
});
