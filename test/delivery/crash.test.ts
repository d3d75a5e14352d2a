import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { segmentOf } from "../../src/delivery/chain.ts";
import { AccountLedger, DeliveryLog } from "../../src/index.ts";
import { assertClean, Oracle } from "../support/oracle.ts";
import { createJob } from "../support/runtime/api.ts";
import {
  balance,
  deliver,
  freshBucket,
  logStatus,
  NOON,
  pack,
  runAlarm,
  setClock,
  settle,
} from "../support/runtime/pipeline.ts";
import { rule } from "../support/s3-script.ts";

type Method = "append" | "configure" | "uploadOne" | "put" | "settle" | "alarm";

/**
 * Makes the object die the next time a step is reached: before the step, after it, or after it and once the disk has it. What was committed
 * stays, the call in flight rejects, and nothing after the step happens.
 */
function crashAt(step: Method, when: "before" | "after" | "after, on disk"): { crashed(): boolean } {
  const original = DeliveryLog.prototype[step] as (...args: unknown[]) => unknown;
  let crashed = false;
  vi.spyOn(DeliveryLog.prototype, step as "append").mockImplementation(function (
    this: DeliveryLog,
    ...args: unknown[]
  ) {
    if (crashed) return original.apply(this, args) as never;
    crashed = true;
    const { ctx } = this as unknown as { ctx: DurableObjectState };
    const die = (): never => {
      ctx.abort(`crash ${when} ${step}`);
      throw new Error("unreachable");
    };
    if (when === "before") return die();
    const result = original.apply(this, args);
    const finish = async (): Promise<never> => {
      await result;
      if (when === "after, on disk") await ctx.storage.sync();
      return die();
    };
    return (result instanceof Promise || when === "after, on disk" ? finish() : die()) as never;
  } as never);
  return { crashed: () => crashed };
}

const STEPS = (["append", "uploadOne", "put", "settle", "alarm"] as const).flatMap((step) =>
  (["before", "after", "after, on disk"] as const).map((when) => [when, step] as const),
);

describe.each(STEPS)("the log dies %s %s", (when, step) => {
  it("and every record is delivered once", async ({ expect }) => {
    const clock = setClock(NOON);
    const { name, control } = freshBucket();
    const job = await createJob(name);
    const oracle = new Oracle({ at: NOON });
    const events = oracle.mint(60, { days: 3 });
    oracle.acknowledged("job", events);
    const messages = pack(events, clock.nowMs(), { perMessage: 10 });
    const crash = crashAt(step, when);
    const { retried } = await deliver(messages);
    // The queue does what it must: what was not acknowledged comes again.
    if (retried.length > 0)
      await deliver(
        messages.filter(({ id }) => retried.includes(id)),
        2,
      );
    clock.advance(30_000);
    await runAlarm(job).catch(() => {});
    await settle(job, clock);
    expect(crash.crashed()).toBe(true);
    assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
    const puts = (await control.puts()).filter(({ key }) => key.endsWith(".log.gz"));
    expect(puts.every(({ version }) => version === 1)).toBe(true);
    const status = await logStatus(job);
    expect(status.counts).toMatchObject({ received: 60, delivered: 60, pending: 0 });
    expect(balance(status).accountedFor).toBe(60);
  });
});

it("dies while the store is taking an object, which appears only afterwards", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle({ at: NOON });
  const events = oracle.mint(10);
  oracle.acknowledged("job", events);
  await deliver(pack(events, clock.nowMs()));
  await control.script([rule({ do: "hold" }, { method: "PUT" }, 1)]);
  clock.advance(30_000);
  const alarm = runAlarm(job).catch(() => false);
  await control.whenHeld(1);
  await abortAllDurableObjects();
  await alarm;
  expect((await logStatus(job)).counts.pending).toBe(10);
  await control.release();
  await settle(job, clock);
  assertClean(oracle.audit("job", await control.contents(), { path: "logs/{DATE}" }));
  expect((await logStatus(job)).counts).toMatchObject({ delivered: 10, pending: 0 });
});

it("counts a message once for the account, though the ledger died after counting it", async ({ expect }) => {
  const clock = setClock(NOON);
  const { name } = freshBucket();
  const job = await createJob(name);
  const events = new Oracle({ at: NOON }).mint(10);
  const messages = pack(events, clock.nowMs());
  const count = AccountLedger.prototype.count;
  vi.spyOn(AccountLedger.prototype, "count").mockImplementationOnce(function (this: AccountLedger, ...args) {
    count.apply(this, args);
    throw new Error("the answer is lost");
  });
  expect((await deliver(messages)).retried).toHaveLength(1);
  expect((await deliver(messages, 2)).acked).toHaveLength(1);
  expect((await env.ACCOUNT.getByName("account").status()).counts).toMatchObject({ processed: 10, routed: 10 });
  expect((await segmentOf(env.LOG, job, 0).status())?.counts.received).toBe(10);
});
