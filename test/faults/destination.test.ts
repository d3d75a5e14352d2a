/**
 * Errors a store may answer with, for a while or permanently. Nothing is lost or duplicated, and
 * the job reports the error.
 */
import { describe, expect, inject } from "vitest";
import { variants } from "../support/matrix.ts";
import { freshBucket, jobObjects } from "../support/runtime/pipeline.ts";
import { type Action, rule } from "../support/s3-script.ts";
import { OVER_HTTP, row, storeRow, WITH_CODES } from "./row.ts";
import { attempts, controlOf, countsOf, failingJob, PUTS, pass, said, viewOf, waitingJob, written } from "./stores.ts";

const HOUR_MS = 3_600_000;

const HTML = "<!doctype html><html><body><h1>It works!</h1></body></html>";

describe("a store that cannot now", () => {
  /** The most telling first. `long`: 12 passes in the two hours; the others have two. */
  const answers: readonly (readonly [name: string, action: Action, words: RegExp, long?: "long"])[] = [
    ["503 after storing", { do: "answer", status: 503, store: true }, /HTTP 503/, "long"],
    ["a reset before the body", { do: "reset", when: "before" }, /connection failed/, "long"],
    ["429", { do: "answer", status: 429 }, /HTTP 429/],
    ["408", { do: "answer", status: 408, code: "RequestTimeout" }, /HTTP 408 RequestTimeout/],
    ["409, as another conditional request runs", { do: "answer", status: 409 }, /HTTP 409/],
    ["200, and keeps nothing", { do: "discard" }, /HTTP 20[01], but the object is not there/, "long"],
    ["500", { do: "answer", status: 500, code: "InternalError" }, /HTTP 500 InternalError/, "long"],
    ["500 after storing", { do: "answer", status: 500, code: "InternalError", store: true }, /HTTP 500 InternalError/],
    ["502 with a page of a proxy", { do: "answer", status: 502, body: HTML }, /HTTP 502/],
    ["503 SlowDown", { do: "answer", status: 503, code: "SlowDown" }, /HTTP 503 SlowDown/],
    ["504", { do: "answer", status: 504 }, /HTTP 504/],
    [
      "507, its disk is full",
      { do: "answer", status: 507, code: "InsufficientStorage" },
      /HTTP 507 InsufficientStorage/,
    ],
    ["a status that nobody knows", { do: "answer", status: 599 }, /HTTP 599/],
    ["425", { do: "answer", status: 425 }, /HTTP 425/],
    ["400 of the moment", { do: "answer", status: 400, code: "RequestTimeout" }, /HTTP 400 RequestTimeout/, "long"],
    ["400, the body arrived incomplete", { do: "answer", status: 400, code: "IncompleteBody" }, /HTTP 400 Incomplete/],
    ["a reset within the body", { do: "reset", when: "during" }, /connection failed/],
    ["200 with a page of a proxy, and keeps nothing", { do: "answer", status: 200, body: HTML }, /HTTP 20[01]/],
  ];
  for (const [name, action, words, long] of variants(answers, 6)) {
    storeRow(
      `the store answers ${name}, for two hours`,
      name.startsWith("400") ? WITH_CODES : OVER_HTTP,
      async (world) => {
        const { job, control } = await failingJob(world, rule(action, PUTS));
        await pass(world);
        const passes = long === undefined ? 2 : 12;
        for (let n = 0; n < passes; n++) {
          await pass(world, (2 * HOUR_MS) / passes);
          if (n % 4 > 1) continue;
          expect(await viewOf(job)).toMatchObject({
            error_message: expect.stringMatching(words),
            last_error: expect.any(String),
          });
          expect(await said(job)).toMatch(/; logship is retrying$/);
          expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 0, pending: 10 });
        }
        expect(await attempts(control)).toBeGreaterThan(passes / 2);
        expect(await attempts(control)).toBeLessThan(passes + 3);
        await control.script([]);
        await world.settle();
        // An object that was stored in spite of the error is found, and not stored again.
        expect(await viewOf(job)).toMatchObject({
          error_message: null,
          last_error: null,
          last_complete: expect.any(String),
        });
        expect(await written(control)).toBe(1);
        expect(await jobObjects(job.id)).toMatchObject([{ number: 1, state: "delivered", verified: true }]);
      },
    );
  }
});

