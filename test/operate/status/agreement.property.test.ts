/**
 * For any course of facts, looks, crashes and answers of the webhook's receiver: findings,
 * incidents, the page and the webhook say the same after each step.
 */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import * as fc from "fast-check";
import { expect, it, vi } from "vitest";
import { resultOf, Watch } from "../../../src/operate/alerts/watch.ts";
import type { Facts, JobFacts } from "../../../src/operate/status/facts.ts";
import { type Finding, keyOf } from "../../../src/operate/status/finding.ts";
import { call } from "../../web/api/harness.ts";
import { textOf, Visitor } from "../../web/dashboard/support.ts";
import { incidentsIn, putWebhook, readWebhook, runWatchAlarm, theWatch } from "../alerts/receiver.ts";
import { clock, MINUTE_MS, post, watchEach } from "../alerts/watching.ts";
import { account, facts, fn, job, log } from "./samples.ts";
import { type SaidIncident, type Status, status } from "./support.ts";

watchEach();

type JobState = "well" | "parked" | "failing" | "silent" | "gone";

interface Step {
  jobs: readonly JobState[];
  isLedgerSilent: boolean;
  answer: number;
  waitMs: number;
  by: "cron" | "alarm" | "request" | "eviction";
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  jobs: fc.tuple(...[1, 2].map(() => fc.constantFrom<JobState>("well", "well", "parked", "failing", "silent", "gone"))),
  isLedgerSilent: fc.constantFrom(false, false, false, true),
  answer: fc.constantFrom(204, 204, 500),
  waitMs: fc.constantFrom(0, 1_000, 9_999, 10_000, 15_000, MINUTE_MS, 5 * MINUTE_MS, 16 * MINUTE_MS),
  by: fc.constantFrom("cron", "cron", "alarm", "request", "eviction"),
});

/** The same facts a few steps long, as in use; the rest by chance. */
const anyCourse = fc
  .array(fc.tuple(anyStep, fc.integer({ min: 1, max: 4 })), { minLength: 1, maxLength: 10 })
  .map((steps) => steps.flatMap(([step, times]) => Array.from({ length: times }, () => step)));

/** Reaches every state of an incident. */
const COURSE: Step[] = (["parked", "parked", "silent", "parked", "well", "well", "well", "well"] as const).map(
  (state) => ({
    jobs: [state, "well"],
    ...{ isLedgerSilent: false, answer: 204, waitMs: 6 * MINUTE_MS, by: "cron" },
  }),
);

function jobIn(id: number, state: JobState, nowMs: number): JobFacts | null {
  const failed = {
    failingSinceMs: nowMs - 3 * MINUTE_MS,
    errorMessage: "upload failed: HTTP 503; …",
    counts: { ...log().counts, delivered: 90, pending: 10 },
    oldestPendingTakenMs: nowMs - 3 * MINUTE_MS,
  };
  switch (state) {
    case "gone":
      return null;
    case "silent":
      return job({ id, status: "silent" });
    case "well":
      return job({ id, status: log({ lastReceivedMs: nowMs }) });
    case "failing":
      return job({ id, status: log({ lastReceivedMs: nowMs, ...failed }) });
    case "parked":
      return job({ id, status: log({ lastReceivedMs: nowMs, ...failed, parked: true }) });
  }
}

function factsOf({ jobs, isLedgerSilent }: Step): Facts {
  const nowMs = clock.nowMs();
  const usual = { lastMs: nowMs, longestGapMs: 0 };
  return facts({
    nowMs,
    jobs: jobs.flatMap((state, i) => jobIn(i + 1, state, nowMs) ?? []),
    account: isLedgerSilent ? "silent" : account({ usual }),
    functions: isLedgerSilent
      ? "silent"
      : { countedUntilMs: nowMs, each: [fn({ lastEventMs: nowMs, usual })], unnamedMs: null, notWatched: 0 },
  });
}

async function act({ by, waitMs, answer }: Step): Promise<void> {
  post.answers(answer);
  clock.advance(waitMs);
  if (by === "cron") await theWatch().check();
  if (by === "alarm") await runWatchAlarm();
  if (by === "request") await status();
  if (by === "eviction") {
    await runInDurableObject(theWatch(), () => {});
    await evictDurableObject(theWatch());
  }
}

const key = (said: { kind: string; subject: unknown }): string => keyOf(said as Finding);

const ofState = (incidents: readonly SaidIncident[], ...states: SaidIncident["state"][]): SaidIncident[] =>
  incidents.filter(({ state }) => states.includes(state));

/**
 * The status once the webhook's calls are made that its own look has caused: how they end is a
 * finding, which the next reading shows.
 */
