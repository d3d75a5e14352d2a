/**
 * A silent part never counts as healthy: it is a finding, and problems that only it knows stay
 * open.
 */
import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Watch, watch } from "../../../src/operate/alerts/watch.ts";
import { Replays } from "../../../src/operate/replay/replays.ts";
import { GATHER_PATIENCE } from "../../../src/operate/status/gather.ts";
import { TraceLog } from "../../../src/ship/log/trace-log.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import type { JobStatus } from "../../../src/ship/reader/statuses.ts";
import { ControlPlane } from "../../../src/state/control/plane.ts";
import { LOOK_PATIENCE } from "../../../src/web/api/status.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import { type Breakage, breakable } from "../../support/runtime/breakage.ts";
import { deliver, freshBucket, NOON, pack, runAlarm, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call, errorsOf } from "../../web/api/harness.ts";
import { lookAnew } from "../alerts/fresh.ts";
import { kindsOf, MINUTE_MS, status } from "./support.ts";

lookAnew();

/** After this long a look is not reused, in ms. */
const ANEW_MS = 15_000;

/** Deadlines of one answer and of all, in ms, until the end of the test. */
function patience(oneMs: number, allMs: number): void {
  const before = { ...GATHER_PATIENCE };
  Object.assign(GATHER_PATIENCE, { oneMs, allMs });
  onTestFinished(() => void Object.assign(GATHER_PATIENCE, before));
}

describe("whoever is asked is said to be silent, until it answers:", () => {
  it.each<[string, object, string, Breakage, string]>([
    ["the control plane", ControlPlane.prototype, "configSince", "refused", "control_silent"],
    ["its settings of functions", ControlPlane.prototype, "functionSettings", "refused", "control_silent"],
    ["the ledger", TraceLog.prototype, "accountStatus", "refused", "ledger_silent"],
    ["what jobs have not read", TraceLog.prototype, "status", "refused", "log_silent"],
    ["its counts of functions", TraceLog.prototype, "functionsLately", "refused", "ledger_silent"],
    ["a log", JobReader.prototype, "status", "refused", "log_silent"],
    ["a log that hangs", JobReader.prototype, "status", "hangs", "log_silent"],
  ])("%s", async (_who, prototype, method, breakage, kind) => {
    if (breakage === "refused") patience(20_000, 20_000);
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    expect(await kindsOf()).toEqual([]);
    clock.advance(ANEW_MS);
    let broken = true;
    breakable(prototype as Record<string, () => unknown>, method, () => (broken ? breakage : null));
    expect(await status()).toMatchObject({ ok: false, warnings: 1, findings: [{ kind }] });
    broken = false;
    clock.advance(ANEW_MS);
    expect(await kindsOf()).toEqual([]);
  });
});

describe("whoever answers as other code would, without what is looked at,", () => {
  it.each<[string, object, string, (answer: never) => unknown, string]>([
    ["the control plane", ControlPlane.prototype, "configSince", () => ({ jobs: [{ id: 1 }] }), "control_silent"],
    ["its settings", ControlPlane.prototype, "functionSettings", () => [{ name: "shop" }], "control_silent"],
    ["its attachments", ControlPlane.prototype, "attachments", () => [{ script: "shop" }], "attachments_silent"],
    ["the ledger", TraceLog.prototype, "accountStatus", () => ({ counts: {} }), "ledger_silent"],
    ["what jobs have not read", TraceLog.prototype, "status", () => ({ counts: {} }), "log_silent"],
    ["its functions", TraceLog.prototype, "functionsLately", () => [{ scriptName: "shop" }], "ledger_silent"],
    ["the replays", Replays.prototype, "status", () => [{}], "replays_silent"],
    [
      "a log",
      JobReader.prototype,
      "status",
      ({ setAside, ...before }: JobStatus) => (setAside === undefined ? null : before),
      "log_silent",
    ],
    [
      "a log that does not count",
      JobReader.prototype,
      "status",
      ({ counts: { delivered, ...counts }, ...before }: JobStatus) => ({
        ...before,
        counts,
        deliveredBytes: delivered,
      }),
      "log_silent",
    ],
  ])("is as good as silent: %s", async (_who, prototype, method, other, kind) => {
    setClock(NOON);
    const job = await createJob(freshBucket().name);
    await runAlarm(job);
    const present = Reflect.get(prototype, method) as (...args: unknown[]) => unknown;
    vi.spyOn(prototype as Record<string, () => unknown>, method).mockImplementation(function (
      this: unknown,
      ...args: unknown[]
    ) {
      return (other as (answer: unknown) => unknown)(present.apply(this, args));
    });
    expect(await kindsOf()).toEqual([kind]);
  });
});

