import { describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { batchTexts, NDJSON } from "../../../src/formats/output/format.ts";
import { canaryAfter } from "../../../src/ship/reader/canary-object.ts";
import { azureConf } from "../../support/runtime/api.ts";
import { logStatus, NOON } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { until } from "../../support/until.ts";
import { CANARY_GET, canaryWorld, ended, tick } from "./canary-world.ts";
import { append, format, fragmentsOf, inLog, textOfMember } from "./direct.ts";

const HOUR_MS = 3_600_000;
const KEY = /^logs\/00010101\/canary\/job-1-[0-9a-f]{8}\.canary\.gz$/;

describe("a canary", () => {
  it("waits at first, is sent at once, and is well when it was read back", async () => {
    const { state, tick, asked, control, report, job } = await canaryWorld();
    expect(await state()).toEqual({ state: "waiting", sinceMs: NOON, lastOkMs: null, why: null });
    expect(await tick()).toBe(true);
    expect(await state()).toEqual({ state: "ok", sinceMs: NOON, lastOkMs: NOON, why: null });
    expect(await asked()).toEqual(["PUT 200", "GET 200"]);
    const objects = await control.objects();
    expect(objects).toMatchObject([{ key: expect.stringMatching(KEY), contentType: "application/x-ndjson", puts: 1 }]);
    const [object] = await control.contents();
    const record = JSON.parse(textOfMember(object?.bytes ?? new Uint8Array()));
    expect(record).toMatchObject({ ScriptName: "logship-canary", EventTimestampMs: NOON, EventType: "unknown" });
    expect(await report()).toEqual({
      state: "ok",
      sinceMs: NOON,
      lastOkMs: NOON,
      why: null,
      lastRunMs: NOON,
      nextRunMs: canaryAfter(job.id, NOON),
      key: objects[0]?.key,
    });
  });

  it("is sent in one minute of every hour, under one key, with other bytes each time", async () => {
    const { tick, nextHour, clock, control, job } = await canaryWorld();
    await tick();
    for (let hour = 0; hour < 3; hour++) {
      expect(await nextHour()).toEqual({ state: "ok", sinceMs: NOON, lastOkMs: clock.nowMs(), why: null });
      expect(clock.nowMs()).toBe(canaryAfter(job.id, NOON) + hour * HOUR_MS);
      // Nor is there anything to do before the next.
      clock.advance(60_000);
      await inLog(job, (log) => log.drive("scheduled", 0));
      await ended(job.id);
    }
    const puts = await control.puts();
    expect(new Set(puts.map(({ key }) => key)).size).toBe(1);
    expect(new Set(puts.map(({ sha256 }) => sha256)).size).toBe(4);
    expect(puts.length).toBe(4);
  });

  it("is sent by the cron where the alarm does not come", async () => {
    const { clock, asked, job } = await canaryWorld();
    await tick(job.id);
    clock.advance(canaryAfter(job.id, NOON) - NOON - 1);
    const drive = async (): Promise<void> => {
      await inLog(job, (log) => log.drive("scheduled", 0));
      await ended(job.id);
    };
    await drive();
    expect((await asked()).length).toBe(2);
    clock.advance(1);
    await drive();
    await drive();
    expect(await asked()).toEqual(["PUT 200", "GET 200", "PUT 200", "GET 200"]);
  });

  it("is written and read in a container of Azure", async () => {
    const { asked, state, nextHour, tick } = await canaryWorld({}, undefined, azureConf);
    await tick();
    expect(await state()).toMatchObject({ state: "ok" });
    expect(await nextHour()).toMatchObject({ state: "ok" });
    expect(await asked()).toEqual(["PUT 201", "GET 200", "PUT 201", "GET 200"]);
  });

  it("is not sent at all with a SAS that may only create", async () => {
    const createOnly: typeof azureConf = (name, path) => azureConf(name, path, "rc");
    const { asked, untilDecided } = await canaryWorld({}, undefined, createOnly);
    const why = "the canary could not be written: the SAS may create blobs, but not overwrite them (sp without w)";
    expect(await untilDecided()).toMatchObject({ state: "failed", why });
    expect(await asked()).toEqual([]);
  });

  it.each([
    [
      "csv with a header",
      format({
        type: "csv",
        recordPrefix: "",
        recordSuffix: "\n",
        fieldNames: ["ScriptName", "Outcome"],
        batchPrefix: "a,b\n",
      }),
      'a,b\n"logship-canary","ok"\n',
      "text/csv",
    ],
    [
      "a template",
      format({
        recordTemplate: '{{ .ScriptName }} was {{ .Outcome }}{{ "!" }}',
        recordPrefix: "<",
        recordSuffix: ">",
        batchPrefix: "[",
        batchSuffix: "]",
        recordDelimiter: ",",
      }),
      '[<"logship-canary" was "ok"!>]',
      "application/x-ndjson",
    ],
  ])("is written as the job's records are: %s", async (_what, output, text, contentType) => {
    const { tick, state, control } = await canaryWorld({ output });
    await tick();
    expect((await state())?.state).toBe("ok");
    const [object] = await control.contents();
    expect(textOfMember(object?.bytes ?? new Uint8Array())).toBe(text);
    expect(await control.objects()).toMatchObject([{ contentType }]);
    expect(text.startsWith(new TextDecoder().decode(batchTexts(output).prefix))).toBe(true);
  });

  it("passes the job's filter and sample by: they say what of others' events is shipped", async () => {
    const filter = '{"where":{"key":"ScriptName","operator":"eq","value":"nobody"}}';
    const { tick, state } = await canaryWorld({ filter, sampleRate: 1e-9 });
    await tick();
    expect((await state())?.state).toBe("ok");
  });

  it("says that it could not be written where its format cannot be", async () => {
    const { tick, state, asked } = await canaryWorld({ output: format({ recordTemplate: "{{" }) });
    await tick();
    expect(await state()).toMatchObject({ state: "failed", why: "the canary could not be written: internal error" });
    expect(await asked()).toEqual([]);
  });

  it("says that it could not be written where no key opens the destination", async () => {
    const { tick, state } = await canaryWorld({ destination: "1.AAAA.AAAA" });
    await tick();
    expect(await state()).toMatchObject({ state: "failed", why: expect.stringMatching(/neither SECRETS_KEY nor/) });
  });
});

describe("a canary that hangs", () => {
  it("holds up neither cuts nor uploads, and no second one is sent beside it", async () => {
    const { clock, control, job, tick, state, asked } = await canaryWorld();
    await tick();
    await control.script([rule({ do: "withhold" }, CANARY_GET)]);
    clock.advance(canaryAfter(job.id, NOON) - NOON);
    await append(job, fragmentsOf(NDJSON, ["one\n"]));
    await inLog(job, (log) => log.drive("scheduled", 10_000));
    await control.whenHeld(1);
    expect((await logStatus(job.id)).counts).toMatchObject({ delivered: 1, pending: 0 });
    clock.advance(60_000);
    await append(job, fragmentsOf(NDJSON, ["two\n"]));
    clock.advance(60_000);
    await inLog(job, (log) => log.alarm());
    expect((await logStatus(job.id)).counts).toMatchObject({ delivered: 2, pending: 0 });
    expect((await asked()).filter((line) => line.startsWith("PUT")).length).toBe(2);
    await control.script([]);
    await control.release();
    await ended(job.id);
    expect(await state()).toMatchObject({ state: "ok", lastOkMs: clock.nowMs() });
  });

  it("is given up when its body never ends", async () => {
    const { control, job, state } = await canaryWorld();
    await control.script([rule({ do: "trickle", status: 200, everyMs: 50 }, CANARY_GET)]);
    // The test does not wait for half a minute: timers fire at once where a body is read.
    const after = globalThis.setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms?: number) =>
      after(run, ms === 30_000 ? 100 : ms)) as never);
    await tick(job.id);
    expect(await state()).toMatchObject({ state: "waiting", why: null });
    await until(async () => (await control.requests())[1]?.state !== "held");
    expect(await control.requests()).toMatchObject([{ method: "PUT" }, { method: "GET", state: "aborted" }]);
  });

  it("is waited for by nobody who waits for uploads", async () => {
    const { job } = await canaryWorld();
    const stuck = Promise.withResolvers<Response>();
    vi.spyOn(platform, "fetch").mockReturnValue(stuck.promise);
    await inLog(job, async (log) => {
      await log.drive("scheduled", 60_000);
      expect(log.canary.running).not.toBeNull();
      stuck.reject(new Error("reset"));
      await log.canary.running;
      expect(log.canary.running).toBeNull();
    });
  });
});