async function settledStatus(): Promise<Status> {
  let now = await status();
  for (let readings = 0; readings < 5; readings++) {
    const next = await status();
    if (JSON.stringify(next) === JSON.stringify(now)) return next;
    now = next;
  }
  throw new Error("the status does not settle");
}

/** The rows of a panel of the page. */
const panel = (html: string, id: string): string =>
  new RegExp(`<section class="panel" id="${id}".*?</section>`, "s").exec(html)?.[0] ?? "";

const reds = (html: string): number => html.split('class="state bad"').length - 1;

function expectOneReading({ ok, errors, warnings, findings, incidents }: Status, nowMs: number): void {
  expect([ok, errors + warnings]).toEqual([findings.length === 0, findings.length]);
  const found = new Map(findings.map((each) => [key(each), each]));
  for (const incident of incidents) {
    const finding = found.get(key(incident));
    // Open incidents are findings, of the same severity and in the same words; others are none.
    if (incident.state === "open")
      expect(finding).toMatchObject({
        severity: incident.severity,
        summary: incident.summary,
        affected: incident.affected,
        since: incident.since,
        incident: incident.id,
      });
    else expect(finding).toBeUndefined();
    const { recovering_since, over_at, over_since } = incident;
    expect([incident.state === "over", over_since]).toEqual([false, null]);
    expect([recovering_since === null, over_at === null]).toEqual(Array(2).fill(incident.state !== "recovering"));
    if (recovering_since !== null) expect(Date.parse(recovering_since)).toBeLessThanOrEqual(nowMs);
  }
  const open = new Set(ofState(incidents, "open").map(({ id }) => id));
  for (const { incident } of findings) if (incident !== null) expect(open).toContain(incident);
}

it("findings, incidents, page and webhook agree after each step", { timeout: 120_000 }, async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(anyCourse, async (course) => {
      const admin = await Visitor.signedIn();
      await runInDurableObject(theWatch(), (_watch, { storage }) => {
        storage.sql.exec("DELETE FROM incident");
      });
      await call("DELETE", "/logship/webhook");
      await putWebhook();
      post.calls.splice(0);
      clock.advance(MINUTE_MS);
      const told = new Set<string>();
      for (const step of course) {
        vi.spyOn(Watch.prototype, "see").mockImplementation(async () => resultOf(factsOf(step)));
        await act(step);
        const now = await settledStatus();
        expectOneReading(now, clock.nowMs());
        const listed = (await call<SaidIncident[]>("GET", "/logship/incidents")).body.result;
        expect(ofState(listed, "open", "recovering", "unknown")).toEqual(
          now.incidents.toSorted(
            (a, b) => listed.findIndex(({ id }) => id === a.id) - listed.findIndex(({ id }) => id === b.id),
          ),
        );
        for (const { over_since } of ofState(listed, "over")) expect(over_since).not.toBeNull();

        const above = panel((await admin.get("/status")).html, "findings");
        const below = panel((await admin.get("/incidents")).html, "incidents");
        const states = (words: RegExp): number => textOf(below).match(words)?.length ?? 0;
        expect(textOf(above).includes("No problems")).toBe(now.ok);
        expect(reds(above)).toBe(now.errors);
        expect(reds(below)).toBe(ofState(now.incidents, "open").filter(({ severity }) => severity === "error").length);
        expect(states(/open, (?:error|warning)/g)).toBe(ofState(now.incidents, "open").length);
        expect(states(/not confirmed: no answer/g)).toBe(ofState(now.incidents, "unknown").length);
        expect(states(/recovering: over after/g)).toBe(ofState(now.incidents, "recovering").length);

        const { failures, failing_since, waiting } = await readWebhook();
        const isFailing =
          failures >= 3 || (failing_since !== null && clock.nowMs() - Date.parse(failing_since) >= 10 * MINUTE_MS);
        expect(now.findings.some(({ kind }) => kind === "webhook_failing")).toBe(isFailing);
        for (const { body } of post.calls.splice(0)) {
          if (step.answer !== 204) continue;
          for (const { incident } of incidentsIn(body.data) as { incident: string }[])
            if (body.type === "incident.opened") told.add(incident);
            else told.delete(incident);
        }
        // What the receiver takes for open is not over, and all of that unless a call waits.
        if (waiting === 0)
          expect([...told].sort()).toEqual(
            now.incidents
              .filter(({ kind }) => kind !== "webhook_failing")
              .map(({ id }) => id)
              .sort(),
          );
        for (const { state } of listed) seen.add(state);
      }
    }),
    { numRuns: 12, examples: [[COURSE]] },
  );
  expect([...seen].sort()).toEqual(["open", "over", "recovering", "unknown"]);
});
