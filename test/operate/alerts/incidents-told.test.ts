/** When the webhook is called: from scripted looks to a receiver, through the durable object. */
import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { Alarm } from "../../../src/base/storage/alarm.ts";
import { WAITING_MAX } from "../../../src/operate/alerts/alert-calls.ts";
import { Watch } from "../../../src/operate/alerts/watch.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { untilPasses } from "../../support/until.ts";
import { call } from "../../web/api/harness.ts";
import { finding } from "../status/findings.ts";
import {
  type Call,
  expectSigned,
  incidentsIn,
  putWebhook,
  readWebhook,
  runWatchAlarm,
  saidBy,
  theWatch,
} from "./receiver.ts";
import { begin, checkAt, clock, errors, eyes, HOUR_MS, MINUTE_MS, of, pass, post, watchEach } from "./watching.ts";

watchEach();

describe("an incident", () => {
  it("is told a minute after it was first seen, by the alarm, and again when it is over", async () => {
    const secret = await putWebhook();
    await checkAt(0, [of(1, { sinceMs: NOON - 90_000, affected: { count: 7, what: "records" } })]);
    expect(post.calls).toEqual([]);
    clock.advance(MINUTE_MS);
    expect(await runWatchAlarm()).toBe(true);
    expect(saidBy(post.calls)).toEqual(["opened 1"]);
    for (const minute of [5, 10, 15]) await checkAt(minute);
    expect(post.calls).toHaveLength(1);
    await checkAt(20);
    expect(saidBy(post.calls)).toEqual(["opened 1", "over 1"]);
    await expectSigned(post.calls, secret);
    const [opened, over] = post.calls as [Call, Call];
    const incident = opened.body.data.incident;
    expect(incident).toMatch(/^inc_[0-9a-f]{32}$/);
    expect([opened.id, over.id]).toEqual([`${incident}_opened`, `${incident}_over`]);
    expect([opened.atS, over.atS]).toEqual([(NOON + MINUTE_MS) / 1_000, (NOON + 20 * MINUTE_MS) / 1_000]);
    const data = {
      incident,
      kind: "failing",
      severity: "error",
      subject: { type: "job", id: 1 },
      since: "2100-11-20T11:58:30.000Z",
      opened_at: "2100-11-20T12:01:00.000Z",
      over_since: null,
      flaps: 0,
      affected: { count: 7, what: "records" },
      summary: "Uploads fail: HTTP 503.",
      advice: "Look at the store.",
    };
    expect(opened.body).toEqual({ type: "incident.opened", timestamp: "2100-11-20T12:01:00.000Z", data });
    expect(over.body).toEqual({
      type: "incident.over",
      timestamp: "2100-11-20T12:20:00.000Z",
      data: { ...data, over_since: "2100-11-20T12:05:00.000Z" },
    });
    expect(Object.fromEntries(opened.headers)).toMatchObject({ "content-type": "application/json" });
    expect([await readWebhook()]).toMatchObject([{ waiting: 0, delivered: 2, failures: 0 }]);
  });

  it("that a check could not store is told by the next one", async () => {
    await putWebhook();
    await checkAt(0, [of(1)]);
    vi.spyOn(Alarm.prototype, "set").mockImplementationOnce(() => {
      throw new Error("refused");
    });
    await checkAt(1, [of(1)]);
    expect([errors.mock.calls.length > 0, post.calls]).toEqual([true, []]);
    await checkAt(2, [of(1)]);
    expect(saidBy(post.calls)).toEqual(["opened 1"]);
  });

  it.each<[string, looks: string, readonly string[]]>([
    ["one look", "0+ 5- 10- 15- 20- 25-", []],
    ["a flap within an incident", "0+ 1+ 5- 10+ 15- 20+", ["opened 1"]],
    [
      "an hour of flaps, and then none",
      "0+ 5- 10+ 15- 20+ 25- 30+ 35- 40+ 45- 50+ 55- 60- 65- 70-",
      ["opened 1", "over 1"],
    ],
    ["two, one after the other", "0+ 1+ 5- 10- 20- 30+ 31+ 35- 40- 50-", ["opened 1", "over 1", "opened 1", "over 1"]],
  ])("of %s makes exactly its calls", async (_what, looks, expected) => {
    await putWebhook();
    for (const look of looks.split(" ")) await checkAt(Number.parseInt(look, 10), look.endsWith("+") ? [of(1)] : []);
    expect(saidBy(post.calls)).toEqual(expected);
    expect(new Set(post.calls.map(({ id }) => id)).size).toBe(expected.length);
  });

  it("goes on while nobody can tell", async () => {
    await putWebhook();
    await begin(1);
    eyes.now([], () => true);
    for (let i = 0; i < 10; i++) {
      clock.advance(5 * MINUTE_MS);
      await theWatch().check();
    }
    expect(saidBy(post.calls)).toEqual(["opened 1"]);
  });

  it("that is open when a webhook is set is told, and one that is over is not", async () => {
    await checkAt(0, [of(1), of(2)]);
    await checkAt(1, [of(1), of(2)]);
    for (const minute of [5, 10, 15, 20]) await checkAt(minute, [of(2)]);
    await putWebhook();
    await runWatchAlarm();
    expect(saidBy(post.calls)).toEqual(["opened 2"]);
    for (const minute of [25, 30, 40]) await checkAt(minute);
    expect(saidBy(post.calls)).toEqual(["opened 2", "over 2"]);
  });

  it("that was told to one address is told to the next, under its id, and what waits goes there", async () => {
    await putWebhook();
    const found = await begin(1);
    post.answers(500);
    await begin(1, 2);
    await putWebhook({ url: "https://other.example.com/" });
    post.answers(204);
    await pass(10 * MINUTE_MS, [...found, of(2)]);
    const there = post.calls.filter(({ url }) => url === "https://other.example.com/");
    expect(saidBy(there).sort()).toEqual(["opened 1", "opened 2"]);
    expect(there.map(({ id }) => id)).toContain(post.calls[0]?.id);
  });

  it("is not told again because the secret is another one, and either secret fits for a day", async () => {
    const first = await putWebhook();
    await begin(1);
    const next = await putWebhook({ rotate: true });
    expect(next).not.toBe(first);
    await begin(1, 2);
    expect(saidBy(post.calls)).toEqual(["opened 1", "opened 2"]);
    await expectSigned(post.calls.slice(1), next);
    await expectSigned(post.calls.slice(1), first);
    clock.advance(24 * HOUR_MS);
    await begin(1, 2, 3);
    await expectSigned(post.calls.slice(2), next);
    await expect(expectSigned(post.calls.slice(2), first)).rejects.toThrow();
  });

  it("that finds too many calls waiting is told when there is room, and not that it is over if it was never told", async () => {
    await putWebhook();
    post.answers(503);
    const fill = (sql: string) =>
      runInDurableObject(theWatch(), (_watch, { storage }) => {
        storage.sql.exec(sql);
      });
    await fill(`INSERT INTO call (receiver, id, incident, body, made_ms)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${WAITING_MAX})
      SELECT 1, 'x' || i, 'x' || i, '{}', ${NOON} FROM n`);
    await begin(1, 2);
    for (let i = 0; i < 4; i++) {
      clock.advance(6 * MINUTE_MS);
      eyes.now([of(2)]);
      await theWatch().check();
    }
    expect(await readWebhook()).toMatchObject({ waiting: WAITING_MAX });
    const listed = await theWatch().incidents(10);
    const isOver = listed.filter(({ finding: { kind } }) => kind === "failing").map(({ overMs }) => overMs !== null);
    expect(isOver).toEqual([false, true]);
    await fill("DELETE FROM call");
    post.answers(204);
    post.calls.splice(0);
    await pass(2 * HOUR_MS, [of(2)]);
    expect(saidBy(post.calls)).toEqual(["opened 2"]);
  });

  it("that is open when the webhook is switched off waits no more, and is told when it is switched on", async () => {
    await putWebhook();
    post.answers(500);
    const found = await begin(1);
    expect(await readWebhook()).toMatchObject({ waiting: 1 });
    await putWebhook({ enabled: false });
    expect(await readWebhook()).toMatchObject({ waiting: 0, enabled: false, failures: 0 });
    post.answers(204);
    post.calls.splice(0);
    await pass(HOUR_MS, found);
    expect(post.calls).toEqual([]);
    await putWebhook({ enabled: true });
    await runWatchAlarm();
    expect(saidBy(post.calls)).toEqual(["opened 1"]);
  });

  it("whose call is on its way while the address changes is told to the new one as well", async () => {
    await putWebhook();
    await checkAt(0, [of(1)]);
    clock.advance(MINUTE_MS);
    const late = Promise.withResolvers<Response>();
    post.answers(() => () => late.promise);
    const alarm = runWatchAlarm();
    await untilPasses(() => expect(post.calls).toHaveLength(1));
    await putWebhook({ url: "https://other.example.com/" });
    post.answers(204);
    late.resolve(new Response(null, { status: 204 }));
    await alarm;
    expect(post.calls.map(({ url, id }) => [new URL(url).host, id])).toEqual([
      ["hooks.example.com", post.calls[0]?.id],
      ["other.example.com", post.calls[0]?.id],
    ]);
  });

  it("whose call is on its way while the webhook is deleted and set anew is told to the new one once", async () => {
    await putWebhook();
    await checkAt(0, [of(1)]);
    clock.advance(MINUTE_MS);
    const late = Promise.withResolvers<Response>();
    post.answers(() => () => late.promise);
    const alarm = runWatchAlarm();
    await untilPasses(() => expect(post.calls).toHaveLength(1));
    await call("DELETE", "/logship/webhook");
    await putWebhook({ url: "https://other.example.com/" });
    const next = Promise.withResolvers<Response>();
    post.answers(() => () => next.promise);
    const cron = theWatch().check();
    late.resolve(new Response(null, { status: 204 }));
    await untilPasses(() => expect(post.calls).toHaveLength(2));
    expect(await readWebhook()).toMatchObject({ delivered: 0, waiting: 1 });
    next.resolve(new Response(null, { status: 204 }));
    await Promise.all([alarm, cron]);
    expect(await readWebhook()).toMatchObject({ delivered: 1, waiting: 0 });
    expect(post.calls.map(({ url }) => new URL(url).host)).toEqual(["hooks.example.com", "other.example.com"]);
  });

  it("is told while the configuration is malformed, which may be what it tells; as long as the key is not", async () => {
    const secret = await putWebhook();
    const settings = await runInDurableObject(theWatch(), (watch) => (watch as unknown as { env: object }).env);
    const malformed = (name: string) => {
      const before: unknown = Reflect.get(settings, name);
      Reflect.set(settings, name, "hunter2");
      return () =>
        before === undefined ? Reflect.deleteProperty(settings, name) : Reflect.set(settings, name, before);
    };
    const found = [finding({ kind: "configuration_malformed", subject: { type: "account" } })];
    const restored = malformed("REQUIRE_OWNERSHIP_CHALLENGE");
    try {
      await checkAt(0, found);
      await checkAt(1, found);
    } finally {
      restored();
    }
    expect(post.calls.map(({ body }) => body.data.kind)).toEqual(["configuration_malformed"]);
    await expectSigned(post.calls, secret);

    clock.advance(MINUTE_MS);
    expect((await theWatch().snapshot())?.findings.map(({ kind }) => kind)).not.toContain("webhook_failing");
    const restoredKey = malformed("SECRETS_KEY");
    let unopened: string[] | undefined;
    try {
      clock.advance(MINUTE_MS);
      unopened = (await theWatch().snapshot())?.findings.map(({ kind }) => kind);
      await checkAt(6, [...found, of(1)]);
      await checkAt(7, [...found, of(1)]);
    } finally {
      restoredKey();
    }
    expect(post.calls).toHaveLength(1);
    expect(unopened).toContain("webhook_failing");
    expect(await readWebhook()).toMatchObject({ waiting: 1, last_answer: "the configuration is malformed" });
  });

  it("of a function that is named like a link, or like nothing, is a line of text that is none", async () => {
    await putWebhook();
    const name = `https://evil.example/\u202e\n${"x".repeat(20_000)}\ud800`;
    const hostile = finding({ subject: { type: "function", name }, summary: `${name} is quiet`, advice: name });
    await checkAt(0, [hostile]);
    await checkAt(1, [hostile]);
    const [{ raw, body }] = post.calls as [Call];
    expect(new TextEncoder().encode(raw).length).toBeLessThan(32_000);
    expect(raw.isWellFormed()).toBe(true);
    for (const text of [body.data.summary, body.data.advice]) expect(text).not.toMatch(/:\/\/|[\p{Cc}\p{Cf}]/u);
  });
});