it("jobs are looked at as they were last told, while the control plane is silent", async () => {
  const { clock, control, job } = await waitingJob();
  await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
  clock.advance(30_000);
  await runAlarm(job);
  expect(await kindsOf()).toEqual(["parked"]);
  clock.advance(ANEW_MS);
  breakable(ControlPlane.prototype, "configSince", () => "refused");
  expect(await kindsOf()).toEqual(["parked", "control_silent"]);
});

it("one silent log hides nothing of the others", async () => {
  const { clock, control, job } = await waitingJob();
  const other = await createJob(freshBucket().name);
  await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
  clock.advance(30_000);
  await runAlarm(job);
  const present = JobReader.prototype.status;
  vi.spyOn(JobReader.prototype, "status").mockImplementation(function (this: JobReader) {
    const { name = "" } = (this as unknown as { ctx: DurableObjectState }).ctx.id;
    if (name.startsWith(`job ${other} `)) throw new Error("the disk is gone");
    return present.call(this);
  });
  expect((await status()).findings.map(({ kind, subject }) => [kind, subject.id])).toEqual([
    ["parked", job],
    ["log_silent", other],
  ]);
});

it("nobody is called quiet while it is not known whose logging is off", async () => {
  const clock = setClock(NOON);
  await createJob(freshBucket().name);
  const oracle = new Oracle({ at: NOON });
  const come = (scriptName: string): Promise<unknown> =>
    deliver(pack(oracle.mint(1, { at: clock.nowMs(), scriptName }), clock.nowMs()));
  // "shop" and "steady" every half hour, for more than a day; then "shop" stops.
  for (let half = 0; half < 52; half++) {
    clock.advance(30 * MINUTE_MS);
    await come("shop");
    await come("steady");
    await kindsOf();
  }
  await call("PATCH", "/functions/scripts/shop/script-settings", { logship: false });
  for (let half = 0; half < 4; half++) {
    clock.advance(30 * MINUTE_MS);
    await come("steady");
    expect(await kindsOf()).not.toContain("function_quiet");
  }
  breakable(ControlPlane.prototype, "functionSettings", () => "refused");
  clock.advance(ANEW_MS);
  const found = await kindsOf();
  expect(found).toContain("control_silent");
  expect(found).not.toContain("function_quiet");
});

it.each(["hangs", "refused"] as const)("a watch that does not answer is a 503 in words: %s", async (breakage) => {
  const before = { ...LOOK_PATIENCE };
  onTestFinished(() => void Object.assign(LOOK_PATIENCE, before));
  LOOK_PATIENCE.ms = 100;
  breakable(Watch.prototype, "snapshot", () => breakage);
  const answer = await call("GET", "/logship/status");
  expect([answer.status, errorsOf(answer)]).toEqual([
    503,
    [[1053, undefined, "the watch does not answer, so the status is unknown; repeat the request"]],
  ]);
});

it("a look ends by itself, however many are silent", async () => {
  setClock(NOON);
  for (let n = 0; n < 20; n++) await createJob(freshBucket().name);
  let asked = 0;
  breakable(JobReader.prototype, "status", () => {
    asked += 1;
    return "hangs";
  });
  patience(3_000, 4_000);
  const findings = (await watch(env.WATCH).snapshot())?.findings ?? [];
  expect(findings.filter(({ kind }) => kind === "log_silent")).toHaveLength(20);
  // Eight at once; those that are left are not asked any more.
  expect(asked).toBeLessThan(20);
});
