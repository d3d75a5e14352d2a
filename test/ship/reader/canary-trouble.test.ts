/** Every way in which a canary goes wrong: what is told of it, since when, and its end. */
import { describe, expect, it, vi } from "vitest";
import { canaryAfter } from "../../../src/ship/reader/canary-object.ts";
import { logStatus, NOON } from "../../support/runtime/pipeline.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { CANARY_GET, CANARY_PUT, canaryWorld } from "./canary-world.ts";

const HOUR_MS = 3_600_000;

type Trouble = [what: string, on: typeof CANARY_PUT, action: Action, state: string, why: RegExp, tries: number];

const refused = (status: number, code: string): Action => ({ do: "answer", status, code });
const LONG: Action = { do: "answer", status: 200, body: "x".repeat(300_000) };
const TROUBLES: Trouble[] = [
  [
    "a refused PUT",
    CANARY_PUT,
    refused(403, "AccessDenied"),
    "failed",
    /^the canary could not be written: HTTP 403/,
    1,
  ],
  ["a store that cannot take it now", CANARY_PUT, refused(503, "SlowDown"), "failed", /written: HTTP 503 SlowDown$/, 4],
  [
    "a GET that is not allowed",
    CANARY_GET,
    refused(403, "No"),
    "unreadable",
    /not read: HTTP 403 No; .*write-only.*GetObject/,
    1,
  ],
  [
    "a GET that is redirected",
    CANARY_GET,
    { do: "redirect", location: "/x" },
    "unreadable",
    /cannot be read: HTTP 307/,
    1,
  ],
  ["a store that cannot give it now", CANARY_GET, refused(500, "InternalError"), "unreadable", /be read: HTTP 500/, 4],
  [
    "one that is gone",
    CANARY_GET,
    refused(404, "NoSuchKey"),
    "missing",
    /^the canary was written, and is not there: HTTP 404/,
    4,
  ],
  [
    "a store that keeps half",
    CANARY_PUT,
    { do: "truncate" },
    "damaged",
    /^the canary was written with \d+ bytes, and other/,
    4,
  ],
  ["a success without bytes", CANARY_GET, { do: "answer", status: 204 }, "damaged", /no bytes come back|0 of them$/, 4],
  ["an endless page", CANARY_GET, LONG, "damaged", /far more come back$/, 4],
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