describe("a look", () => {
  it("is not made again within ten seconds, however many ask", async () => {
    eyes.now([of(1)]);
    const sights = await Promise.all(Array.from({ length: 20 }, () => theWatch().snapshot()));
    for (const sight of sights)
      expect(sight).toEqual({
        checkedMs: NOON,
        findings: [{ ...of(1), sinceMs: NOON, incidentId: null }],
        incidents: [],
        notices: [],
        keptSinceMs: null,
      });
    clock.advance(9_999);
    eyes.now([]);
    expect((await theWatch().snapshot())?.findings).toHaveLength(1);
    clock.advance(1);
    expect(await theWatch().snapshot()).toMatchObject({
      checkedMs: NOON + 10_000,
      findings: [],
      incidents: [],
      notices: [],
    });
  });

  it("says since when, as far back as any look before it knew", async () => {
    await checkAt(0, [of(1, { sinceMs: NOON - 5_000 })]);
    await checkAt(5, [of(1)]);
    expect((await theWatch().snapshot())?.findings).toMatchObject([of(1, { sinceMs: NOON - 5_000 })]);
  });

  it("that fails is an error to whoever asks, a line, and with the next one that fails a finding; nothing is over for it", async () => {
    await putWebhook();
    const found = await begin(1);
    eyes.fails(new Error("the disk is gone"));
    for (let i = 0; i < 8; i++) {
      clock.advance(5 * MINUTE_MS);
      await theWatch().check();
      expect(await theWatch().snapshot()).toBeNull();
    }
    expect(errors).toHaveBeenCalledWith(
      expect.objectContaining({ message: "status check failed", error: "Error: the disk is gone" }),
    );
    expect(saidBy(post.calls)).toEqual(["opened 1", "opened account"]);
    expect(post.calls[1]?.body.data).toMatchObject({ kind: "look_failed", severity: "error" });
    await pass(HOUR_MS, found);
    expect(saidBy(post.calls)).toEqual(["opened 1", "opened account", "over account"]);
  });
});

