/** Replays deleted with their job while copies are in flight do not affect later replays. */
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { replays } from "../../../src/operate/replay/replays.ts";
import { api } from "../../support/runtime/api.ts";
import { rule } from "../../support/s3-script.ts";
import { expectCopied, inReplays, shippedJob } from "./shipped.ts";

it("a replay that is asked for when another was forgotten in the middle of a copy is not taken for it", async ({
  expect,
}) => {
  const gone = await shippedJob(4);
  const waitMs = await inReplays((object) => {
    const { alarmWaitMs } = object;
    object.alarmWaitMs = 0;
    return alarmWaitMs;
  });
  await gone.begin();
  const before = (await gone.control.requests()).length;
  await gone.control.script([rule({ do: "hold" }, { method: "PUT", keyIncludes: ".log.gz" })]);
  await inReplays((object) => object.alarm());
  const held = async (): Promise<number> =>
    (await gone.control.requests()).slice(before).filter(({ method }) => method === "PUT").length;
  while ((await held()) < 4) await scheduler.wait(20);
  await api("DELETE", `/logship/jobs/${gone.job}`);
  // Waits for the copies in flight.
  const driven = replays(env.REPLAYS).drive();
  while ((await replays(env.REPLAYS).list(gone.job)).some(({ endedMs }) => endedMs === null)) await scheduler.wait(20);

  const shipped = await shippedJob(4);
  await shipped.control.script([rule({ do: "answer", status: 503 }, { method: "PUT", keyIncludes: ".log.gz" })]);
  const { id } = await shipped.begin();
  await gone.control.script([]);
  await gone.control.release();
  await shipped.control.script([]);
  await driven;
  // From here on the clock moves between two alarms, which a copy in flight would take for silence.
  await inReplays((object) => {
    object.alarmWaitMs = waitMs;
  });
  const ended = await shipped.settle(id);
  expect(ended).toMatchObject({ state: "done", problems: [], done: { objects: 4 } });
  await expectCopied(shipped, id, { objects: 4 });
});
