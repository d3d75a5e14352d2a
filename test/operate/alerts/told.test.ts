/**
 * From a store that rejects uploads to a call of the webhook, through the deployed service: only
 * store and receiver are scripted.
 */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { type Snapshot, watch } from "../../../src/operate/alerts/watch.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { runAlarm, runCron } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";
import { call } from "../../web/api/harness.ts";
import { verify } from "./verify.ts";

const HOOK = "https://hooks.example.com/secret-part";

interface Told {
  type: string;
  data: { kind: string; subject: object; since: string; summary: string; job_name?: string };
}

it("a webhook gets a call 80 s after a check saw that a job cannot deliver, and another when it can again", async () => {
  const { clock, control, job } = await waitingJob();
  await call("PUT", `/logship/jobs/${job}`, { name: "orders to archive" });
  const made = await call<{ secret: string }>("PUT", "/logship/webhook", { url: HOOK });
  const told: Told[] = [];
  const { fetch } = platform;
  vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
    if (url !== HOOK) return fetch(url, init);
    const body = String(init.body);
    expect(await verify(new Headers(init.headers), body, made.body.result.secret)).toBe(true);
    told.push(JSON.parse(body) as Told);
    return new Response(null, { status: 204 });
  });
  const alarm = () => runDurableObjectAlarm(watch(env.WATCH));
  await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" })]);
  clock.advance(30_000);
  const since = new Date(clock.nowMs()).toISOString();
  await runAlarm(job);
  await runCron();
  expect(told).toEqual([]);
  clock.advance(60_000);
  expect(await alarm()).toBe(true);
  expect(told).toEqual([]);
  clock.advance(20_000);
  expect(await alarm()).toBe(true);
  const { findings } = (await watch(env.WATCH).snapshot()) as Snapshot;
  expect(told).toMatchObject([
    {
      type: "incident.opened",
      data: { kind: "parked", subject: { type: "job", id: job }, job_name: "orders to archive", since },
    },
  ]);
  expect(told[0]?.data.summary).toBe(findings[0]?.summary);
  await control.script([]);
  for (let cron = 0; cron < 8; cron++) {
    clock.advance(300_000);
    await runAlarm(job);
    await runCron();
  }
  const ends = told.filter(({ data }) => data.kind === "parked").map(({ type }) => type);
  expect(ends).toEqual(["incident.opened", "incident.over"]);
});

it("uploads that fail without a pause are told within two minutes of their threshold, though no cron runs", async () => {
  const { clock, control, job } = await waitingJob();
  await call("PUT", "/logship/webhook", { url: HOOK });
  await watch(env.WATCH).check();
  const told: [string, number][] = [];
  const { fetch } = platform;
  vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
    if (url !== HOOK) return fetch(url, init);
    told.push([(JSON.parse(String(init.body)) as Told).data.kind, clock.nowMs()]);
    return new Response(null, { status: 204 });
  });
  await control.script([rule({ do: "answer", status: 503 })]);
  clock.advance(30_000);
  await runAlarm(job);
  const failingMs = clock.nowMs() + 120_000;
  const armed = () => runInDurableObject(watch(env.WATCH), (_watch, { storage }) => storage.getAlarm());
  await until(async () => ((await armed()) ?? 0) <= clock.nowMs() + 10_000);
  for (let at = await armed(); at !== null && at <= failingMs + 120_000; at = await armed()) {
    clock.advance(Math.max(0, at - clock.nowMs()));
    await runDurableObjectAlarm(watch(env.WATCH));
  }
  expect(told).toEqual([["failing", expect.any(Number)]]);
  expect((told[0]?.[1] ?? 0) - failingMs).toBeLessThanOrEqual(90_000);
});
