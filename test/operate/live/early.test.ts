/** Records that are shown before the log has them: each once, whatever comes between. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { LIVE_PUSH_MAX_BYTES } from "../../../src/base/limits.ts";
import { platform } from "../../../src/base/platform.ts";
import { recordLine } from "../../../src/formats/record/encode.ts";
import { ControlPlane, Packer } from "../../../src/index.ts";
import { Live, live } from "../../../src/operate/live/live.ts";
import { ShownParts } from "../../../src/operate/live/shown-parts.ts";
import { type EarlyPart, isolateViewers } from "../../../src/ship/intake/viewers.ts";
import { TraceLog, traceLog } from "../../../src/ship/log/trace-log.ts";
import { traceRecord } from "../../formats/record/samples.ts";
import { damaged } from "../../ship/consumer/scripted.ts";
import { open, passing, stateOf } from "../../ship/log/shard.ts";
import { encodeMessage } from "../../support/message.ts";
import { api } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { World } from "../../support/runtime/world.ts";
import { untilPasses } from "../../support/until.ts";
import { outcomes, taken, Viewing } from "./viewing.ts";

let clock: ReturnType<typeof setClock>;
let warned: ReturnType<typeof vi.spyOn>;
let opened: Viewing[] = [];
beforeEach(() => {
  clock = setClock(NOON);
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(async () => {
  for (const viewing of opened) if (viewing.closed === null) viewing.socket.close(1000, "");
  await Promise.all(opened.map((viewing) => viewing.end()));
  opened = [];
});

const watch = async (): Promise<Viewing> => {
  const viewing = await Viewing.open();
  opened.push(viewing);
  await viewing.next("hello");
  return viewing;
};

const id = (name: string): string => Buffer.from(name.padEnd(16)).toString("hex");
const line = (outcome: string, script = "shop"): string =>
  recordLine(traceRecord({ Outcome: outcome, ScriptName: script }));

/** A part of two records, as a sender has it. */
const part = (name: string, fields: Partial<EarlyPart> = {}): EarlyPart => ({
  ...{ id: id(name), takenInMs: clock.nowMs(), source: "tail" },
  entries: [line(`${name}1`), line(`${name}2`)],
  ...fields,
});
const early = (...names: string[]) => live(env.LIVE).showEarly(names.map((name) => part(name)));

/** The same part, as the queue delivers it. */
function messageOf(name: string, further: readonly string[] = []): ArrayBuffer {
  const lines = [line(`${name}1`), line(`${name}2`), ...further];
  const head = { id: id(name), takenInMs: clock.nowMs(), keyed: false, shards: 1, records: lines.length };
  return encodeMessage(head, encodeUtf8(lines.map((each) => `${each}\n`).join(""))).buffer;
}

/** The log takes the same parts. @param further lines of each. */
const late = (names: readonly string[], further: readonly string[] = []) =>
  taken(...names.map((name) => messageOf(name, further)));

/** The log has asked the control plane. */
const configured = () => traceLog(env.TRACE_LOG, 0).drive();

/** What a page got, in order, and its last counts. */
async function seen(viewing: Viewing) {
  await viewing.heard();
  const said = viewing.said.filter(({ type }) => type === "records");
  const counts = said.at(-1)?.counts ?? { seen: 0, shown: 0, filtered: 0, dropped: 0, paused: 0 };
  expect(counts.seen).toBe(counts.shown + counts.filtered + counts.dropped);
  return { records: said.flatMap(outcomes), counts };
}

const evicted = () => evictDurableObject(live(env.LIVE));

