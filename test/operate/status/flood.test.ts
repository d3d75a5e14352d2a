/** The most that one sender's made-up names do to what is said of others. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { SENT_PLACES_MAX } from "../../../src/base/limits.ts";
import type { PartHead } from "../../../src/ship/log/append-types.ts";
import { HealthTally } from "../../../src/ship/log/heads.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { id } from "../../ship/consumer/scripted.ts";
import { open } from "../../ship/log/shard.ts";
import { createJob } from "../../support/runtime/api.ts";
import { freshBucket, NOON, setClock } from "../../support/runtime/pipeline.ts";
import { lookAnew } from "../alerts/fresh.ts";
import { MINUTE_MS, freshStatus as status } from "./support.ts";

lookAnew();

const SLOT_MS = 5 * MINUTE_MS;
let clock: ReturnType<typeof setClock>;
let parts = 0;

beforeEach(async () => {
  clock = setClock(NOON);
  await createJob(freshBucket().name);
});

/** Invocations of each function, all of which fail, or none. */
async function send(source: string, names: readonly string[], events: number, isFailing = true): Promise<void> {
  const [outcome, failed] = isFailing ? ["exception", events] : ["ok", 0];
  const atMs = clock.nowMs();
  const health = { ...new HealthTally("").sum(), outcomes: [{ outcome, count: events }], failed };
  parts += 1;
  const part: PartHead = {
    ...{ id: id(parts), takenInMs: atMs, keyed: false, bytes: 100, source },
    functions: names.map((scriptName) => ({ scriptName, records: events, lastEventMs: atMs, health })),
  };
  await traceLog(env.TRACE_LOG, 0).append(open([], { parts: [part] }));
}

const madeUp = Array.from({ length: SENT_PLACES_MAX }, (_, n) => `made-up-${n}`);
/** Findings about functions and senders alone: on a busy machine a part may not answer in time. */
const said = async () =>
  (await status()).findings
    .filter(({ kind }) => /^(?:function|sender)/.test(kind))
    .map(({ kind, subject, sender }) => [kind, subject.name, sender]);
const SHOP = ["function_failing", "shop", undefined];
const CROWD = [
  ["functions_not_watched", undefined, undefined],
  ["functions_more", undefined, "http:ci"],
  ["sender_crowds", undefined, "http:ci"],
];

describe("all names that a sender may make up in an hour", () => {
  it.each([
    ["failing", true],
    ["well and busy", false],
  ])("%s, leave what fails said, and are three findings at most", async (_what, isFailing) => {
    await send("tail", ["shop"], 40);
    for (let n = 0; n < 3; n++) await send("http:ci", madeUp, 1_000, isFailing);
    expect(await said()).toEqual([...CROWD.filter(([kind]) => isFailing || kind !== "functions_more"), SHOP]);
    clock.advance(SLOT_MS);
    await send("tail", ["shop"], 40);
    await send("http:ci", ["shop"], 1_000_000, false);
    expect(await said()).toContainEqual(SHOP);
  });

  it("without a word of where it came from, are those of a sender, too", async () => {
    for (let n = 0; n < 14; n++) {
      await send("tail", ["shop"], 40);
      await send("", madeUp, 1_000);
      clock.advance(SLOT_MS);
    }
    const all = await said();
    expect(all).toContainEqual(SHOP);
    expect(all.filter(([, , sender]) => sender === "unknown")).toHaveLength(7);
    expect(all).toHaveLength(9);
  });

  it("are eight findings at most once they have gone on for an hour", async () => {
    for (let n = 0; n < 14; n++) {
      await send("tail", ["shop"], 40);
      await send("http:ci", madeUp, 1_000);
      clock.advance(SLOT_MS);
    }
    const all = await said();
    expect(all).toContainEqual(SHOP);
    expect(all.filter(([, , sender]) => sender === "http:ci")).toHaveLength(7);
    expect(all).toHaveLength(9);
  });
});
