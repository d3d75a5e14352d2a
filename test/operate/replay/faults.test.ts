import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { replays } from "../../../src/operate/replay/replays.ts";
import { controlPlane } from "../../../src/state/control/plane.ts";
import { variants } from "../../support/matrix.ts";
import { api, destinationConf } from "../../support/runtime/api.ts";
import { freshBucket, runCron } from "../../support/runtime/pipeline.ts";
import { type Action, type Match, rule } from "../../support/s3-script.ts";
import { call, errorsOf } from "../../web/api/harness.ts";
import { ALL, expectCopied, inReplays, RECORDS, runReplays, shippedJob } from "./shipped.ts";

const PUTS: Match = { method: "PUT", keyIncludes: ".log.gz" };
const GETS: Match = { method: "GET", keyIncludes: ".log.gz" };
const HEADS: Match = { method: "HEAD", keyIncludes: ".log.gz" };

describe("an object that is", () => {
  it("gone is missing, and the others go on", async () => {
    const shipped = await shippedJob(3);
    const { own } = await shipped.objects();
    const key = own[1]?.key ?? "";
    const { id } = await shipped.begin();
    await shipped.control.script([
      rule({ do: "answer", status: 404, code: "NoSuchKey" }, { ...GETS, keyIncludes: key }),
    ]);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", missing: { objects: 1, records: RECORDS, bytes: own[1]?.bytes } });
    expect(ended.problems).toEqual([
      { object: own[1]?.number, key, kind: "missing", why: expect.stringMatching(/not there \(HTTP 404 NoSuchKey\)/) },
    ]);
    await expectCopied(shipped, id, { objects: 2 });
  });

  it.for([
    ["other bytes", 1, "its bytes are not those that were delivered"],
    ["fewer bytes", -1, "bytes; "],
    ["more bytes", 2, "bytes; "],
  ] as const)("%s is damaged, read twice, and never written", async ([_what, change, words]) => {
    const shipped = await shippedJob(3);
    const { own } = await shipped.objects();
    const { key = "", bytes = 0, number } = own[1] ?? {};
    const { id } = await shipped.begin();
    const body = "x".repeat(change === 1 ? bytes : bytes + change);
    await shipped.control.script([rule({ do: "answer", status: 200, body }, { ...GETS, keyIncludes: key })]);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", damaged: { objects: 1, records: RECORDS } });
    expect(ended.problems).toEqual([{ object: number, key, kind: "damaged", why: expect.stringContaining(words) }]);
    const asked = (await shipped.control.requests()).filter((seen) => seen.method === "GET" && seen.key === key);
    expect(asked).toHaveLength(2);
    await expectCopied(shipped, id, { objects: 2 });
  });

  it("large and damaged breaks off before its end: no store has the whole of it", async () => {
    const shipped = await shippedJob(1);
    await shipped.shipLarge(2_000_000);
    const { own } = await shipped.objects();
    const { key = "", bytes = 0 } = own[1] ?? {};
    const { id } = await shipped.begin();
    const damaged = rule({ do: "answer", status: 200, body: "x".repeat(bytes) }, { ...GETS, keyIncludes: key });
    await shipped.control.script([damaged]);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", damaged: { objects: 1 }, done: { objects: 1 } });
    expect(ended.problems[0]?.why).toBe("its bytes are not those that were delivered");
    await expectCopied(shipped, id, { objects: 1 });
  });

  it("cut short on its way once is read again, and copied", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "answer", status: 200, body: "half" }, GETS, 1)]);
    expect(await shipped.settle(id)).toMatchObject({ done: { objects: 2 }, problems: [] });
    await expectCopied(shipped, id, { objects: 2 });
  });

  it("refused for itself has failed, and the others go on", async () => {
    const shipped = await shippedJob(3);
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "answer", status: 400, code: "EntityTooLarge" }, PUTS, 1)]);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", failed: { objects: 1, records: RECORDS }, done: { objects: 2 } });
    expect(ended.problems[0]).toMatchObject({ kind: "failed", why: "its copy is refused: HTTP 400 EntityTooLarge" });
    await expectCopied(shipped, id, { objects: 2 });
  });
});

