/** As vanish.test.ts, for the canary, attachments and replays. */
import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import worker from "../../../src/index.ts";
import { CANARY_GET, ended, tick } from "../../ship/reader/canary-world.ts";
import { createJob } from "../../support/runtime/api.ts";
import { freshBucket, NOON, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { put, said, scriptedApi, UPSTREAM_API } from "../../web/api/scripted-platform.ts";
import { inReplays, runReplays, shippedJob } from "../replay/shipped.ts";
import { kindsOf, MINUTE_MS, freshStatus as status } from "../status/support.ts";
import { lookAnew } from "./fresh.ts";

lookAnew();

const HOUR_MS = 60 * MINUTE_MS;
const at = (ms: number): string => new Date(ms).toISOString();

it("a destination that takes bytes, and shows none, is said with the first canary, and no more once it can be read", async () => {
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name, { canary: true });
  await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, CANARY_GET)]);
  expect(await kindsOf(status())).toEqual([]);
  await readAll();
  await ended(job);
  expect((await status()).findings).toMatchObject([
    {
      kind: "canary_unreadable",
      subject: { type: "job", id: job },
      since: at(NOON),
      summary: expect.stringContaining("403 AccessDenied"),
    },
  ]);
  await control.script([]);
  clock.advance(HOUR_MS);
  await tick(job);
  expect(await kindsOf(status())).not.toContain("canary_unreadable");
});

it("an attachment that a later deployment undid is said with the next cron, and no more once it is put right", async () => {
  const clock = setClock(NOON);
  const settings = { UPSTREAM_API, UPSTREAM_TOKEN: "upstream-token-0123456789abcdefghijklmno" };
  let consumers: unknown = [{ service: "logship" }];
  vi.spyOn(platform, "fetch").mockImplementation(async () => said({ tail_consumers: consumers }));
  const cron = async (): Promise<void> => {
    clock.advance(5 * MINUTE_MS);
    await worker.scheduled(createScheduledController(), { ...env, ...settings } as never);
  };
  expect((await put(scriptedApi(said({})), undefined, "shop")).status).toBe(200);
  await cron();
  expect(await kindsOf(status())).not.toContain("attachment_undone");
  consumers = null;
  await cron();
  expect((await status()).findings).toContainEqual(
    expect.objectContaining({
      kind: "attachment_undone",
      subject: { type: "function", name: "shop" },
      since: at(clock.nowMs()),
    }),
  );
  consumers = [{ service: "logship" }];
  await cron();
  expect(await kindsOf(status())).not.toContain("attachment_undone");
});

it("a replay that waits for its destination is said at once, and no more when it goes on", async () => {
  const shipped = await shippedJob(2);
  const { id } = await shipped.begin();
  await shipped.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "PUT" })]);
  await runReplays();
  const [trouble] = await inReplays((replays) => replays.status());
  const { findings } = await status();
  expect(findings).toMatchObject([{ kind: "replay_waiting", since: at(trouble?.sinceMs ?? Number.NaN) }]);
  expect(findings[0]?.summary).toContain("403 AccessDenied");
  await shipped.control.script([]);
  expect((await shipped.settle(id)).state).toBe("done");
  expect(await kindsOf(status())).toEqual([]);
});
