/** A sender whose times are in seconds: what becomes of its events, and who is told. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type InSeconds, withInSeconds } from "../../../src/ship/log/account-status.ts";
import type { CountedPart } from "../../../src/ship/log/counted.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import { type Minted, Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, redeliver, setClock, settle } from "../../support/runtime/pipeline.ts";
import { lookAnew } from "../alerts/fresh.ts";
import { searchFor } from "../search/searched.ts";
import { kindsOf, status } from "./support.ts";

lookAnew();
beforeEach(() => void vi.spyOn(console, "warn").mockImplementation(() => {}));
afterEach(() => void vi.restoreAllMocks());

const DAY_MS = 86_400_000;
const SECONDS = NOON / 1_000;

/** Events of a function at this time. */
const come = (name: string, count: number, EventTimestampMs: number, scriptName = "shop"): Minted[] =>
  new Oracle({ at: NOON, name })
    .mint(count, { scriptName })
    .map((minted) => ({ ...minted, event: { ...minted.event, EventTimestampMs } }));

describe("events whose time can only be in seconds", () => {
  it("are shipped as they were sent, and their source is named in status for a day", async () => {
    const clock = setClock(NOON);
    const bucket = freshBucket();
    const job = await createJob(bucket.name);
    await deliver(pack(come("right", 5, NOON, "till"), NOON, { source: "http:right" }));
    expect(await kindsOf()).toEqual([]);
    const odd = pack(come("odd", 3, SECONDS), NOON, { source: "http:ci" });
    await deliver([...odd, ...pack(come("mixed", 2, SECONDS), NOON, { source: "rpc" })]);
    // A copy is not counted again.
    await redeliver(odd);
    clock.advance(60_000);
    expect((await status()).findings).toMatchObject([
      {
        ...{ kind: "times_in_seconds", severity: "warning", subject: { type: "account" } },
        affected: { count: 5, what: "events" },
        summary: expect.stringContaining('They came from "http:ci", "rpc".'),
      },
    ]);
    // It is not taken for silent.
    const functions = await api<{ last_event: string }[]>("GET", "/functions/scripts");
    const last = functions.body.result.map(({ last_event }) => last_event);
    expect(last).toEqual(Array(2).fill(new Date(NOON).toISOString()));

    await settle(job, clock);
    const objects = (await bucket.control.contents()).filter(({ key }) => key.startsWith("logs/1970"));
    expect(objects).toMatchObject([{ key: expect.stringMatching(/^logs\/19700217\/19700217T/) }]);
    const member = readSingleMember((objects[0] as { bytes: Uint8Array }).bytes);
    const text = member.ok ? new TextDecoder().decode(member.raw) : member.reason;
    const times = [...text.matchAll(/"EventTimestampMs":(\d+)/g)].map(([, time]) => Number(time));
    expect(times).toEqual(Array(5).fill(SECONDS));

    const { hits } = await searchFor({ since: "1970-01-01T00:00:00Z", until: "1971-01-01T00:00:00Z" });
    expect(hits.map(({ record }) => record.EventTimestampMs)).toEqual(times);

    clock.advance(DAY_MS - 120_000);
    expect(await kindsOf()).toContain("times_in_seconds");
    clock.advance(DAY_MS);
    expect(await kindsOf()).not.toContain("times_in_seconds");
  });
});

describe("the sources of such events", () => {
  const part = (source: string, inSeconds?: number) =>
    ({ source, ...(inSeconds && { inSeconds }) }) as unknown as CountedPart;
  const add = (stored: string, parts: readonly CountedPart[], nowMs: number): InSeconds[] =>
    JSON.parse(withInSeconds(stored, parts, nowMs));

  it("are added up, and begin anew after a day without one", () => {
    const first = add("[]", [part("rpc", 2), part("http:ci", 1), part("rpc", 3), part("tail")], NOON);
    expect(first).toEqual([
      { source: "rpc", events: 5, lastMs: NOON },
      { source: "http:ci", events: 1, lastMs: NOON },
    ]);
    expect(add(JSON.stringify(first), [part("rpc", 1)], NOON + DAY_MS)).toMatchObject([{ events: 6 }, { events: 1 }]);
    expect(add(JSON.stringify(first), [part("rpc", 1)], NOON + DAY_MS + 1)).toEqual([
      { source: "rpc", events: 1, lastMs: NOON + DAY_MS + 1 },
    ]);
  });

  it("are twenty at most: a later one takes the place of none, and is counted with the others", () => {
    const many = Array.from({ length: 500 }, (_, n) => part(`http:made-up-${n}`, 1));
    const all = add("[]", [part("http:ci", 7), ...many, part("http:ci", 1)], NOON);
    expect(all).toHaveLength(21);
    expect([all[0], all.at(-1)]).toEqual([
      { source: "http:ci", events: 8, lastMs: NOON },
      { source: "", events: 481, lastMs: NOON },
    ]);
  });
});