describe("a store that asks for patience", () => {
  const patience: readonly (readonly [name: string, header: (nowMs: number) => string, waitsMs: number])[] = [
    ["half an hour", () => "1800", 1_800_000],
    ["a date in half an hour", (nowMs) => new Date(nowMs + 1_800_000).toUTCString(), 1_800_000],
    ["years", () => "99999999", 3_600_000],
    ["a date in ten years", () => "Wed, 20 Nov 2110 12:00:00 GMT", 3_600_000],
  ];
  for (const [name, header, waitsMs] of variants(patience)) {
    storeRow(`the store asks for ${name} of patience, and gets an hour at most`, OVER_HTTP, async (world) => {
      const { job, control } = await waitingJob(world);
      const headers = { "retry-after": header(world.clock.nowMs() + 30_000) };
      await control.script([rule({ do: "answer", status: 503, headers }, PUTS, 1)]);
      await pass(world);
      await pass(world, waitsMs - 1_000);
      await world.runCron();
      expect([await attempts(control), (await countsOf(job)).pending]).toEqual([1, 10]);
      await pass(world, 1_000);
      expect([await attempts(control), (await countsOf(job)).pending]).toEqual([2, 0]);
    });
  }

  const nonsense = ["soon", "-1", "0", "1e9", "", "Thu, 01 Jan 1970 00:00:00 GMT", "9".repeat(400)];
  for (const header of variants(nonsense)) {
    const shown = header.length > 40 ? "400 digits" : JSON.stringify(header);
    storeRow(`the store asks for patience in nonsense: Retry-After: ${shown}`, OVER_HTTP, async (world) => {
      const { job } = await failingJob(world, [
        rule({ do: "answer", status: 503, headers: { "retry-after": header } }, PUTS, 1),
      ]);
      await pass(world);
      expect(await said(job)).toMatch(/HTTP 503; logship is retrying/);
      await pass(world, 5_000);
      expect((await countsOf(job)).delivered).toBe(10);
    });
  }
});

describe("a destination that is misconfigured", () => {
  /**
   * The most telling first. `long`: a pass every five minutes; the others have one every 40
   * minutes.
   */
  const answers: readonly (readonly [status: number, code: string, long?: "long"])[] = [
    [401, "InvalidToken"],
    [403, "AccessDenied", "long"],
    [404, "NoSuchBucket", "long"],
    [400, "InvalidBucketName"],
    [403, "SignatureDoesNotMatch"],
    [405, "MethodNotAllowed"],
    [410, "Gone"],
    [418, "Teapot"],
    [451, "Unavailable"],
    [400, "AuthorizationHeaderMalformed", "long"],
  ];
  for (const [status, code, long] of variants(answers, 4)) {
    storeRow(`the store answers ${status} ${code} for two hours: the job is parked`, OVER_HTTP, async (world) => {
      const { job, control } = await failingJob(world, rule({ do: "answer", status, code }));
      await pass(world);
      const passes = long === undefined ? 3 : 24;
      for (let n = 0; n < passes; n++) {
        await pass(world, (2 * HOUR_MS) / passes);
        await world.checkBalances();
        if (n % 8 > 2) continue;
        expect(await said(job)).toMatch(new RegExp(`^delivery paused: HTTP ${status} ${code}; records are kept`));
        expect(await countsOf(job)).toMatchObject({ received: 10, delivered: 0, pending: 10 });
      }
      // One attempt every one to five minutes, however often the alarm fires.
      expect(await attempts(control)).toBeGreaterThanOrEqual(Math.min(passes + 1, 21));
      expect(await attempts(control)).toBeLessThan(passes + 6);
      await control.script([]);
      await pass(world, 300_000);
      expect([await viewOf(job), (await countsOf(job)).pending]).toMatchObject([
        { error_message: null, last_error: null },
        0,
      ]);
    });
  }

  const changes = [
    ["by its name", { name: "mended" }],
    ["by its limits", { max_upload_interval_seconds: 60 }],
    ["by its filter", { filter: '{"where":{"key":"Outcome","operator":"eq","value":"ok"}}' }],
  ] as const;
  for (const [what, change] of variants(changes)) {
    row(`a parked job is tried at once when it is changed ${what}`, async (world) => {
      const { job, control } = await failingJob(world, rule({ do: "answer", status: 403, code: "AccessDenied" }));
      for (let i = 0; i < 12; i++) await pass(world, 300_000);
      await control.script([]);
      world.clock.advance(1);
      await world.jobs.change(job, change);
      await world.runAlarms();
      expect([await said(job), (await countsOf(job)).pending]).toEqual([null, 0]);
    });
  }

  storeRow("a parked job gets another bucket: all goes there, at once", OVER_HTTP, async (world) => {
    const { job, control } = await failingJob(world, rule({ do: "answer", status: 404, code: "NoSuchBucket" }));
    for (let i = 0; i < 12; i++) await pass(world, 300_000);
    await world.jobs.move(job);
    await world.runAlarms();
    expect([await said(job), (await countsOf(job)).pending]).toEqual([null, 0]);
    expect([await written(control), await written(controlOf(job))]).toEqual([0, 1]);
  });

  for (const status of variants([301, 302, 303, 307, 308])) {
    storeRow(`the store redirects with ${status}, which is not followed`, OVER_HTTP, async (world) => {
      const { job, control } = await waitingJob(world);
      const elsewhere = freshBucket();
      const redirect: Action = { do: "redirect", location: `${inject("s3Url")}/${elsewhere.name}/x`, status };
      // The answer to the first attempt is lost, so HEAD is asked as well.
      await control.script([rule({ do: "reset", when: "before" }, PUTS, 1), rule(redirect)]);
      for (let i = 0; i < 6; i++) await pass(world, 300_000);
      expect(await said(job)).toMatch(new RegExp(`^delivery paused: HTTP ${status}`));
      expect((await control.requests()).some(({ method, action }) => method === "HEAD" && action === "redirect")).toBe(
        true,
      );
      expect(await elsewhere.control.requests()).toEqual([]);
    });
  }
});