describe("a part", () => {
  const STEPS = {
    early: () => early("a"),
    late: () => late(["a"]),
    hibernates: () => evicted(),
    "ten seconds": async () => clock.advance(10_000),
  };
  it.each<[string, (keyof typeof STEPS)[]]>(
    (
      [
        ["early"],
        ["late"],
        ["early", "late"],
        ["late", "early"],
        ["early", "early", "late"],
        ["early", "late", "early"],
        ["early", "ten seconds", "late"],
        ["early", "hibernates", "late"],
        ["early", "ten seconds", "hibernates", "ten seconds", "late"],
        ["late", "hibernates", "early"],
        ["late", "ten seconds", "hibernates", "early"],
        ["early", "hibernates", "late", "hibernates", "early"],
        ["early", "hibernates", "early", "late"],
        ["hibernates", "early", "late"],
      ] as (keyof typeof STEPS)[][]
    ).map((steps) => [steps.join(", "), steps]),
  )("is shown once: %s", async (_names, steps) => {
    const viewing = await watch();
    for (const step of steps) await STEPS[step]();
    expect(await seen(viewing)).toEqual({
      records: ["a1", "a2"],
      counts: { seen: 2, shown: 2, filtered: 0, dropped: 0, paused: 0 },
    });
  });

  it("is shown once where the log takes it while the opt-outs are asked for", async () => {
    const viewing = await watch();
    await configured();
    const { configSince } = ControlPlane.prototype;
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(async function (
      this: ControlPlane,
      state: string,
    ) {
      await late(["a"]);
      return configSince.call(this, state);
    } as never);
    expect(await early("a", "b")).toBe(true);
    expect((await seen(viewing)).records).toEqual(["a1", "a2", "b1", "b2"]);
  });

  it("does not keep another one from being shown, nor what was left out of it", async () => {
    const viewing = await watch();
    await early("b");
    await late(["a", "b", "c"], [line("x".repeat(LIVE_PUSH_MAX_BYTES))]);
    expect(await seen(viewing)).toEqual({
      records: ["b1", "b2", "a1", "a2", "c1", "c2"],
      counts: { seen: 8, shown: 6, filtered: 0, dropped: 2, paused: 0 },
    });
  });

  it("is shown late to a page that was opened after it was shown early, and not to the others", async () => {
    const first = await watch();
    await early("a");
    const second = await watch();
    await evicted();
    await early("b");
    const third = await watch();
    await late(["a", "b"]);
    expect((await seen(first)).records).toEqual(["a1", "a2", "b1", "b2"]);
    expect((await seen(second)).records).toEqual(["b1", "b2", "a1", "a2"]);
    expect((await seen(third)).records).toEqual(["a1", "a2", "b1", "b2"]);
  });

  it("is filtered once, and counts once during a pause", async () => {
    const [some, paused] = [await watch(), await watch()];
    const filter = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "a2" } });
    some.say({ type: "filter", filter });
    paused.say({ type: "pause" });
    await Promise.all([some.heard(), paused.heard()]);
    await early("a");
    await late(["a"]);
    expect(await seen(some)).toMatchObject({ records: ["a2"], counts: { seen: 2, shown: 1, filtered: 1 } });
    paused.say({ type: "resume" });
    expect((await seen(paused)).counts).toMatchObject({ seen: 0, paused: 2 });
  });

  it("comes from where it came", async () => {
    const viewing = await watch();
    await live(env.LIVE).showEarly([part("a", { source: "http:ci" })]);
    const said = await viewing.next("records");
    expect(said.records).toMatchObject([{ source: "http:ci" }, { source: "http:ci" }]);
  });

  it("that is older than twenty seconds is left to the log", async () => {
    const viewing = await watch();
    await live(env.LIVE).showEarly([part("a", { takenInMs: NOON - 20_001 }), part("b", { takenInMs: NOON - 15_000 })]);
    expect((await seen(viewing)).records).toEqual(["b1", "b2"]);
    await late(["a", "b"]);
    expect((await seen(viewing)).records).toEqual(["b1", "b2", "a1", "a2"]);
  });

  it("is remembered for as long as a page can be open that saw it", async () => {
    const viewing = await watch();
    await early("a");
    clock.advance(12 * 3_600_000 - 1);
    await traceLog(env.TRACE_LOG, 0).watchedUntil(clock.nowMs() + 1);
    await late(["a"]);
    expect((await seen(viewing)).records).toEqual(["a1", "a2"]);
  });
});

describe("a block that the log has added", () => {
  const asked = () => vi.spyOn(TraceLog.prototype, "records");

  it("is read only if a page has not seen all of it, and by its position", async () => {
    const records = asked();
    await watch();
    await early("a", "b");
    await late(["a", "b"]);
    expect(records).not.toHaveBeenCalled();
    const newest = async () => (await stateOf<{ n: number }>("last_block AS n", 0)).n;
    await late(["c"]);
    expect(records.mock.calls).toEqual([[(await newest()) - 1, 1]]);
    await early("d");
    await late(["d", "e"]);
    expect(records.mock.calls.slice(1)).toEqual([[(await newest()) - 1, 1]]);
  });

  it.each<[string, () => unknown]>([
    ["does not answer", () => new Promise(() => {})],
    ["fails", () => Promise.reject(new TypeError("secret text"))],
  ])("is not shown where the log %s: it delays no append, and nothing that comes next", async (_how, answer) => {
    const viewing = await watch();
    const deadline = passing(3_000);
    asked().mockImplementationOnce(answer as never);
    await late(["a"]);
    deadline.end();
    await late(["b"]);
    expect((await seen(viewing)).records).toEqual(["b1", "b2"]);
    await untilPasses(() => expect(JSON.stringify(warned.mock.calls)).toContain("could not be shown as they arrived"));
    expect(JSON.stringify(warned.mock.calls)).not.toContain("secret text");
  });

  it("and has dropped since is not shown, nor a later one twice", async () => {
    const viewing = await watch();
    const { records } = TraceLog.prototype;
    asked().mockImplementationOnce(async function (this: TraceLog, ...given: Parameters<TraceLog["records"]>) {
      await this.append(open([messageOf("b")]));
      this.ctx.storage.sql.exec("DELETE FROM block WHERE n = (SELECT min(n) FROM block)");
      return records.apply(this, given);
    } as never);
    await late(["a"]);
    await viewing.next("records");
    expect((await seen(viewing)).records).toEqual([]);
  });

  it("has nothing for a page of functions that were off, or are, and nothing that this code cannot read", async () => {
    const viewing = await watch();
    await api("PATCH", "/functions/scripts/till/script-settings", { logship: false });
    clock.advance(5_000);
    await late(["a"], [line("off", "till")]);
    expect((await seen(viewing)).records).toEqual(["a1", "a2"]);
    const { records } = TraceLog.prototype;
    asked().mockImplementationOnce(function (this: TraceLog, ...given: Parameters<TraceLog["records"]>) {
      const { messages, end } = records.apply(this, given);
      return { messages: messages.map((each) => ({ ...each, body: new Uint8Array(damaged(each.body.buffer)) })), end };
    });
    await late(["b"]);
    expect((await seen(viewing)).records).toEqual(["a1", "a2"]);
  });
});

