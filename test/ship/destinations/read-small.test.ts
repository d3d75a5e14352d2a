import { describe, expect, it } from "vitest";
import { readSmall } from "../../../src/ship/destinations/read-small.ts";
import { bodyOf } from "./objects.ts";

const BOUNDS = { maxBytes: 10, ms: 1_000 };

/** A store that sends these pieces; `then` says how it ends. */
function store(pieces: readonly Uint8Array[], then: "end" | "hang" | "break" = "end") {
  const { body, seen } = bodyOf(pieces, then);
  return { seen, read: async () => ({ ok: true as const, body, bytes: null, sha256: null }) };
}

describe("a small object", () => {
  it("is read whole, up to the last byte that it may have", async () => {
    const pieces = [new Uint8Array([1, 2, 3]), new Uint8Array(), new Uint8Array([4, 5, 6, 7, 8, 9, 10])];
    const read = await readSmall(store(pieces), "key", BOUNDS);
    expect(read).toEqual({ ok: true, bytes: new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), sha256: null });
    expect(await readSmall(store([]), "key", BOUNDS)).toEqual({ ok: true, bytes: new Uint8Array(), sha256: null });
  });

  it("is let go when it is larger, however much would still come", async () => {
    const endless = store(Array.from({ length: 1_000 }, () => new Uint8Array(6)));
    expect(await readSmall(endless, "key", BOUNDS)).toEqual({ ok: false, why: "too large" });
    expect(endless.seen).toEqual({ cancelled: 1, pulled: 2 });
  });

  it("is let go when it does not come in time: neither its answer nor its body is waited for any longer", async () => {
    const hanging = store([new Uint8Array(1)], "hang");
    expect(await readSmall(hanging, "key", { maxBytes: 10, ms: 5 })).toEqual({ ok: false, why: "late" });
    expect(hanging.seen.cancelled).toBe(1);
    const silent = { read: () => new Promise<never>(() => {}) };
    expect(await readSmall(silent, "key", { maxBytes: 10, ms: 5 })).toEqual({ ok: false, why: "late" });
  });

  it("that breaks off, or is refused, is none", async () => {
    expect(await readSmall(store([new Uint8Array(1)], "break"), "key", BOUNDS)).toEqual({
      ok: false,
      why: "broken off",
    });
    const answer = { ok: false, why: "forbidden", words: "HTTP 403", retryAfterS: null, cause: 403 } as const;
    expect(await readSmall({ read: async () => answer }, "key", BOUNDS)).toEqual({
      ok: false,
      why: "refused",
      answer,
    });
    const failing = { read: () => Promise.reject(new Error("no")) };
    expect(await readSmall(failing, "key", BOUNDS)).toEqual({ ok: false, why: "broken off" });
  });
});