describe("a cron that never comes", () => {
  const alarmMs = () => runInDurableObject(theWatch(), (_watch, { storage }) => storage.getAlarm());

  it("leaves somebody who wants to be told not in the dark: the watch looks by itself", async () => {
    await putWebhook();
    eyes.now([of(1)]);
    const end = NOON + 15 * MINUTE_MS;
    for (let at = await alarmMs(); at !== null && at <= end; at = await alarmMs()) {
      clock.advance(Math.max(at - clock.nowMs(), 0));
      await runWatchAlarm();
    }
    expect(saidBy(post.calls)).toEqual(["opened 1"]);
  });

  it("that comes leaves the alarm nothing to look at, and who wants no calls has none", async () => {
    await checkAt(0);
    expect(await alarmMs()).toBeNull();
    await putWebhook();
    await checkAt(5);
    await checkAt(10);
    const looks = vi.mocked(Watch.prototype.see).mock.calls.length;
    clock.advance(NOON + 11 * MINUTE_MS - clock.nowMs());
    await runWatchAlarm();
    expect(vi.mocked(Watch.prototype.see).mock.calls.length).toBe(looks);
    expect(await alarmMs()).toBe(NOON + 21 * MINUTE_MS);
  });

  it("does not have a look that fails made again and again", async () => {
    await putWebhook();
    eyes.fails(new Error("nobody can look"));
    clock.advance(12 * MINUTE_MS);
    await runWatchAlarm();
    expect(await alarmMs()).toBeGreaterThanOrEqual(clock.nowMs() + 10 * MINUTE_MS);
  });
});