describe("a store that", () => {
  /** The most telling first. */
  const faults: readonly (readonly [string, Action, Match, RegExp])[] = [
    ["says 500 and has it", { do: "answer", status: 500, store: true }, PUTS, /^HTTP 500; logship is retrying/],
    ["hangs up on a read", { do: "reset", when: "before" }, GETS, /^the source cannot be read: connection failed/],
    [
      "does not let us write any more",
      { do: "answer", status: 403, code: "AccessDenied" },
      PUTS,
      /^HTTP 403 AccessDenied; nothing is lost, and logship retries every few minutes$/,
    ],
    [
      "cannot write now",
      { do: "answer", status: 503, code: "SlowDown" },
      PUTS,
      /^HTTP 503 SlowDown; logship is retrying/,
    ],
    [
      "cannot read now",
      { do: "answer", status: 503 },
      GETS,
      /^the source cannot be read: HTTP 503; logship is retrying/,
    ],
    ["hangs up after it has it", { do: "reset", when: "after" }, PUTS, /^connection failed; logship is retrying/],
    ["hangs up before", { do: "reset", when: "before" }, PUTS, /^connection failed; logship is retrying/],
    [
      "does not let us read any more",
      { do: "answer", status: 403, code: "AccessDenied" },
      GETS,
      /^the source cannot be read: HTTP 403 AccessDenied \(some.*; nothing is lost, and logship retries every few minutes$/,
    ],
    [
      "has no such bucket",
      { do: "answer", status: 404, code: "NoSuchBucket" },
      GETS,
      /^the source cannot be read: HTTP 404 NoSuchBucket; nothing is lost/,
    ],
  ];
  it.for(variants(faults, 3))("%s: said while it lasts, and then nothing is lost, and nothing twice", async (fault) => {
    const [, action, match, words] = fault;
    const shipped = await shippedJob(3);
    const { id } = await shipped.begin();
    // For as long as it is looked at, however often the store is asked meanwhile.
    await shipped.control.script([rule(action, match)]);
    await runReplays();
    const waiting = await shipped.read(id);
    expect(waiting).toMatchObject({
      state: "waiting",
      error_message: expect.stringMatching(words),
      next_attempt: expect.any(String),
    });
    const [trouble] = await replays(env.REPLAYS).status();
    expect(trouble).toMatchObject({ id, job: shipped.job, sinceMs: shipped.clock.nowMs(), objectsLeft: 3 });
    await shipped.control.script([]);
    const ended = await shipped.settle(id);
    expect(ended).toMatchObject({ state: "done", done: { objects: 3 }, problems: [], error_message: null });
    await expectCopied(shipped, id, { objects: 3 });
    expect(await replays(env.REPLAYS).status()).toEqual([]);
  });

  it("does not know If-None-Match is asked without, and remembered", async () => {
    const shipped = await shippedJob(3);
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "answer", status: 501 }, { ...PUTS, conditional: true })]);
    expect((await shipped.settle(id)).done.objects).toBe(3);
    await expectCopied(shipped, id, { objects: 3 });
  });

  it("has something else under a key gets the copy under another", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin();
    const taken = { etag: `"${"0".repeat(32)}"`, "content-length": "7" };
    await shipped.control.script([
      rule({ do: "answer", status: 412 }, PUTS, 1),
      rule({ do: "answer", status: 200, headers: taken, body: "another" }, HEADS, 1),
    ]);
    expect((await shipped.settle(id)).done.objects).toBe(2);
    await expectCopied(shipped, id, { objects: 2 });
  });

  it("always fails for one object lets the others by, and is asked less and less", async () => {
    const shipped = await shippedJob(6);
    const { own } = await shipped.objects();
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "answer", status: 500 }, { ...GETS, keyIncludes: own[0]?.key ?? "" })]);
    await runReplays();
    expect(await shipped.read(id)).toMatchObject({ state: "waiting", done: { objects: 5 }, left: { objects: 1 } });
    for (let hour = 0; hour < 3; hour++) {
      const before = (await shipped.control.requests()).length;
      for (let minute = 0; minute < 60; minute++) {
        shipped.clock.advance(60_000);
        await runReplays();
      }
      if (hour === 2) expect((await shipped.control.requests()).length - before).toBeLessThan(20);
    }
    // After 30 days the replay fails with an error message, and the rest does not count as done.
    shipped.clock.advance(30 * 86_400_000);
    await runCron();
    expect(await shipped.read(id)).toMatchObject({
      state: "failed",
      left: { objects: 1 },
      error_message: expect.stringMatching(/^not done within 30 days; what is left was given up; at last: the source/),
    });
    shipped.clock.advance(31 * 86_400_000);
    await runCron();
    expect(await shipped.list()).toEqual([]);
  });
});

