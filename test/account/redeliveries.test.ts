import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AccountLedger, accountLedger, type Outcome } from "../../src/account/ledger.ts";
import type { PackedMessage } from "../../src/intake/packing.ts";
import { blobStore } from "../../src/queue/blob-store.ts";
import { splitMessage } from "../../src/queue/message.ts";
import { recordLine } from "../../src/record/encode.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { traceRecord } from "../record/samples.ts";
import { encodeMessage } from "../support/message-v1.ts";
import { createJob } from "../support/runtime/api.ts";
import { freshBucket, NOON, redeliver, setClock } from "../support/runtime/pipeline.ts";

const ledger = () => accountLedger(env.ACCOUNT);
const taken = (n: number, fields: Partial<TakenId> = {}): TakenId => ({
  ...{ id: n.toString(16).padStart(32, "0"), takenInMs: NOON + n, keyed: false },
  ...fields,
});

const outcome = (done: readonly TakenId[], failed: readonly TakenId[] = []): Outcome => ({
  done: done.map((each) => ({ ...each, events: 1, routed: 1, notEnabled: 0, notRouted: 0, functions: [] })),
  failed,
  backlog: null,
  state: "other.1",
});

/** Sets a message aside whose header has another id than the one it is remembered by. */
const setAside = (as: TakenId, noted?: TakenId) =>
  ledger().setAside({
    ...{ taken: as, queue: "q", why: "fails its checksum", events: 1, message: new ArrayBuffer(1) },
    ...(noted !== undefined && { noted }),
  });

beforeEach(() => {
  setClock(NOON);
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("what the ledger knows to come again", () => {
  it("is forgotten when it is counted", async () => {
    await ledger().count(outcome([], [taken(1), taken(2)]));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 1);
    await ledger().count(outcome([taken(1)]));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 2);
  });

  it.each([false, true])("is not what is counted by now: who says so was late, keyed: %s", async (keyed) => {
    const one = taken(1, { keyed });
    await ledger().count(outcome([one]));
    // Both calls timed out long ago; the message came again, and was counted.
    await ledger().count(outcome([], [one]));
    await ledger().expectAgain([one]);
    expect(await ledger().oldestUnfinishedMs()).toBeNull();
    expect((await ledger().status()).counts.processed).toBe(1);
    expect((await ledger().status()).storedBytes).toBeGreaterThan(4_096);
  });

  it("is not what was set aside by now", async () => {
    await setAside(taken(1));
    await ledger().count(outcome([], [taken(1)]));
    expect((await ledger().status()).oldestUnfinishedMs).toBeNull();
  });

  it("is forgotten when it is set aside under another id, as nobody can read it", async () => {
    await ledger().expectAgain([taken(1), taken(2)]);
    await setAside(taken(9), taken(1));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 2);
  });

  it("is not forgotten for somebody else who merely says that he is it", async () => {
    await ledger().expectAgain([taken(1)]);
    await setAside(taken(9), taken(1, { takenInMs: NOON + 5 }));
    expect(await ledger().oldestUnfinishedMs()).toBe(NOON + 1);
  });

  it("holds nothing up for an old message that cannot be read: it is noted as it comes, and that is taken back", async () => {
    const clock = setClock(NOON);
    await createJob(freshBucket().name);
    clock.advance(100_000);
    const raw = new TextEncoder().encode(`${recordLine(traceRecord())}\n`);
    const [bad, good] = [taken(1), taken(2)];
    const whole = (each: TakenId): PackedMessage => ({
      ...{ ...each, records: 1, blob: null },
      body: encodeMessage({ ...each, records: 1 }, raw),
    });
    const cut = { ...whole(bad), body: whole(bad).body.slice(0, -1) };
    const noted = vi.spyOn(AccountLedger.prototype, "expectAgain");
    expect(await redeliver([cut, whole(good)], 1)).toMatchObject({ acked: [bad.id, good.id], retried: [] });
    expect(noted.mock.calls.map(([messages]) => messages)).toMatchObject([[bad, good]]);
    expect((await ledger().status()).counts).toMatchObject({ processed: 2, set_aside: 1 });
    expect((await ledger().status()).oldestUnfinishedMs).toBeNull();
  });

  it("holds nothing up for a large event whose records could not be loaded, and then not be read", async () => {
    await createJob(freshBucket().name);
    const raw = new TextEncoder().encode(`${recordLine(traceRecord())}\n`);
    const one = taken(0xabc);
    const { reference, key, body } = splitMessage(encodeMessage({ ...one, records: 1 }, raw));
    const message: PackedMessage = { ...one, records: 1, body: reference, blob: null };
    const get = vi.spyOn(env.BLOBS, "getByName").mockImplementation(() => {
      throw new Error("out of reach");
    });
    expect(await redeliver([message], 1)).toMatchObject({ acked: [], retried: [one.id] });
    expect(await ledger().oldestUnfinishedMs()).toBe(one.takenInMs);
    get.mockRestore();
    const broken = body.slice();
    broken[3] = (broken[3] as number) ^ 0xff;
    await blobStore(env.BLOBS).put(key, broken);
    expect(await redeliver([message], 2)).toMatchObject({ acked: [one.id], retried: [] });
    expect((await ledger().status()).counts).toMatchObject({ processed: 1, set_aside: 1 });
    expect((await ledger().status()).oldestUnfinishedMs).toBeNull();
  });
});
