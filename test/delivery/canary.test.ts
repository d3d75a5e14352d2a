import { describe, expect, it, vi } from "vitest";
import { canaryAfter } from "../../src/delivery/canary-object.ts";
import { batchTexts, NDJSON } from "../../src/output/format.ts";
import { platform } from "../../src/platform.ts";
import { logStatus, NOON } from "../support/runtime/pipeline.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { CANARY_GET, CANARY_PUT, canaryWorld, ended, tick } from "./canary-world.ts";
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

type Trouble = [what: string, on: typeof CANARY_PUT, action: Action, state: string, why: RegExp, tries: number];

const refused = (status: number, code: string): Action => ({ do: "answer", status, code });
const TROUBLES: Trouble[] = [
  [
    "a refused PUT",
    CANARY_PUT,
    refused(403, "AccessDenied"),
    "failed",
    /^the canary could not be written: HTTP 403 AccessDenied$/,
    1,
  ],
  ["a bucket that is gone", CANARY_PUT, refused(404, "NoSuchBucket"), "failed", /written: HTTP 404 NoSuchBucket$/, 1],
  [
    "a PUT that is redirected",
    CANARY_PUT,
    { do: "redirect", location: "http://127.0.0.1:1/x" },
    "failed",
    /HTTP 307/,
    1,
  ],
  ["a store that cannot take it now", CANARY_PUT, refused(503, "SlowDown"), "failed", /written: HTTP 503 SlowDown$/, 4],
  ["a PUT that is reset", CANARY_PUT, { do: "reset", when: "before" }, "failed", /written: connection failed$/, 4],
  [
    "a GET that is not allowed",
    CANARY_GET,
    refused(403, "AccessDenied"),
    "unreadable",
    /not read: HTTP 403 AccessDenied; .*write-only.*GetObject/,
    1,
  ],
  [
    "a GET without rights at all",
    CANARY_GET,
    refused(401, "Unauthorized"),
    "unreadable",
    /HTTP 401 Unauthorized; .*write-only/,
    1,
  ],
  [
    "a GET that is redirected",
    CANARY_GET,
    { do: "redirect", location: "http://127.0.0.1:1/x" },
    "unreadable",
    /cannot be read: HTTP 307/,
    1,
  ],
  [
    "a store that cannot give it now",
    CANARY_GET,
    refused(500, "InternalError"),
    "unreadable",
    /cannot be read: HTTP 500 InternalError$/,
    4,
  ],
  ["a GET that is reset", CANARY_GET, { do: "reset", when: "before" }, "unreadable", /connection failed$/, 4],
  [
    "one that is gone",
    CANARY_GET,
    refused(404, "NoSuchKey"),
    "missing",
    /^the canary was written, and is not there: HTTP 404 NoSuchKey$/,
    4,
  ],
  [
    "a store that keeps half",
    CANARY_PUT,
    { do: "truncate" },
    "damaged",
    /^the canary was written with (\d+) bytes, and other bytes come back, \d+ of them$/,
    4,
  ],
  [
    "a page of somebody else",
    CANARY_GET,
    { do: "answer", status: 200, body: "<html>" },
    "damaged",
    /other bytes come back, 6 of them$/,
    4,
  ],
  ["a success without bytes", CANARY_GET, { do: "answer", status: 204 }, "damaged", /no bytes come back|0 of them$/, 4],
  [
    "an endless page",
    CANARY_GET,
    { do: "answer", status: 200, body: "x".repeat(300_000) },
    "damaged",
    /far more come back$/,
    4,
  ],
];