it("objects that always fail, however many and wherever they stand, let the others by", async () => {
  const shipped = await shippedJob(9);
  const { own } = await shipped.objects();
  const { id } = await shipped.begin();
  const bad = own.slice(0, 6).map(({ key }) => rule({ do: "answer", status: 500 }, { ...GETS, keyIncludes: key }));
  await shipped.control.script(bad);
  await inReplays((object) => {
    object.objectsPerRun = 4;
  });
  for (let turn = 0; turn < 4; turn++) {
    await runReplays();
    shipped.clock.advance(900_000);
  }
  expect(await shipped.read(id)).toMatchObject({ state: "waiting", done: { objects: 3 }, left: { objects: 6 } });
  await shipped.control.script([]);
  expect(await shipped.settle(id)).toMatchObject({ state: "done", done: { objects: 9 }, problems: [] });
  await expectCopied(shipped, id, { objects: 9 });
});

it("a copy that arrived without an answer is found, though its source is gone since", async () => {
  const shipped = await shippedJob(1);
  const { id } = await shipped.begin();
  await shipped.control.script([rule({ do: "reset", when: "after" }, PUTS, 1)]);
  await runReplays();
  expect((await shipped.read(id)).state).toBe("waiting");
  await shipped.control.script([rule({ do: "answer", status: 404, code: "NoSuchKey" }, GETS)]);
  expect(await shipped.settle(id)).toMatchObject({ state: "done", done: { objects: 1 }, missing: { objects: 0 } });
  await shipped.control.script([]);
  await expectCopied(shipped, id, { objects: 1 });
});

