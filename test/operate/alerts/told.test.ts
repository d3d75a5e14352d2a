/**
 * From a store that rejects uploads to a call of the webhook, through the deployed service: only
 * store and receiver are scripted.
 */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { type Snapshot, watch } from "../../../src/operate/alerts/watch.ts";
import { waitingJob } from "../../ship/reader/waiting.ts";
import { runAlarm, runCron } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call } from "../../web/api/harness.ts";
import { verify } from "./verify.ts";

const HOOK = "https://hooks.example.com/secret-part";

interface Told {
  type: string;
  data: { kind: string; subject: object; since: string; summary: string; job_name?: string };
}

it("whoever set a webhook is told that a job cannot deliver, within a minute of the cron that saw it, and when it can again", async () => {
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