describe("what goes wrong", () => {
  it.each(TROUBLES)(
    "is told of %s, and since when; and so is its end",
    async (_what, on, action, state, why, tries) => {
      const { clock, tick, control, nextHour, untilDecided, asked, ...world } = await canaryWorld();
      await tick();
      await control.script([rule(action, on)]);
      const before = (await asked()).length;
      await nextHour();
      // As long as it may be otherwise in a moment, what was known counts.
      if (tries > 1) expect(await world.state()).toMatchObject({ state: "ok", sinceMs: NOON, why: null });
      const found = await untilDecided();
      const sinceMs = clock.nowMs();
      expect(found).toEqual({ state, sinceMs, lastOkMs: NOON, why: expect.stringMatching(why) });
      const lines = (await asked()).slice(before);
      expect(lines.filter((line) => line.startsWith(String(on.method))).length).toBe(
        on === CANARY_PUT && state !== "failed" ? 1 : tries,
      );
      expect(sinceMs - canaryAfter(1, NOON)).toBe(tries === 1 ? 0 : 255_000);

      // An hour later it is as before, and has been so since then.
      await nextHour();
      expect(await untilDecided()).toEqual({ state, sinceMs, lastOkMs: NOON, why: expect.stringMatching(why) });
      expect(await world.state()).toEqual((await logStatus(1)).canary);

      await control.script([]);
      const well = await nextHour();
      expect(well).toEqual({ state: "ok", sinceMs: clock.nowMs(), lastOkMs: clock.nowMs(), why: null });
    },
  );

  it("is nothing to be told of if it passes within minutes", async () => {
    const { clock, tick, control, nextHour, untilDecided } = await canaryWorld();
    await tick();
    await control.script([
      rule(refused(503, "SlowDown"), CANARY_PUT, 2),
      rule(refused(404, "NoSuchKey"), CANARY_GET, 1),
    ]);
    await nextHour();
    expect(await untilDecided()).toEqual({ state: "ok", sinceMs: NOON, lastOkMs: clock.nowMs(), why: null });
  });

  it("is told of a first canary that is never there, too", async () => {
    const { clock, control, tick, state, untilDecided } = await canaryWorld();
    await control.script([rule(refused(404, "NoSuchKey"), CANARY_GET)]);
    await tick();
    expect(await state()).toEqual({ state: "waiting", sinceMs: NOON, lastOkMs: null, why: null });
    expect(await untilDecided()).toMatchObject({ state: "missing", sinceMs: clock.nowMs(), lastOkMs: null });
  });

  it.each([
    ["one that keeps checksums", []],
    ["one that does not", [rule({ do: "drop-meta" }, { keyIncludes: "canary/" })]],
  ])("is told of a store that shows an older one: %s", async (_what, rules) => {
    const { tick, control, nextHour, untilDecided } = await canaryWorld();
    await control.script(rules);
    await tick();
    await control.script([rule({ do: "discard" }, CANARY_PUT), ...rules]);
    await nextHour();
    expect(await untilDecided()).toMatchObject({
      state: "missing",
      why: "the canary was written, and an older one comes back",
    });
    await control.script([]);
    expect((await nextHour())?.state).toBe("ok");
  });

  it("is told of other bytes, as many as were sent", async () => {
    const { control, tick, untilDecided } = await canaryWorld();
    await control.script([rule(refused(404, "NoSuchKey"), CANARY_GET, 1)]);
    await tick();
    const [object] = await control.objects();
    await control.script([rule({ do: "answer", status: 200, body: "x".repeat(object?.size ?? 0) }, CANARY_GET)]);
    expect(await untilDecided()).toMatchObject({
      state: "damaged",
      why: expect.stringMatching(/other bytes come back/),
    });
  });

  it("is told of a store that shows the same old one for days, if it keeps checksums", async () => {
    const { tick, control, nextHour, untilDecided } = await canaryWorld();
    await tick();
    await control.script([rule({ do: "discard" }, CANARY_PUT)]);
    const seen = new Set<string | null | undefined>();
    for (let hour = 0; hour < 4; hour++) {
      await nextHour();
      seen.add((await untilDecided())?.why);
    }
    expect([...seen]).toEqual(["the canary was written, and an older one comes back"]);
  });

  it("leaves a store alone for as long as it asks, and says so if that is long", async () => {
    const { clock, tick, control, report, nextHour, asked } = await canaryWorld();
    await tick();
    const busy = (seconds: number) =>
      rule({ do: "answer", status: 503, headers: { "retry-after": `${seconds}` } }, CANARY_PUT, 1);
    await control.script([busy(120), busy(1_800)]);
    await nextHour();
    const beganMs = clock.nowMs();
    expect((await report())?.nextRunMs).toBe(beganMs + 120_000);
    clock.advance(119_999);
    await tick();
    expect((await asked()).length).toBe(3);
    clock.advance(1);
    await tick();
    expect(await report()).toMatchObject({
      state: "failed",
      sinceMs: beganMs + 120_000,
      nextRunMs: canaryAfter(1, beganMs),
    });
  });

  it("is told of a canary that nobody sends", async () => {
    const { clock, tick, state, nextHour, job } = await canaryWorld();
    await tick();
    const dueMs = canaryAfter(job.id, NOON);
    clock.advance(dueMs + 900_000 - NOON);
    expect((await state())?.state).toBe("ok");
    clock.advance(1);
    expect(await state()).toEqual({
      state: "failed",
      sinceMs: dueMs + 900_000,
      lastOkMs: NOON,
      why: expect.stringMatching(/^no canary was sent.*neither the log's alarm nor the cron has come$/),
    });
    await tick();
    expect((await state())?.state).toBe("ok");
    expect((await nextHour())?.state).toBe("ok");
  });

  it("is not that a clock went ahead, and back", async () => {
    const { clock, tick, state, asked } = await canaryWorld();
    clock.advance(48 * HOUR_MS);
    await tick();
    clock.advance(-48 * HOUR_MS);
    await tick();
    expect(await state()).toMatchObject({ state: "ok", lastOkMs: NOON });
    expect((await asked()).length).toBe(4);
  });

  it("has one line for each try, without a secret", async () => {
    const lines: Record<string, unknown>[] = [];
    for (const level of ["info", "warn"] as const)
      vi.spyOn(console, level).mockImplementation((line) => void lines.push({ level, ...line }));
    const { tick, control, nextHour, untilDecided } = await canaryWorld();
    await tick();
    await control.script([
      rule(refused(503, "SlowDown"), CANARY_PUT, 1),
      rule(refused(403, "AccessDenied"), CANARY_GET),
    ]);
    await nextHour();
    await untilDecided();
    const said = lines.filter(({ message }) => message === "canary");
    expect(said).toMatchObject([
      { level: "info", job: 1, outcome: "ok", attempt: 1, ms: 0 },
      { level: "warn", job: 1, outcome: "retry", attempt: 1, why: expect.stringMatching(/SlowDown/) },
      { level: "warn", job: 1, outcome: "unreadable", attempt: 2, why: expect.stringMatching(/AccessDenied/) },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/test-secret-key/);
  });
});

describe("a canary that hangs", () => {
  it("holds up neither cuts nor uploads, and no second one is sent beside it", async () => {
    const { clock, control, job, tick, state, asked } = await canaryWorld();
    await tick();
    await control.script([rule({ do: "withhold" }, CANARY_GET)]);
    clock.advance(canaryAfter(job.id, NOON) - NOON);
    await inLog(job, (log) => append(log, 1, fragmentsOf(NDJSON, ["one\n"])));
    await inLog(job, (log) => log.drive("scheduled", 10_000));
    await control.whenHeld(1);
    expect((await logStatus(job.id)).counts).toMatchObject({ delivered: 1, pending: 0 });
    clock.advance(60_000);
    await inLog(job, (log) => append(log, 1, fragmentsOf(NDJSON, ["two\n"])));
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
    // Nobody waits for half a minute: time that is waited for by a timer passes at once where a body is read.
    const after = globalThis.setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms?: number) =>
      after(run, ms === 30_000 ? 100 : ms)) as never);
    await tick(job.id);
    expect(await state()).toMatchObject({ state: "waiting", why: null });
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

describe("the folder of a canary", () => {
  it.each([
    ["logs", /^logs\/canary\/job-1-[0-9a-f]{8}\.canary\.gz$/],
    ["a/{DATE}/b-{DATE}", /^a\/00010101\/b-00010101\/canary\/job-1-[0-9a-f]{8}\.canary\.gz$/],
    ["", /^canary\/job-1-[0-9a-f]{8}\.canary\.gz$/],
  ])("is below the path %j, beside the days", async (path, expected) => {
    const { tick, report, control } = await canaryWorld({}, path);
    await tick();
    expect(await report()).toMatchObject({ state: "ok", key: expect.stringMatching(expected) });
    expect((await control.objects()).map(({ key }) => key)).toEqual([(await report())?.key]);
  });
});