describe("nothing is shown early", () => {
  it("while no page is open: nothing is asked, and nothing stored", async () => {
    const asked = vi.spyOn(ControlPlane.prototype, "configSince");
    expect([await early(), await early("a")]).toEqual([false, false]);
    expect(asked).not.toHaveBeenCalled();
    await runInDurableObject(live(env.LIVE), (_live, { storage }) => {
      expect([...storage.kv.list()]).toEqual([]);
    });
  });

  it.each<[string, () => unknown]>([
    ["fails", () => Promise.reject(new Error("down"))],
    ["answers nonsense", () => ({ state: "x" })],
    ["answers nothing", () => null],
  ])("where the control plane %s: the log has it", async (_how, answer) => {
    const viewing = await watch();
    await configured();
    await early("a");
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(answer as never);
    expect(await early("b")).toBe(true);
    expect((await seen(viewing)).records).toEqual(["a1", "a2"]);
    await late(["a", "b"]);
    expect((await seen(viewing)).records).toEqual(["a1", "a2", "b1", "b2"]);
    expect(JSON.stringify(warned.mock.calls)).toContain("the opt-outs are not known");
  });

  it("of a function whose logging is off, from the moment on that it is", async () => {
    const viewing = await watch();
    const show = (name: string) => live(env.LIVE).showEarly([part(name, { entries: [line(name, "till")] })]);
    const switched = async (on: boolean) => {
      const patch = await api("PATCH", "/functions/scripts/till/script-settings", { logship: on });
      expect(patch.body.errors).toEqual([]);
    };
    await show("a");
    await switched(false);
    clock.advance(1_000);
    await show("b");
    const takenInMs = clock.nowMs();
    clock.advance(1_000);
    await switched(true);
    clock.advance(1_000);
    // It was off when this one was taken in.
    await live(env.LIVE).showEarly([part("c", { takenInMs, entries: [line("c", "till")] })]);
    await show("d");
    expect((await seen(viewing)).records).toEqual(["a", "d"]);
  });
});

describe("on the whole way, a record", () => {
  it.each(["tail", "post", "ship"] as const)("of %s is shown before the queue delivers it, and once", async (way) => {
    const world = new World(NOON);
    const viewing = await watch();
    // This isolate's own, which other tests may have left quiet at a time near this one.
    isolateViewers.told();
    if (way === "tail") await world.tail(world.mint(2, { form: "trace" }));
    else await world[way](world.mint(2));
    const { counts } = await viewing.next("records");
    expect([counts?.shown, world.queue.held.length]).toEqual([2, 1]);
    const added = vi.spyOn(Live.prototype, "added");
    await world.deliverDue();
    await untilPasses(() => expect(added.mock.settledResults).toMatchObject([{ type: "fulfilled" }]));
    await viewing.heard();
    expect(viewing.said.filter(({ type }) => type === "records")).toEqual([]);
  });
});

describe("the opt-outs", () => {
  it("are asked for once by all that wait, and never before what they decide about came", async () => {
    const viewing = await watch();
    const calls = { begun: 0, mayEnd: 0 };
    const { configSince } = ControlPlane.prototype;
    vi.spyOn(ControlPlane.prototype, "configSince").mockImplementation(async function (
      this: ControlPlane,
      state: string,
    ) {
      calls.begun += 1;
      const own = calls.begun;
      while (calls.mayEnd < own) await scheduler.wait(1);
      return configSince.call(this, state);
    } as never);
    const first = early("a");
    await untilPasses(() => expect(calls.begun).toBe(1));
    const others = [early("b"), early("c"), early("d")];
    await scheduler.wait(20);
    expect(calls.begun).toBe(1);
    calls.mayEnd = 1;
    await first;
    await untilPasses(() => expect(calls.begun).toBe(2));
    calls.mayEnd = 2;
    await Promise.all(others);
    expect(calls.begun).toBe(2);
    expect((await seen(viewing)).records.length).toBe(8);
  });
});