describe("what is refused at once", () => {
  it("is a replay with credentials that may not read", async () => {
    const shipped = await shippedJob(2);
    await shipped.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, GETS)]);
    const answer = await shipped.ask();
    expect(answer.status).toBe(400);
    expect(errorsOf(answer)).toEqual([
      [1004, undefined, expect.stringMatching(/these credentials cannot read the job's destination: HTTP 403 AccessD/)],
    ]);
    // A 403 for one object proves nothing: a store may answer so for one that is gone.
    const { own } = await shipped.objects();
    const ofFirst = { ...GETS, keyIncludes: own[0]?.key ?? "" };
    await shipped.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, ofFirst)]);
    expect((await shipped.ask()).status).toBe(202);
  });

  it("is one of a store that does not answer now", async () => {
    const shipped = await shippedJob(1);
    await shipped.control.script([rule({ do: "answer", status: 503 }, GETS)]);
    const answer = await shipped.ask();
    expect(answer.status).toBe(503);
    expect(errorsOf(answer)[0]?.[2]).toBe("the job's destination cannot be read now: HTTP 503");
  });

  it("is one to a destination that cannot be written", async () => {
    const shipped = await shippedJob(1);
    const other = freshBucket();
    await other.control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, { method: "PUT" })]);
    const answer = await shipped.ask({ ...ALL, destination_conf: destinationConf(other.name) });
    expect(answer.status).toBe(400);
    expect(errorsOf(answer)).toEqual([
      [1004, "/destination_conf", expect.stringMatching(/error validating destination: .*HTTP 403 AccessDenied/)],
    ]);
    expect(await shipped.list()).toEqual([]);
  });

  it("is one to a masked destination, or without the proof that is required", async () => {
    const shipped = await shippedJob(1);
    const other = freshBucket();
    const conf = destinationConf(other.name);
    const masked = await shipped.ask({ ...ALL, destination_conf: conf.replace(/key=[^&]*$/, "key=****") });
    expect(errorsOf(masked)).toEqual([[1004, "/destination_conf", expect.stringContaining("a masked secret")]]);
    const settings = { REQUIRE_OWNERSHIP_CHALLENGE: "true" };
    const path = `/logship/jobs/${shipped.job}/replay`;
    const unproven = await call("POST", path, { ...ALL, destination_conf: conf }, { settings });
    expect(errorsOf(unproven)).toEqual([[1002, "/ownership_challenge", "incorrect ownership challenge"]]);
    expect((await call("POST", path, { ...ALL, allow_duplicates: true }, { settings })).status).toBe(202);
    expect(await other.control.puts()).toEqual([]);
  });

  it("is the same one twice at once, and more than four", async () => {
    const shipped = await shippedJob(1);
    const { id } = await shipped.begin();
    const again = await shipped.ask();
    expect([again.status, errorsOf(again)[0]?.[2]]).toEqual([409, `the same replay is in progress: ${id}`]);
    for (const until of ["2101-01-01T00:00:00Z", "2102-01-01T00:00:00Z", "2103-01-01T00:00:00Z"])
      await shipped.begin({ ...ALL, until });
    const fifth = await shipped.ask({ ...ALL, until: "2104-01-01T00:00:00Z" });
    expect([fifth.status, fifth.headers.get("retry-after")]).toEqual([429, "60"]);
    for (const each of await shipped.list()) await shipped.settle(each.id);
    expect((await shipped.ledger()).replayed.objects).toBe(4);
    await shipped.begin();
  });

  it.for([
    ["no time", { since: "yesterday", until: "2100-01-01T00:00:00Z" }],
    ["a time without its zone", { since: "2100-01-01T00:00:00", until: "2100-01-02T00:00:00Z" }],
    ["an end before its beginning", { since: "2100-01-02T00:00:00Z", until: "2100-01-01T00:00:00Z" }],
    ["no length", { since: "2100-01-02T00:00:00Z", until: "2100-01-02T01:00:00+01:00" }],
    ["one end", { since: "2100-01-02T00:00:00Z" }],
    ["an unknown key", { ...ALL, objects: [1] }],
    ["a list", [ALL]],
    ["null", null],
    ["a number as time", { since: 0, until: 1 }],
    ["a destination that is none", { ...ALL, destination_conf: "ftp://x" }],
    ["a long destination", { ...ALL, destination_conf: "s3://".padEnd(5_000, "x") }],
  ])("is %s", async ([_what, body]) => {
    const shipped = await shippedJob(0);
    const answer = await shipped.ask(body as object);
    expect(answer.status).toBe(400);
    expect(await shipped.list()).toEqual([]);
  });

  it("is what nobody knows", async () => {
    const shipped = await shippedJob(1);
    const { id } = await shipped.begin();
    const other = await api<{ id: number }>("POST", "/logship/jobs", {
      destination_conf: destinationConf(shipped.name),
    });
    for (const path of [
      `/logship/jobs/${other.body.result.id}/replay/${id}`,
      `/logship/jobs/${shipped.job}/replay/${"0".repeat(32)}`,
      `/logship/jobs/${shipped.job}/replay/1%20OR%201`,
      `/logship/jobs/99/replay/${id}`,
    ]) {
      for (const method of ["GET", "DELETE"]) expect((await call(method, path)).status).toBe(404);
    }
    expect((await shipped.read(id)).state).toBe("running");
  });
});

