import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import worker from "../../src/index.ts";
import type { PackedMessage } from "../../src/intake/packing.ts";
import type { Append } from "../../src/object/append.ts";
import { Oracle } from "../support/oracle.ts";
import { createJob } from "../support/runtime/api.ts";
import { deliver, freshBucket, logStatus, NOON, pack, setClock } from "../support/runtime/pipeline.ts";

/**
 * Delivers messages to a worker that cannot reach the control plane, and whose append to any log
 * waits for `go`.
 */
function deliverHeld(messages: readonly PackedMessage[]) {
  const reached = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const control = { getByName: () => ({ configSince: () => Promise.reject(new Error("out of reach")) }) };
  const logs = {
    getByName: (name: string) => ({
      append: async (append: Append) => {
        reached.resolve();
        await go.promise;
        return env.READERS.getByName(name).append(append);
      },
    }),
  };
  const bodies = messages.map(({ body }, i) => ({
    id: `${i}`,
    timestamp: new Date(),
    attempts: 1,
    body: body.slice().buffer,
  }));
  const batch = createMessageBatch("logship-events", bodies);
  const scripted = {
    ...env,
    CONTROL: control as unknown as Env["CONTROL"],
    READERS: logs as unknown as Env["READERS"],
  };
  const done = worker.queue(batch, scripted).then(() => getQueueResult(batch, createExecutionContext()));
  return { reached: reached.promise, go: go.resolve, done };
}

describe("two batches in one isolate", () => {
  it("are each counted by the jobs that they were routed by: what one learns meanwhile does not acknowledge the other", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const clock = setClock(NOON);
    const oracle = new Oracle({ at: NOON });
    const first = await createJob(freshBucket().name);
    await deliver(pack(oracle.mint(1), clock.nowMs()));
    clock.advance(60_000);
    const second = await createJob(freshBucket().name);

    // 1. One batch is routed by the isolate's configuration, the first job alone, and held at that
    //    job's log.
    const held = deliverHeld(pack(oracle.mint(5), clock.nowMs()));
    await held.reached;
    // 2. Another batch reads the second job from the control plane.
    await deliver(pack(oracle.mint(7), clock.nowMs()));
    expect((await logStatus(second)).counts.received).toBe(7);
    // 3. The first batch is counted.
    held.go();
    const result = await held.done;
    expect(result.explicitAcks.length + result.retryMessages.length).toBe(1);
    expect((await logStatus(first)).counts.received).toBe(13);
    // Either it was offered to the second job as well, or it comes again.
    const missed = result.explicitAcks.length === 1 && (await logStatus(second)).counts.received === 7;
    expect(missed, "acknowledged, and never offered to the second job").toBe(false);
  });
});
