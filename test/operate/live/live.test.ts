import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { hashOf } from "../../../src/formats/secrets/credentials.ts";
import { Live, live } from "../../../src/operate/live/live.ts";
import { TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { AccessRegister, accessRegister } from "../../../src/state/access/register.ts";
import { id, record } from "../../ship/consumer/scripted.ts";
import { message, open, stateOf } from "../../ship/log/shard.ts";
import { api } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { untilPasses } from "../../support/until.ts";
import { Visitor } from "../../web/dashboard/support.ts";
import { HANDSHAKE, knock, outcomes, taken, Viewing } from "./viewing.ts";

let clock: ReturnType<typeof setClock>;
beforeEach(() => {
  clock = setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});
let opened: Viewing[] = [];
const watch = async (visitor?: Visitor): Promise<Viewing> => {
  const viewing = await Viewing.open(visitor);
  opened.push(viewing);
  await viewing.next("hello");
  return viewing;
};
afterEach(async () => {
  for (const viewing of opened) if (viewing.closed === null) viewing.socket.close(1000, "");
  await Promise.all(opened.map((viewing) => viewing.end()));
  opened = [];
});

/** The log takes a message of records with these outcomes. */
let messages = 0;
const push = (...texts: string[]) => {
  messages += 1;
  return taken(message(messages, { takenInMs: clock.nowMs(), records: texts.map((text) => record(text)) }));
};
const round = () => runDurableObjectAlarm(live(env.LIVE));
const filter = (outcome: string) => JSON.stringify({ where: { key: "Outcome", operator: "eq", value: outcome } });
const token = async (permissions: string[], name = "t"): Promise<{ id: string; value: string }> =>
  (await api<{ id: string; value: string }>("POST", "/tokens", { name, permissions })).body.result;

/** Whether a page is open, as far as the log knows. */
const isWatched = async (): Promise<boolean> =>
  (await stateOf<{ watched_until_ms: number }>("watched_until_ms", 0)).watched_until_ms > clock.nowMs();

describe("the way in", () => {
  const cookie = async (visitor: Promise<Visitor>): Promise<string> => (await visitor).cookie ?? "";

  it("is for whoever is signed in", async () => {
    expect((await knock(HANDSHAKE)).status).toBe(401);
    expect((await knock({ ...HANDSHAKE, cookie: `__Host-logship=${"x".repeat(43)}` })).status).toBe(401);
  });

  it("is closed with the session", async () => {
    const mine = await cookie(Visitor.signedIn());
    clock.advance(13 * 3_600_000);
    expect((await knock({ ...HANDSHAKE, cookie: mine })).status).toBe(401);
  });

  it("needs logs:read", async () => {
    const { value } = await token(["events:write"]);
    const answer = await knock({ ...HANDSHAKE, cookie: await cookie(Visitor.signedIn({ token: value })) });
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("logs:read")]);
  });

  it.each([
    ["another origin", { origin: "https://evil.example" }],
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["nowhere", { origin: "" }],
  ])("is closed to a page of %s", async (_name, change) => {
    const mine = await cookie(Visitor.signedIn());
    expect((await knock({ ...HANDSHAKE, ...change, cookie: mine })).status).toBe(403);
  });

  it("takes WebSockets alone", async () => {
    const mine = await cookie(Visitor.signedIn());
    const answer = await knock({ cookie: mine });
    expect([answer.status, answer.headers.get("upgrade")]).toEqual([426, "websocket"]);
  });

  it("lets fifty in, and tells the next one why not", async () => {
    const visitors = [await Visitor.signedIn()];
    for (const name of ["a", "b"]) {
      const { value } = await token(["logs:read"], name);
      visitors.push(await Visitor.signedIn({ token: value }));
    }
    for (let n = 0; n < 50; n++) await watch(visitors[n % 3]);
    const late = await Viewing.open(visitors[1]);
    expect(await late.end()).toEqual([4429, "50 are watching already"]);
    opened[0]?.socket.close(1000, "");
    await opened[0]?.end();
    await watch(visitors[1]);
  });

  it("lets nobody in so often that others are kept out", async () => {
    const { value } = await token(["logs:read"]);
    const [one, again] = [await Visitor.signedIn({ token: value }), await Visitor.signedIn({ token: value })];
    for (let n = 0; n < 20; n++) await watch(n % 2 === 0 ? one : again);
    // Nor after hibernation.
    await evictDurableObject(live(env.LIVE));
    const late = await Viewing.open(again);
    expect(await late.end()).toEqual([4429, "you are watching 20 times already"]);
    await watch();
  });
});

