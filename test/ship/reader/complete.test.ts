/** `last_complete` passes nothing that is set aside, and what was claimed stays. */
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import worker, { TraceLog } from "../../../src/index.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { freshBucket, logStatus, NOON, pack, readAll, setClock } from "../../support/runtime/pipeline.ts";
import type { BucketControl } from "../../support/s3-control.ts";
import { rule } from "../../support/s3-script.ts";

const MINUTE_MS = 60_000;

let clock: ReturnType<typeof setClock>;
let oracle: Oracle;
let job: number;
let control: BucketControl;

beforeEach(async () => {
  clock = setClock(NOON);
  oracle = new Oracle({ at: NOON });
  const bucket = freshBucket();
  control = bucket.control;
  job = await createJob(bucket.name);
});

async function run(bodies: readonly ArrayBuffer[], queue = "logship-events"): Promise<void> {
  const batch = createMessageBatch(
    queue,
    bodies.map((body, i) => ({ id: `${i}`, timestamp: new Date(clock.nowMs()), attempts: 1, body })),
  );
  await worker.queue(batch, env);
  await getQueueResult(batch, createExecutionContext());
  await readAll();
}

const message = (): ArrayBuffer[] => pack(oracle.mint(5), clock.nowMs()).map(({ body }) => body.slice().buffer);

/** Ten minutes pass, and a message arrives and is uploaded. */
async function pass(): Promise<void> {
  clock.advance(10 * MINUTE_MS);
  await run(message());
  await nodeAt(env.READERS, job, 0).drive("manual", 5_000);
}

async function complete(): Promise<number> {
  const { last_complete } = (await api<{ last_complete: string | null }>("GET", `/logship/jobs/${job}`)).body.result;
  return last_complete === null ? 0 : Date.parse(last_complete);
}

async function aside(): Promise<string> {
  const entries = (await api<{ id: string }[]>("GET", "/logship/set-aside")).body.result;
  expect(entries).toHaveLength(1);
  return entries[0]?.id ?? "";
}

async function finding(kind: string): Promise<{ summary: string; advice: string } | undefined> {
  const { findings } = (
    await api<{ findings: { kind: string; summary: string; advice: string }[] }>("GET", "/logship/status")
  ).body.result;
  return findings.find((each) => each.kind === kind);
}

describe("a message that is set aside", () => {
  for (const end of ["sent again", "discarded"] as const) {
    it(`is not passed until it is ${end}`, async () => {
      await pass();
      clock.advance(MINUTE_MS);
      const takenIn = clock.nowMs();
      await run(message(), "logship-events-dead");
      await pass();
      await pass();
      expect(await complete()).toBe(takenIn);
      expect((await finding("messages_set_aside"))?.advice).toContain("last_complete does not pass it");
      const path = `/logship/set-aside/${await aside()}`;
      if (end === "discarded") await api("DELETE", path);
      else await api("POST", `${path}/resend`);
      await pass();
      expect(await complete()).toBeGreaterThan(takenIn);
    });
  }

  it("and cannot be read stops all claims, and status says so", async () => {
    await pass();
    const before = await complete();
    expect(before).toBeGreaterThan(0);
    await run([new Uint8Array([1, 2, 3]).buffer]);
    await pass();
    await pass();
    expect(await complete()).toBe(before);
    clock.advance(15_000);
    expect((await finding("messages_set_aside"))?.summary).toContain("last_complete stands still for every job");
    await api("DELETE", `/logship/set-aside/${await aside()}`);
    await pass();
    expect(await complete()).toBeGreaterThan(before);
  });

  it("takes back no claim, though it is older", async () => {
    const early = message();
    await pass();
    await pass();
    const before = await complete();
    await run(early, "logship-events-dead");
    await pass();
    expect(await complete()).toBe(before);
  });
});

it("a dead letter that its shard could not be told of is not passed, though the shard answers again before it comes", async () => {
  await pass();
  clock.advance(MINUTE_MS);
  const takenIn = clock.nowMs();
  const [dead, queue] = [message(), "logship-events-dead"];
  vi.spyOn(console, "error").mockImplementation(() => {});
  const hold = vi.spyOn(TraceLog.prototype, "hold").mockRejectedValue(new Error("out of reach"));
  await run(dead, queue);
  hold.mockRestore();
  await pass();
  await pass();
  expect(await complete()).toBe(takenIn);
  // It comes again within four hours, and then the shard has it.
  await run(dead, queue);
  clock.advance(240 * MINUTE_MS);
  await pass();
  expect(await complete()).toBe(takenIn);
  await api("DELETE", `/logship/set-aside/${await aside()}`);
  await pass();
  expect(await complete()).toBeGreaterThan(takenIn);
});

describe("an object that is set aside", () => {
  for (const end of ["sent again", "discarded"] as const) {
    it(`is not passed until it is ${end}`, async () => {
      await pass();
      await control.script([rule({ do: "answer", status: 413 }, { method: "PUT", keyIncludes: ".log.gz" })]);
      clock.advance(10 * MINUTE_MS);
      const takenIn = clock.nowMs();
      await run(message());
      await nodeAt(env.READERS, job, 0).drive("manual", 5_000);
      expect((await logStatus(job)).setAside.objects).toBe(1);
      await control.script([]);
      await pass();
      await pass();
      expect(await complete()).toBe(takenIn);
      const path = `/logship/set-aside/${await aside()}`;
      if (end === "discarded") await api("DELETE", path);
      else await api("POST", `${path}/resend`);
      await pass();
      expect(await complete()).toBeGreaterThan(takenIn);
    });
  }
});
