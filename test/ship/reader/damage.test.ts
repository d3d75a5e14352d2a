/** Stores that say 200 and do not mean it, beyond what the fault matrix has of them. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { deliver, pack, runAlarm, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { HEADS, PUTS, waitingJob } from "./waiting.ts";

it("a store keeps half, and the log dies before it can ask: what is met later is known for half of ours", async () => {
  const { clock, control, job, asked, expectWhole } = await waitingJob();
  await control.script([rule({ do: "truncate" }, PUTS, 1), rule({ do: "hold" }, HEADS, 1)]);
  clock.advance(30_000);
  const alarm = runAlarm(job).catch(() => false);
  await control.whenHeld(1);
  await abortAllDurableObjects();
  await alarm;
  await control.release();
  await settle(job, clock);
  expect((await asked()).slice(2)).toEqual(["PUT 412", "HEAD 200", "PUT 200"]);
  expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
});

it("a store keeps half of an object that is streamed: it is read again from its start", async () => {
  const { clock, control, job, oracle, expectWhole } = await waitingJob();
  const large = oracle.mint(60).map((minted) => {
    const ScriptTags = [btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(45_000))))];
    return { ...minted, event: { ...minted.event, ScriptTags }, record: { ...minted.record, ScriptTags } };
  });
  oracle.acknowledged("job", large);
  await deliver(pack(large, clock.nowMs(), { perMessage: 1 }));
  await control.script([rule({ do: "truncate" }, PUTS, 1)]);
  await nodeAt(env.READERS, job, 0).drive("manual", 15_000);
  const objects = await expectWhole();
  expect(objects).toMatchObject([{ state: "delivered", verified: true, attempts: 1, records: 70 }]);
  expect(objects[0]?.bytes).toBeGreaterThan(2_000_000);
});

it("a store whose ETag is not the MD5 refuses HEAD: delivered, once, and not verified", async () => {
  const { clock, control, job, asked, written, expectWhole } = await waitingJob();
  await control.script([
    rule({ do: "wrong-etag" }, PUTS),
    rule({ do: "answer", status: 403, code: "AccessDenied" }, HEADS),
  ]);
  clock.advance(30_000);
  await runAlarm(job);
  expect(await asked()).toEqual(["PUT 200", "HEAD 403"]);
  expect(await written()).toHaveLength(1);
  expect(await expectWhole()).toMatchObject([{ number: 1, state: "delivered", verified: false, attempts: 1 }]);
});