describe("those who watch", () => {
  it("see records, as they arrive, each as its filter wants", async () => {
    const visitor = await Visitor.signedIn();
    const [all, some] = [await watch(visitor), await watch(visitor)];
    some.say({ type: "filter", filter: filter("b") });
    expect(await some.next("filter")).toEqual({ type: "filter", faults: [] });
    await push("a", "b", "c");
    const first = await all.next("records");
    expect([outcomes(first), first.number]).toEqual([["a", "b", "c"], 1]);
    const filtered = await some.next("records");
    expect([outcomes(filtered), filtered.counts]).toEqual([
      ["b"],
      { seen: 3, shown: 1, filtered: 2, dropped: 0, paused: 0 },
    ]);
  });

  it("have a query, or a text as a phrase of one", async () => {
    const viewing = await watch();
    const shown = async (wants: object) => {
      viewing.say({ type: "filter", filter: "", ...wants });
      expect((await viewing.next("filter")).faults).toEqual([]);
      await push("card declined", "declined card");
      return outcomes(await viewing.next("records"));
    };
    expect(await shown({ query: "card outcome:declined*" })).toEqual(["declined card"]);
    expect(await shown({ text: "CARD declined" })).toEqual(["card declined"]);
    expect(await shown({ text: "(card" })).toEqual([]);
    expect(await shown({ text: "nothing", query: "card" })).toEqual(["card declined", "declined card"]);
    viewing.say({ type: "filter", filter: "", query: "(card" });
    expect((await viewing.next("filter")).faults).toEqual(["this bracket is not closed"]);
  });

  it("are told what is wrong with a filter, and the one before stays", async () => {
    const viewing = await watch();
    viewing.say({ type: "filter", filter: filter("b") });
    await viewing.next("filter");
    for (const text of ["{", '{"where":{"key":"Nope","operator":"eq","value":1}}', "é".repeat(5_000)]) {
      viewing.say({ type: "filter", filter: text });
      expect((await viewing.next("filter")).faults).not.toEqual([]);
    }
    await push("a", "b");
    expect(outcomes(await viewing.next("records"))).toEqual(["b"]);
  });

  it("stay as they are while the object sleeps", async () => {
    const viewing = await watch();
    // The longest filter, of characters that take two bytes each once there is one above U+00FF.
    const longest = filter(`€${"x".repeat(8_192 - 3 - filter("").length)}`);
    // And the longest query, three bytes each.
    viewing.say({ type: "filter", filter: longest, query: "語".repeat(2_000) });
    expect(await viewing.next("filter")).toEqual({ type: "filter", faults: [] });
    // And with as much under way as possible. A sleep would advance the clock, and end the watch.
    vi.mocked(platform.sleep).mockResolvedValue();
    for (let n = 0; n < 101; n++) await push("a");
    for (let n = 0; n < 100; n++) await viewing.next("records");
    viewing.say({ type: "drawn", number: 100 });
    expect((await viewing.next("records")).counts).toMatchObject({ seen: 101, filtered: 101 });
    viewing.say({ type: "filter", filter: filter("b") });
    await viewing.next("filter");
    await push("a", "b");
    await viewing.next("records");
    await evictDurableObject(live(env.LIVE));
    await push("b", "c");
    const after = await viewing.next("records");
    expect([outcomes(after), after.number, after.counts?.seen]).toEqual([["b"], 103, 105]);
    viewing.say({ type: "drawn", number: 103 });
    await viewing.heard();
    expect(viewing.closed).toBeNull();
  });

  it("are sent nothing while they pause, and told how many there were", async () => {
    const viewing = await watch();
    viewing.say({ type: "pause" });
    await viewing.heard();
    await push("a", "b");
    viewing.say({ type: "resume" });
    const said = await viewing.next("records");
    expect([said.records, said.counts]).toEqual([[], { seen: 0, shown: 0, filtered: 0, dropped: 0, paused: 2 }]);
  });

  it.each([
    ["what is no JSON", "{", 4400],
    ["what nobody understands", '{"type":"shout"}', 4400],
    ["more than it takes", '{"type":"pause","more":1}', 4400],
    ["that it has drawn what was never sent", '{"type":"drawn","number":1}', 4400],
    ["too much at once", JSON.stringify({ type: "filter", filter: "x".repeat(33_000) }), 4413],
  ])("are cut off when one says %s", async (_name, text, code) => {
    const viewing = await watch();
    viewing.say(text);
    const [closed, reason] = await viewing.end();
    expect([closed, reason === ""]).toEqual([code, false]);
  });

  it("are cut off for bytes, and for a flood", async () => {
    const bytes = await watch();
    bytes.socket.send(new Uint8Array(3).buffer);
    expect((await bytes.end())[0]).toBe(4400);
    const flood = await watch();
    for (let n = 0; n < 250; n++) flood.say({ type: "pause" });
    expect((await flood.end())[0]).toBe(4420);
  });

  it("see nothing more within a minute of the end of their session", async () => {
    const { id, value } = await token(["logs:read"]);
    const [revoked, other] = [await watch(await Visitor.signedIn({ token: value })), await watch()];
    await api("DELETE", `/tokens/${id}`);
    expect(await round()).toBe(true);
    expect(await revoked.end()).toEqual([4401, "you are signed out"]);
    await other.heard();
    expect(other.closed).toBeNull();
  });

  it("see nothing more when they sign out", async () => {
    const visitor = await Visitor.signedIn();
    const viewing = await watch(visitor);
    const id = (visitor.cookie ?? "").split("=")[1] ?? "";
    await accessRegister(env.ACCESS).closeSession(hashOf(id));
    await round();
    expect((await viewing.end())[0]).toBe(4401);
  });
});