it("incidents are listed, those that go on first, and those that are over forgotten after thirty days", async () => {
  await begin(1);
  for (const minute of [5, 10, 20]) await checkAt(minute, [of(2)]);
  const answer = await call("GET", "/logship/incidents");
  expect(answer.body.result_info).toMatchObject({ count: 2, total_count: 2 });
  const { kind, severity, summary, advice } = of(1);
  const quiet = { affected: null, flaps: 0, muted_until: null, muted_by: null, told: [] };
  const common = { id: expect.stringMatching(/^inc_/), kind, severity, ...quiet, summary, advice };
  expect(answer.body.result).toEqual([
    {
      ...common,
      ...{ state: "open", recovering_since: null, over_at: null },
      subject: { type: "job", id: 2 },
      since: "2100-11-20T12:05:00.000Z",
      opened_at: "2100-11-20T12:10:00.000Z",
      over_since: null,
    },
    {
      ...common,
      ...{ state: "over", recovering_since: null, over_at: null },
      subject: { type: "job", id: 1 },
      since: "2100-11-20T12:00:00.000Z",
      opened_at: "2100-11-20T12:01:00.000Z",
      over_since: "2100-11-20T12:05:00.000Z",
    },
  ]);
  for (const minute of [25, 30, 40]) await checkAt(minute);
  const left = async (): Promise<number> => (await theWatch().incidents(10)).length;
  clock.advance(30 * 24 * HOUR_MS - 20 * MINUTE_MS);
  await theWatch().check();
  expect(await left()).toBe(2);
  clock.advance(1);
  await theWatch().check();
  expect(await left()).toBe(1);
  clock.advance(20 * MINUTE_MS);
  await theWatch().check();
  expect(await left()).toBe(0);
});

