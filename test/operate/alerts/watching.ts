/**
 * A watch with scripted findings, and its receiver. Each test begins at noon, without findings and
 * calls.
 */
import { runInDurableObject } from "cloudflare:test";
import { beforeEach, type MockInstance, vi } from "vitest";
import type { Finding } from "../../../src/operate/status/finding.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { finding } from "../status/findings.ts";
import { tellAtOnce } from "./fresh.ts";
import { type Receiver, receiver, runWatchAlarm, sees, theWatch } from "./receiver.ts";

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;

export const of = (id: number, fields: Partial<Finding> = {}): Finding =>
  finding({ subject: { type: "job", id }, ...fields });

export let clock: ReturnType<typeof setClock>;
export let eyes: ReturnType<typeof sees>;
export let post: Receiver;
export let errors: MockInstance;

/**
 * For the tests of a file. A hook at the top of this module would be set for the first file alone.
 */
export function watchEach(): void {
  tellAtOnce();
  beforeEach(() => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    errors = vi.spyOn(console, "error").mockImplementation(() => {});
    clock = setClock(NOON);
    eyes = sees();
    post = receiver();
  });
}

/** A cron at this minute after noon. */
export async function checkAt(minute: number, findings: readonly Finding[] = []): Promise<void> {
  clock.advance(NOON + minute * MINUTE_MS - clock.nowMs());
  eyes.now(findings);
  await theWatch().check();
}

/** Runs the cron every five minutes, and each due alarm, for this long. */
export async function pass(ms: number, findings: readonly Finding[]): Promise<void> {
  eyes.now(findings);
  const end = clock.nowMs() + ms;
  for (let cron = clock.nowMs() + 5 * MINUTE_MS; clock.nowMs() < end; ) {
    const alarmMs = await runInDurableObject(theWatch(), (_watch, { storage }) => storage.getAlarm());
    const next = Math.min(end, cron, Math.max(alarmMs ?? end, clock.nowMs()));
    clock.advance(next - clock.nowMs());
    if (alarmMs !== null && alarmMs <= next) await runWatchAlarm();
    if (next !== cron) continue;
    await theWatch().check();
    cron += 5 * MINUTE_MS;
  }
}

/** Opens an incident of each of these jobs. */
export async function begin(...jobs: readonly number[]): Promise<Finding[]> {
  const findings = jobs.map((id) => of(id));
  await checkAt((clock.nowMs() - NOON) / MINUTE_MS, findings);
  clock.advance(MINUTE_MS);
  await runWatchAlarm();
  return findings;
}