describe("a round", () => {
  it("ends the sockets of whoever may not read logs any more", async () => {
    const member = { email: "ada@example.com", role: "Log Share Reader" };
    const { id, api_key } = (await api<{ id: string; api_key: string }>("POST", "/members", member)).body.result;
    const viewing = await watch(await Visitor.signedIn({ email: member.email, key: api_key }));
    expect((await api("PUT", `/members/${id}`, { role: "Functions Admin" })).status).toBe(200);
    await round();
    expect(await viewing.end()).toEqual([4403, "this needs the permission logs:read"]);
  });

  it("ends the sockets of those of whom nobody can tell", async () => {
    const viewing = await watch();
    vi.spyOn(AccessRegister.prototype, "sessionOf").mockImplementation(() => {
      throw new Error("gone");
    });
    await round();
    expect(await viewing.end()).toEqual([4503, "your session could not be checked"]);
  });

  it("that fails is followed by another", async () => {
    const viewing = await watch();
    await runInDurableObject(live(env.LIVE), (_live, state) => {
      vi.spyOn(state, "getWebSockets").mockImplementationOnce(() => {
        throw new Error("not now");
      });
    });
    expect(await round()).toBe(true);
    clock.advance(110_000);
    expect(await isWatched()).toBe(false);
    expect(await round()).toBe(true);
    expect(await isWatched()).toBe(true);
    expect(viewing.closed).toBeNull();
  });
});

describe("the log", () => {
  it("knows that a page is open while one is, and not otherwise", async () => {
    expect(await isWatched()).toBe(false);
    const viewing = await watch();
    expect(await isWatched()).toBe(true);
    // It survived hibernation.
    await evictDurableObject(traceLog(env.TRACE_LOG, 0));
    expect(await isWatched()).toBe(true);
    viewing.socket.close(1000, "");
    await viewing.end();
    expect(await round()).toBe(true);
    expect(await isWatched()).toBe(false);
    // No viewer is left, and no alarm is set.
    expect(await round()).toBe(false);
  });

  it("hears of whoever comes while it is told that nobody is there", async () => {
    const first = await watch();
    first.socket.close(1000, "");
    await first.end();
    const { watchedUntil } = TraceLog.prototype;
    const held = { told: 0, isOpen: false };
    vi.spyOn(TraceLog.prototype, "watchedUntil").mockImplementation(async function (this: TraceLog, ms: number) {
      held.told += 1;
      while (!held.isOpen) await scheduler.wait(1);
      watchedUntil.call(this, ms);
    } as never);
    const over = round();
    await untilPasses(() => expect(held.told).toBe(1));
    await watch();
    held.isOpen = true;
    await over;
    expect(await isWatched()).toBe(true);
  });

  it("believes it for no longer than it is told", async () => {
    await watch();
    clock.advance(90_000);
    expect(await isWatched()).toBe(true);
    clock.advance(20_000);
    expect(await isWatched()).toBe(false);
    await round();
    expect(await isWatched()).toBe(true);
  });

  it("tells of what is new while it believes it, and of nothing else", async () => {
    const viewing = await watch();
    const told = vi.spyOn(Live.prototype, "added");
    const append = (n: number) => traceLog(env.TRACE_LOG, 0).append(open([message(n)]));
    await taken(message(1));
    await append(1);
    clock.advance(110_000);
    await append(2);
    await round();
    await taken(message(3));
    expect(told.mock.calls.map(([{ shard, ids }]) => [shard, ids])).toEqual([1, 3].map((n) => [0, [id(n)]]));
    expect(outcomes(await viewing.next("records"))).toEqual(["event 1"]);
    expect(outcomes(await viewing.next("records"))).toEqual(["event 3"]);
  });
});