describe("meanwhile", () => {
  it("the job's keys are rotated: the new ones are used", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "answer", status: 403 }, GETS)]);
    await runReplays();
    expect((await shipped.read(id)).state).toBe("waiting");
    await shipped.control.script([]);
    const conf = `${destinationConf(shipped.name).replace(/&access-key-id.*$/, "")}&credentials=env:DEST_TEST`;
    const changed = await api("PUT", `/logship/jobs/${shipped.job}`, { destination_conf: conf });
    expect(changed.status).toBe(200);
    // The cron sees that the job was changed, and retries at once.
    await runCron();
    expect(await shipped.read(id)).toMatchObject({ state: "done", done: { objects: 2 } });
    await expectCopied(shipped, id, { objects: 2 });
  });

  it("the job moves: the replay stays where it began, and a later one calls the old objects missing", async () => {
    const shipped = await shippedJob(3);
    await inReplays((object) => {
      object.objectsPerRun = 1;
    });
    const { id } = await shipped.begin();
    await runReplays();
    const other = freshBucket();
    await api("PUT", `/logship/jobs/${shipped.job}`, { destination_conf: destinationConf(other.name, "moved") });
    expect(await shipped.settle(id)).toMatchObject({ state: "done", done: { objects: 3 } });
    await expectCopied(shipped, id, { objects: 3 });
    const later = await shipped.begin();
    expect(await shipped.settle(later.id)).toMatchObject({ state: "done", missing: { objects: 3 } });
    expect((await shipped.read(later.id)).problems[0]?.why).toMatch(/or the job had another destination when it was/);
  });

  it("the job is disabled: the replay goes on", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin();
    await api("PUT", `/logship/jobs/${shipped.job}`, { enabled: false });
    expect((await shipped.settle(id)).done.objects).toBe(2);
  });

  it("the job is deleted: the replay goes with it, and nothing is kept of either", async () => {
    const shipped = await shippedJob(2);
    await shipped.begin();
    await api("DELETE", `/logship/jobs/${shipped.job}`);
    await runReplays();
    const rows = await inReplays((_, { sql }) =>
      ["replay", "piece", "problem"].map((table) => sql.exec(`SELECT count(*) AS n FROM ${table}`).one().n),
    );
    expect(rows).toEqual([0, 0, 0]);
    expect(await runReplays()).toBe(false);
    expect((await controlPlane(env.CONTROL).list()).length).toBe(0);
  });

  it("the job of a replay that is over is deleted: the cron forgets it", async () => {
    const shipped = await shippedJob(1);
    const { id } = await shipped.begin();
    await shipped.settle(id);
    await api("DELETE", `/logship/jobs/${shipped.job}`);
    await runCron();
    expect(await inReplays((_, { sql }) => sql.exec("SELECT count(*) AS n FROM replay").one().n)).toBe(0);
  });

  it("it is cancelled: nothing more is begun, and what is over stays as it is", async () => {
    const shipped = await shippedJob(5);
    await inReplays((object) => {
      object.objectsPerRun = 2;
    });
    const { id } = await shipped.begin();
    await runReplays();
    const cancelled = await shipped.cancel(id);
    expect(cancelled.body.result).toMatchObject({ state: "cancelled", done: { objects: 2 }, left: { objects: 3 } });
    for (let turn = 0; turn < 3; turn++) await runReplays();
    expect(await shipped.read(id)).toMatchObject({ state: "cancelled", done: { objects: 2 }, left: { objects: 3 } });
    await expectCopied(shipped, id, { objects: 2 });
    expect((await shipped.cancel(id)).body.result).toMatchObject({ state: "cancelled", done: { objects: 2 } });
    const whole = await shipped.begin();
    await shipped.settle(whole.id);
    expect((await shipped.cancel(whole.id)).body.result.state).toBe("done");
  });

  it("it is cancelled while copies are on their way: they end, and are counted", async () => {
    const shipped = await shippedJob(6);
    const { id } = await shipped.begin();
    await shipped.control.script([rule({ do: "hold" }, PUTS)]);
    const running = runReplays();
    await shipped.control.whenHeld(4);
    await shipped.cancel(id);
    await shipped.control.script([]);
    await shipped.control.release();
    await running;
    for (let turn = 0; turn < 3; turn++) await runReplays();
    expect(await shipped.read(id)).toMatchObject({ state: "cancelled", done: { objects: 4 }, left: { objects: 2 } });
    await expectCopied(shipped, id, { objects: 4 });
    expect(await runReplays()).toBe(false);
  });

  it("it is cancelled after an answer was lost: the copy that stands is found, and counted", async () => {
    const shipped = await shippedJob(2);
    const { id } = await shipped.begin();
    await shipped.control.script([
      rule({ do: "reset", when: "after" }, PUTS, 1),
      rule({ do: "answer", status: 503 }, PUTS),
    ]);
    await runReplays();
    const standing = (await shipped.control.objects()).filter(({ key }) => key.endsWith(".log.gz")).length - 2;
    expect(standing).toBe(1);
    expect(await shipped.read(id)).toMatchObject({ state: "waiting", done: { objects: 0 } });
    await shipped.cancel(id);
    for (let turn = 0; turn < 3; turn++) await runReplays();
    expect(await shipped.read(id)).toMatchObject({ state: "cancelled", done: { objects: 1 } });
    await expectCopied(shipped, id, { objects: 1 });
  });
});