describe("the packer", () => {
  it("is told at the first page, and in each round, that a page is open", async () => {
    const told = vi.spyOn(Packer.prototype, "watched");
    const viewing = await watch();
    await untilPasses(() => expect(told).toHaveBeenCalledTimes(1));
    await runDurableObjectAlarm(live(env.LIVE));
    await untilPasses(() => expect(told).toHaveBeenCalledTimes(2));
    viewing.socket.close(1000, "");
    await viewing.end();
    await runDurableObjectAlarm(live(env.LIVE));
    expect(told).toHaveBeenCalledTimes(2);
  });

  it("keeps no page waiting, however it fails", async () => {
    vi.spyOn(Packer.prototype, "watched").mockImplementation(() => {
      throw new Error("down");
    });
    await watch();
    await untilPasses(() => expect(JSON.stringify(warned.mock.calls)).toContain("the packer could not be told"));
  });
});

describe("what was shown", () => {
  const stored = () =>
    runInDurableObject(live(env.LIVE), (_live, { storage }) => [...storage.kv.list()].map(([key]) => key));

  it("is forgotten once the last page is closed", async () => {
    const viewing = await watch();
    await early("a");
    expect(await stored()).toEqual(["shown"]);
    viewing.socket.close(1000, "");
    await viewing.end();
    await runDurableObjectAlarm(live(env.LIVE));
    expect(await stored()).toEqual([]);
  });

  it("is stored at once, then every five seconds at most", async () => {
    await watch();
    const waits = { begun: 0, over: 0 };
    let puts = 0;
    await runInDurableObject(live(env.LIVE), (_live, { storage }) => {
      const { put } = storage.kv;
      vi.spyOn(storage.kv, "put").mockImplementation((...args) => {
        puts += 1;
        return put.apply(storage.kv, args as never);
      });
    });
    vi.mocked(platform.sleep).mockImplementation(async (ms) => {
      // The pause between two questions for the opt-outs.
      if (ms === 200) return;
      waits.begun += 1;
      const own = waits.begun;
      while (waits.over < own) await scheduler.wait(1);
    });
    for (const name of ["a", "b", "c"]) await early(name);
    expect([puts, waits.begun]).toEqual([1, 1]);
    waits.over = 1;
    await untilPasses(() => expect(puts).toBe(2));
    clock.advance(5_000);
    await early("d");
    expect([puts, waits.begun]).toEqual([3, 1]);
  });
});

describe("the memory of what was shown", () => {
  const named = (name: string) => ({ id: id(name), takenInMs: NOON });
  const names = (parts: readonly { id: string }[]) =>
    parts.map((each) => Buffer.from(each.id, "hex").toString().trim());

  /** Of parts that the log has. */
  const turns = (shown: ShownParts, ids: readonly string[], nowMs: number) => {
    const byId = shown.counted(ids.map(id), nowMs);
    return ids.map((each) => byId.get(id(each)));
  };

  it("takes nothing more when it is full, and forgets nothing for that", () => {
    const shown = new ShownParts(2);
    expect(names(shown.takeEarly([named("a"), named("b"), named("c")], NOON))).toEqual(["a", "b"]);
    expect(turns(shown, ["a"], NOON)).toEqual([NOON]);
    expect(names(shown.takeEarly([named("d")], NOON + 30_000))).toEqual([]);
    expect(names(shown.takeEarly([{ ...named("d"), takenInMs: NOON + 30_001 }], NOON + 30_001))).toEqual(["d"]);
    expect(turns(shown, ["b"], NOON + 30_001)).toEqual([NOON]);
  });

  it("shows nothing early while the log has more than it can note", () => {
    const shown = new ShownParts(1);
    expect(turns(shown, ["a", "b"], NOON)).toEqual([0, 0]);
    // Of `b` it would not know.
    expect(names(shown.takeEarly([named("b")], NOON + 19_999))).toEqual([]);
  });

  it("has turns that all differ, whatever the clock says", () => {
    const shown = new ShownParts();
    const all = [NOON, NOON, NOON - 5_000, NOON + 1, NOON + 1].map((nowMs) => shown.next(nowMs));
    expect(all).toEqual([0, 1, 2, 3, 4].map((n) => NOON + n));
  });

  it.each([undefined, null, 7, {}, { ids: new Uint8Array(16), turns: [1], countedMs: [1] }])(
    "is empty where something else is stored (%#)",
    (value) => {
      expect(ShownParts.read(value).stored.turns.length).toBe(0);
    },
  );
});
