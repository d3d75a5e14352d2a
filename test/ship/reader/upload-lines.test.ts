/** The line of an upload: one for each attempt, whatever it came to. */
import { beforeEach, expect, it, type MockInstance, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { NDJSON } from "../../../src/formats/output/format.ts";
import type { JobConfig } from "../../../src/ship/job/config.ts";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { freshBucket, NOON, setSteadyClock } from "../../support/runtime/pipeline.ts";
import type { BucketControl } from "../../support/s3-control.ts";
import { type Action, rule } from "../../support/s3-script.ts";
import { append, configure, cutObjects, fragmentsOf, inLog, isShipped, jobInto } from "./direct.ts";

type Line = Record<string, unknown>;

let spies: Record<"info" | "warn" | "error", MockInstance>;
beforeEach(() => {
  const silent = (level: "info" | "warn" | "error") => vi.spyOn(console, level).mockImplementation(() => {});
  spies = { info: silent("info"), warn: silent("warn"), error: silent("error") };
});

const lines = (level: keyof typeof spies): Line[] => spies[level].mock.calls.map(([line]) => line as Line);

interface World {
  clock: ReturnType<typeof setSteadyClock>;
  control: BucketControl;
  job: JobConfig;
}

/** A job with an object of two records that is cut, and not yet tried. */
async function world(fields: Partial<JobConfig> = {}): Promise<World> {
  const clock = setSteadyClock(NOON);
  const { name, control } = freshBucket();
  const job = jobInto(name, fields);
  await configure(job);
  await append(job, fragmentsOf(NDJSON, ["<1> private words\n", "<2> of somebody\n"]));
  return { clock, control, job };
}

const drive = (job: JobConfig): Promise<unknown> => inLog(job, (log) => log.drive("manual", 10_000));

it("says what was uploaded, where to, and how long it took", async () => {
  const { clock, control, job } = await world();
  vi.spyOn(platform, "fetch").mockImplementation((url, init) => {
    clock.advance(321);
    return fetch(url, init);
  });
  await drive(job);
  const [object] = (await control.objects()).filter(isShipped);
  const bytes = (await control.object(object?.key ?? ""))?.length;
  expect([lines("info"), lines("warn"), lines("error")]).toEqual([
    [
      {
        message: "upload",
        job: 1,
        object: 1,
        key: object?.key,
        outcome: "delivered",
        verified: true,
        bytes,
        records: 2,
        attempt: 1,
        // The object, and two requests that find out what the store does with a condition.
        ms: 963,
      },
    ],
    [],
    [],
  ]);
});

it.each<[string, Action, Line]>([
  [
    "busy",
    { do: "answer", status: 503, code: "SlowDown" },
    { outcome: "retry", status: 503, why: "HTTP 503 SlowDown" },
  ],
  ["not allowed", { do: "answer", status: 403, code: "No" }, { outcome: "park", status: 403, why: "HTTP 403 No" }],
  ["refused for itself", { do: "answer", status: 413 }, { outcome: "set_aside", status: 413, why: "HTTP 413" }],
  [
    "reset",
    { do: "reset", when: "before" },
    { outcome: "retry", status: "connection_failed", why: "connection failed" },
  ],
])("warns where an upload is %s, and says at which attempt", async (_what, action, expected) => {
  const { clock, control, job } = await world();
  const said = { message: "<b>words of the store</b>" };
  const then = action.do === "answer" ? { ...action, ...said } : action;
  await control.script([rule(then, { method: "PUT", keyIncludes: ".log.gz" })]);
  const attempts = expected.outcome === "set_aside" ? [1] : [1, 2];
  for (const _ of attempts) {
    await drive(job);
    clock.advance(600_000);
  }
  expect(lines("warn")).toMatchObject(
    attempts.map((attempt) => ({ message: "upload", attempt, records: 2, ...expected })),
  );
  expect([lines("info"), lines("error")]).toEqual([[], []]);
  expect(JSON.stringify(lines("warn"))).not.toMatch(/words of the store|private words/);
});

it("is one where the store does not know the condition", async () => {
  const { control, job } = await world();
  await control.script([rule({ do: "answer", status: 501 }, { method: "PUT", conditional: true })]);
  await drive(job);
  expect([lines("info").map(({ outcome }) => outcome), lines("warn")]).toEqual([["delivered"], []]);
});

it("tells of a destination that nothing opens, and nothing of what is in it", async () => {
  const { job } = await world({ destination: "no seal of ours" });
  await drive(job);
  expect(lines("warn")).toMatchObject([{ outcome: "park", status: "configuration", attempt: 1 }]);
  expect(JSON.stringify(lines("warn"))).not.toContain("no seal of ours");
});

it("tells of an attempt that nobody waits for any more, and that is no warning", async () => {
  const { job } = await world();
  await inLog(job, async (log, storage) => {
    await configure({ ...job, version: 2, outputVersion: 2 });
    const [cut] = cutObjects(storage);
    if (cut === undefined) throw new Error("nothing was cut");
    await configure({ ...job, version: 3, outputVersion: 2, destinationVersion: 2 });
    const error = { kind: "busy", words: "HTTP 503", retryAfterS: null, cause: 503 } as const;
    log.attempts.settle(cut.row, { kind: "failed", error }, job, NOON - 5);
  });
  expect(lines("info")).toMatchObject([{ outcome: "superseded", status: 503, why: "HTTP 503", ms: 5 }]);
  expect(lines("warn")).toEqual([]);
});

it("tells of what breaks on our side, without the words of whatever broke", async () => {
  const { job } = await world();
  await inLog(job, async (log, storage) => {
    await configure({ ...job, version: 2, outputVersion: 2 });
    const [cut] = cutObjects(storage);
    if (cut === undefined) throw new Error("nothing was cut");
    vi.spyOn(log.attempts, "put").mockRejectedValue(
      new Error(`cannot load s3://b/x?access-key-id=${ACCESS_KEY}&secret-access-key=${SECRET_KEY}`),
    );
    await log.attempts.uploadOne(cut.row);
  });
  expect(lines("error")).toEqual([
    {
      message: "upload broke",
      durable_object: "JobReader",
      job: 1,
      object: 1,
      error: "Error: cannot load s3://b/****",
    },
  ]);
  expect(lines("warn")).toMatchObject([
    { message: "upload", outcome: "retry", status: "internal", why: "internal error" },
  ]);
});