describe("what opens together, or becomes worse", () => {
  const failing = (name: string) =>
    finding({
      kind: "function_failing",
      severity: "warning",
      subject: { type: "function", name },
      summary: `${name} fails.`,
    });
  const messages = (): string[][] => post.calls.map((each) => saidBy([each]).toSorted());

  it("is one message, the worst first, and each end is told; ends that come together are one message", async () => {
    await putWebhook();
    const found = [failing("a"), { ...failing("made up"), sender: "http:ci" }, of(7), failing("b")];
    for (const minute of [0, 1]) await checkAt(minute, found);
    expect([saidBy(post.calls)]).toEqual([
      ["opened 7", expect.stringMatching(/^opened [ab]$/), expect.stringMatching(/^opened [ab]$/), "opened made up"],
    ]);
    const [{ id, body }] = post.calls as [Call];
    const [first, ...also] = incidentsIn(body.data);
    expect(id).toMatch(new RegExp(`^${first?.incident}_opened_and_[0-9a-f]{1,8}$`));
    expect(Object.keys(also[0] ?? {}).toSorted()).toEqual(["incident", "kind", "severity", "subject", "summary"]);
    expect(also.every(({ incident }) => /^inc_/.test(`${incident}`))).toBe(true);
    for (const minute of [5, 10, 15, 20]) await checkAt(minute, [failing("b")]);
    for (const minute of [25, 30, 35, 40]) await checkAt(minute);
    expect(messages().slice(1)).toEqual([["over 7", "over a", "over made up"], ["over b"]]);
    expect(await readWebhook()).toMatchObject({ delivered: 3, waiting: 0 });
  });

  it("lists ten beside the first, counts the others, and stays below 32 kB", async () => {
    await putWebhook();
    const long = (n: number) => failing(`${n} ${"\u00e9".repeat(5_000)}`);
    const many = Array.from({ length: 40 }, (_, n) => ({
      ...long(n),
      summary: "\u20ac".repeat(9_000),
      advice: "\u20ac".repeat(9_000),
    }));
    for (const minute of [0, 1]) await checkAt(minute, many);
    expect(post.calls).toHaveLength(1);
    const [{ body, raw }] = post.calls as [Call];
    expect([incidentsIn(body.data).length, body.data.also_more]).toEqual([11, 29]);
    expect(new TextEncoder().encode(raw).length).toBeLessThan(32_000);
  });

  it("joins what waits while a receiver fails, but never changes a message that was tried", async () => {
    await putWebhook();
    post.answers(503);
    const found = await begin(1, 2);
    const [tried] = post.calls as [Call];
    await begin(1, 2, 3);
    await begin(1, 2, 3, 4);
    post.answers(204);
    await pass(HOUR_MS, [...found, of(3), of(4)]);
    const ids = new Map(post.calls.map(({ id, raw }) => [id, raw]));
    expect(ids.get(tried.id)).toBe(tried.raw);
    expect([...new Set(post.calls.map(({ id, raw }) => `${id} ${raw}`))]).toHaveLength(ids.size);
    const taken = [...ids.values()].map((raw) => saidBy([{ ...tried, body: JSON.parse(raw) as Call["body"] }]));
    expect(taken.flat().toSorted()).toEqual(["opened 1", "opened 2", "opened 3", "opened 4"]);
    expect(taken.length).toBeLessThan(4);
  });

  it("is about ends or about beginnings: what ends and what opens with one check are two", async () => {
    await putWebhook();
    await begin(1, 2);
    for (const minute of [5, 10]) await checkAt(minute);
    for (const minute of [15, 20]) await checkAt(minute, [of(3), of(4)]);
    const types = post.calls.map(({ body }) => body.type);
    expect(types.toSorted()).toEqual(["incident.opened", "incident.opened", "incident.over"]);
    expect(messages().toSorted()).toEqual([
      ["opened 1", "opened 2"],
      ["opened 3", "opened 4"],
      ["over 1", "over 2"],
    ]);
  });

  it("keeps its id over a crash between the call and its note, though more opens meanwhile", async () => {
    await putWebhook();
    const late = Promise.withResolvers<Response>();
    post.answers(() => () => late.promise);
    await checkAt(0, [of(1), of(2)]);
    clock.advance(MINUTE_MS);
    const alarm = runWatchAlarm().catch(() => {});
    await untilPasses(() => expect(post.calls).toHaveLength(1));
    await abortAllDurableObjects();
    await alarm;
    post.answers(204);
    for (const minute of [5, 6, 7]) await checkAt(minute, [of(1), of(2), of(3)]);
    expect(messages()).toEqual([["opened 1", "opened 2"], ["opened 1", "opened 2"], ["opened 3"]]);
    expect(post.calls[1]?.id).toBe(post.calls[0]?.id);
  });

  it("has another id where a receiver that is switched on again is told of more than before", async () => {
    await putWebhook();
    const found = await begin(1);
    await putWebhook({ enabled: false });
    for (const minute of [5, 6]) await checkAt(minute, [...found, of(2)]);
    await putWebhook({ enabled: true });
    await runWatchAlarm();
    expect(messages()).toEqual([["opened 1"], ["opened 1", "opened 2"]]);
    expect(new Set(post.calls.map(({ id }) => id)).size).toBe(2);
  });

  it("is over for who was told of it as a warning, though it became worse while it was muted", async () => {
    await putWebhook();
    for (const minute of [0, 1]) await checkAt(minute, [of(1, { severity: "warning" })]);
    const incident = post.calls[0]?.body.data.incident;
    const until = new Date(NOON + HOUR_MS).toISOString();
    expect((await call("PUT", `/logship/incidents/${incident}/mute`, { until })).status).toBe(200);
    for (const minute of [5, 10]) await checkAt(minute, [of(1)]);
    for (const minute of [15, 20, 25, 30]) await checkAt(minute, []);
    expect(post.calls.map(({ id }) => id)).toEqual([`${incident}_opened`, `${incident}_over`]);
  });

  it("an error that was told as a warning is told once more, under an id of its own", async () => {
    await putWebhook();
    for (const minute of [0, 1]) await checkAt(minute, [of(1, { severity: "warning" })]);
    for (const minute of [5, 10]) await checkAt(minute, [of(1)]);
    for (const minute of [15, 20]) await checkAt(minute, [of(1, { severity: "warning" })]);
    await checkAt(25, [of(1)]);
    const incident = post.calls[0]?.body.data.incident;
    expect(post.calls.map(({ id, body }) => [id, body.data.severity])).toEqual([
      [`${incident}_opened`, "warning"],
      [`${incident}_opened_worse`, "error"],
    ]);
  });
});
