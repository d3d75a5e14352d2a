import { beforeEach, describe, expect, it, vi } from "vitest";
import { type AddedBlock, showLive } from "../../../src/ship/log/show-live.ts";
import { id } from "../consumer/scripted.ts";

let warned: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warned = vi.spyOn(console, "warn").mockImplementation(() => {});
});

const shown = (added: (block: AddedBlock) => Promise<void>): Promise<void> =>
  showLive({ LIVE: { getByName: () => ({ added }) } } as never, { shard: 1, n: 7, ids: [id(1)] });

describe("the way from a shard to live viewers", () => {
  it("has the block's place, and the ids of its parts", async () => {
    const added = vi.fn(async () => {});
    await shown(added);
    expect(added.mock.calls).toEqual([[{ shard: 1, n: 7, ids: [id(1)] }]]);
    expect(warned).not.toHaveBeenCalled();
  });

  it("takes two seconds at most", async () => {
    vi.useFakeTimers();
    try {
      const told = shown(() => new Promise(() => {}));
      await vi.advanceTimersByTimeAsync(2_000);
      await told;
    } finally {
      vi.useRealTimers();
    }
    expect(warned.mock.calls).toEqual([[{ message: "records are late for live viewers" }]]);
  });

  it("may be broken, of which nothing is logged but the kind of error", async () => {
    await shown(() => Promise.reject(new TypeError("secret text")));
    await shown(() => {
      throw new RangeError("secret text");
    });
    const message = "records could not be shown as they arrived";
    expect(warned.mock.calls).toEqual([[{ message, error: "TypeError" }], [{ message, error: "RangeError" }]]);
  });
});
