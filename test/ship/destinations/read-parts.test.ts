/** Parts of objects: of the one that was delivered, or of none. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ByteRange, OpenDestination, ReadAnswer } from "../../../src/ship/destinations/destination.ts";
import { openParts, READ_PATIENCE, ReadFault } from "../../../src/ship/destinations/read-object.ts";
import { bodyOf } from "./objects.ts";

afterEach(() => {
  vi.useRealTimers();
});

const FILE = crypto.getRandomValues(new Uint8Array(65_536));
const OBJECT = { key: "k.parquet", bytes: 600_000, rawBytes: 1, mark: "0123456789abcdef" };
const SHA256 = OBJECT.mark.padEnd(64, "0");

type Store = Pick<OpenDestination, "read">;
type Refusal = Extract<ReadAnswer, { ok: false }>;

const refusal = (why: Refusal["why"], status: number): Refusal => ({
  ...{ ok: false, why, words: `HTTP ${status}`, retryAfterS: null, cause: status },
});

/** What the store says to each request, in order; the last one goes on. */
function storeOf(...answers: ((range: ByteRange) => ReadAnswer | Promise<ReadAnswer>)[]) {
  const asked: (ByteRange | undefined)[] = [];
  const store: Store = {
    read: async (_key, range) => {
      const says = answers[Math.min(asked.length, answers.length - 1)];
      asked.push(range);
      return (says as (typeof answers)[number])(range as ByteRange);
    },
  };
  return { store, asked };
}

const given =
  (change: { sha256?: string | null; bytes?: number; end?: "hang" | "break" } = {}) =>
  ({ from, bytes }: ByteRange): ReadAnswer => {
    const length = change.bytes ?? bytes;
    const part = FILE.slice(from % 1_000, (from % 1_000) + length);
    const { body } = bodyOf([part.slice(0, 10), part.slice(10)], change.end);
    return { ok: true, body, bytes: length, sha256: change.sha256 === undefined ? SHA256 : change.sha256 };
  };

const part = given();

const open = (store: Store, object = OBJECT, room = { requests: 1_000 }, told: (bytes: number) => void = () => {}) =>
  openParts(store, object, told, room);

async function faultOf(run: () => Promise<unknown>): Promise<string> {
  const error = await run().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ReadFault)) throw new Error(`no fault: ${error}`);
  return error.kind;
}

describe("parts of an object", () => {
  it("are those that are asked for, and counted", async () => {
    const { store, asked } = storeOf(part);
    const room = { requests: 1_000 };
    let bytes = 0;
    const parts = await open(store, OBJECT, room, (some) => {
      bytes += some;
    });
    expect(parts?.first).toEqual(FILE.slice(0, 4_096));
    expect(await parts?.read(5_007, 5_107)).toEqual(FILE.slice(7, 107));
    expect(asked).toEqual([
      { from: 0, bytes: 4_096 },
      { from: 5_007, bytes: 100 },
    ]);
    expect([bytes, room.requests]).toEqual([4_196, 998]);
  });

  it.each<[string, ReturnType<typeof given> | (() => Refusal)]>([
    ["shows no checksum", given({ sha256: null })],
    ["has another object", given({ sha256: "f".repeat(64) })],
    ["gives all of it", given({ bytes: 8_192 })],
    ["gives less", given({ bytes: 4_095 })],
    ["refuses the range", () => refusal("refused", 416)],
  ])("are not read where the store %s", async (_what, says) => {
    const { store, asked } = storeOf(says);
    expect([await open(store), asked.length]).toEqual([null, 1]);
  });

  it.each([
    ["small", { ...OBJECT, bytes: 499_999 }, 1_000],
    ["not known by its checksum", { ...OBJECT, mark: "" }, 1_000],
    ["no Parquet", { ...OBJECT, key: "k.log.gz" }, 1_000],
    ["one too many", OBJECT, 99],
  ])("are not read of an object that is %s", async (_what, object, requests) => {
    const { store, asked } = storeOf(part);
    expect([await open(store, object, { requests }), asked.length]).toEqual([null, 0]);
  });

  it.each<[string, Parameters<typeof storeOf>[0], string]>([
    ["is another object's", given({ sha256: "f".repeat(64) }), "damaged"],
    ["is of an object without a checksum", given({ sha256: null }), "damaged"],
    ["is longer", given({ bytes: 101 }), "damaged"],
    ["is shorter", given({ bytes: 99 }), "damaged"],
    ["is not there", () => refusal("refused", 416), "damaged"],
    ["breaks off", given({ end: "break" }), "silent"],
    ["fails", () => Promise.reject(new Error("no")), "silent"],
    ["is of an object that is gone", () => refusal("gone", 404), "gone"],
    ["may not be read any more", () => refusal("forbidden", 403), "forbidden"],
    ["does not come now", () => refusal("busy", 503), "silent"],
  ])("end with a fault where a later one %s", async (_what, says, kind) => {
    const { store } = storeOf(part, says);
    const parts = await open(store);
    expect(await faultOf(async () => parts?.read(0, 100))).toBe(kind);
  });

  it.each([
    ["gone", 404],
    ["forbidden", 403],
  ] as const)("of an object that is %s are a fault at once", async (why, status) => {
    expect(await faultOf(() => open(storeOf(() => refusal(why, status)).store))).toBe(why);
  });

  it("are not waited for any longer than a part may take", async () => {
    vi.useFakeTimers();
    const fault = faultOf(() => open(storeOf(given({ end: "hang" })).store));
    await vi.advanceTimersByTimeAsync(READ_PATIENCE.partMs + 1);
    expect(await fault).toBe("silent");
  });
});
