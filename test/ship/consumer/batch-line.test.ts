/** The log line of a batch. */
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { consumeDead, consumeEvents } from "../../../src/ship/consumer/consume.ts";
import { deliver, job, one, record, type World, world } from "./scripted.ts";

type Line = Record<string, unknown>;

let infos: MockInstance;
let errors: MockInstance;
beforeEach(() => {
  infos = vi.spyOn(console, "info").mockImplementation(() => {});
  errors = vi.spyOn(console, "error").mockImplementation(() => {});
});

const UUID = /^[0-9a-f-]{36}$/;

async function lineOf(bodies: readonly unknown[], it_: World): Promise<Line> {
  infos.mockClear();
  await consumeEvents(deliver(bodies).batch, it_);
  const [[line] = [], ...more] = infos.mock.calls;
  expect(more).toEqual([]);
  return line as Line;
}

const three = one(2, { records: [record("a"), record("b"), record("c")] });

describe("the line of a batch", () => {
  it("counts messages, events, jobs and time", async () => {
    const it_ = world([job(1), job(2), job(3, { windows: [] })]);
    const append = it_.append.bind(it_);
    it_.append = (...args) => {
      it_.nowMs += 250;
      return append(...args);
    };
    expect(await lineOf([one(1), three], it_)).toEqual({
      message: "batch",
      batch_id: expect.stringMatching(UUID),
      queue: "logship-events",
      messages: 2,
      events: 4,
      acknowledged: 2,
      retried: 0,
      set_aside: 0,
      jobs: 2,
      ms: 250,
    });
  });

  it("tells what was acknowledged from what is set aside, and from what comes again", async () => {
    const it_ = world([job(1)]);
    it_.holdFails = (n) => n === 2;
    expect(await lineOf([one(1), "no message", three, "nor this", "nor that"], it_)).toMatchObject({
      messages: 5,
      events: 4,
      acknowledged: 2,
      retried: 1,
      set_aside: 2,
      jobs: 1,
    });
  });

  it("counts nothing as done that the log did not take, and names the batch in the line that says so", async () => {
    const it_ = world([job(1), job(2)]);
    it_.script = ["fail"];
    const line = await lineOf([one(1), three], it_);
    expect(line).toMatchObject({ messages: 2, events: 0, acknowledged: 0, retried: 2, jobs: 0 });
    expect(errors.mock.calls).toEqual([
      [{ message: "an append failed", batch_id: line.batch_id, shard: 0, error: "Error: log 0 does not answer" }],
    ]);
  });

  it("counts an event once, however often it comes", async () => {
    const it_ = world([job(1)]);
    it_.script = ["lost"];
    const [lost, again] = [await lineOf([one(1)], it_), await lineOf([one(1), three, three], it_)];
    expect([lost, again]).toMatchObject([
      { events: 0, retried: 1 },
      { events: 3, acknowledged: 3 },
    ]);
    expect(again.batch_id).not.toBe(lost.batch_id);
  });

  it("is written though the handler fails", async () => {
    const it_ = world([job(1)]);
    it_.jobs = () => Promise.reject(new Error("no answer"));
    const { batch } = deliver([one(1)]);
    await expect(consumeEvents(batch, it_)).rejects.toThrow("no answer");
    expect(infos.mock.calls).toMatchObject([[{ message: "batch", messages: 1, acknowledged: 0, retried: 0 }]]);
  });

  it("tells of dead letters, too", async () => {
    const it_ = world([job(1)]);
    it_.holdFails = (n) => n === 1;
    await consumeDead(deliver([one(1), one(2)], { queue: "logship-events-dead" }).batch, it_);
    expect(infos.mock.calls).toMatchObject([
      [{ message: "batch", queue: "logship-events-dead", messages: 2, retried: 1, set_aside: 1, acknowledged: 0 }],
    ]);
    expect(errors.mock.calls).toMatchObject([
      [{ message: "setting a message aside failed", batch_id: infos.mock.calls[0]?.[0]?.batch_id }],
    ]);
  });
});
