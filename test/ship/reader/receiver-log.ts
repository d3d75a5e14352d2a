/** The log of a job whose requests go to a receiver in memory. */
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt } from "../../../src/formats/secrets/encrypted.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import type { JobReader } from "../../../src/ship/reader/job-reader.ts";
import type { ObjectRow } from "../../../src/ship/reader/reader-rows.ts";
import { ACCOUNT } from "../../support/constants.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import type { RECEIVERS, ReceiverService } from "../destinations/receivers.ts";
import { cutObjects, jobInto } from "./direct.ts";

function sealed(conf: string): string {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  return encrypt(conf, destinationPurpose(ACCOUNT), config.config.keys);
}

/** Job 1, into a receiver. */
export const jobTo = (conf: string, fields: Partial<JobConfig> = {}): JobConfig =>
  jobInto("unused", { destination: sealed(conf), path: "", ...fields });

/** Requests of the service go to a receiver. @param between stands between the two. */
export function receiver(
  { service }: (typeof RECEIVERS)[string],
  between: (fetch: ReceiverService["fetch"]) => ReceiverService["fetch"] = (fetch) => fetch,
) {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(platform, "random").mockReturnValue(0);
  const clock = setClock(NOON);
  const held = service();
  const fetch = between(held.fetch);
  const ids: (string | null)[] = [];
  vi.spyOn(platform, "fetch").mockImplementation((url, init) => {
    ids.push(new Headers(init.headers).get("idempotency-key"));
    return fetch(url, init);
  });
  return { held, ids, clock };
}

export const record = (mark: string, text = ""): string =>
  `${JSON.stringify({ EventTimestampMs: NOON, ScriptName: "shop", Logs: [{ Message: [mark, text] }] })}\n`;
export const records = (count: number, text = ""): string[] =>
  Array.from({ length: count }, (_, i) => record(`mark-${i}`, text));
export const marks = (count: number): string[] => Array.from({ length: count }, (_, i) => `mark-${i}`).sort();

/** Counts of a log, of which every record is in exactly one. */
export function countsOf(log: JobReader) {
  const status = log.status();
  if (status === null) throw new Error("no log");
  const { received, filtered, sampled_out, delivered, pending, set_aside, discarded } = status.counts;
  expect(filtered + sampled_out + delivered + pending + set_aside + discarded).toBe(received);
  return { received, delivered, pending, set_aside, discarded, resent: status.resentInDoubt };
}

export const rowsOf = (storage: DurableObjectStorage): ObjectRow[] => cutObjects(storage).map(({ row }) => row);

/** Uploads until nothing is due, a minute apart. */
export async function drain(log: JobReader, clock: { advance(ms: number): void }, times = 12): Promise<void> {
  for (let i = 0; i < times; i++) {
    if (i > 0) clock.advance(60_000);
    await log.drive("manual", 10_000);
  }
}
