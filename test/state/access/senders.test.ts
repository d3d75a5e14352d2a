import { describe, expect, it } from "vitest";
import { SENDER_MEMORY_MS, SENDERS_MAX } from "../../../src/base/limits.ts";
import type { Known, Proof } from "../../../src/state/access/proofs.ts";
import type { Permission } from "../../../src/state/access/roles.ts";
import { Senders } from "../../../src/state/access/senders.ts";
import { NOON } from "../../formats/record/samples.ts";

const proof = (n: number): Proof => ({ kind: "token", hash: new Uint8Array(32).fill(n % 256, 0, 31).fill(n >> 8, 31) });

function known(permissions: Permission[], expiresMs: number | null = null): Known {
  return { kind: "token", id: "1", name: "ci", permissions, expiresMs };
}

describe("the senders that an isolate has seen", () => {
  it("are remembered for five minutes, and only as senders", () => {
    const senders = new Senders();
    senders.learn(proof(1), known(["access:edit", "events:write", "logs:edit"]), NOON);
    expect(senders.recall(proof(1), NOON + SENDER_MEMORY_MS)).toEqual(known(["events:write"]));
    expect(senders.recall(proof(1), NOON + SENDER_MEMORY_MS + 1)).toBeNull();
    expect(senders.recall(proof(2), NOON)).toBeNull();
  });

  it("are not whoever may do everything else", () => {
    const senders = new Senders();
    senders.learn(proof(1), known(["access:edit", "logs:edit", "logs:read"]), NOON);
    expect(senders.recall(proof(1), NOON)).toBeNull();
  });

  it("are forgotten as soon as it is known that they are none any more", () => {
    for (const now of [null, known(["logs:read"])]) {
      const senders = new Senders();
      senders.learn(proof(1), known(["events:write"]), NOON);
      senders.learn(proof(1), now, NOON + 1);
      expect(senders.recall(proof(1), NOON + 1)).toBeNull();
    }
  });

  it("are not believed beyond the end of their tokens", () => {
    const senders = new Senders();
    senders.learn(proof(1), known(["events:write"], NOON + 1_000), NOON);
    expect(senders.recall(proof(1), NOON + 999)).not.toBeNull();
    expect(senders.recall(proof(1), NOON + 1_000)).toBeNull();
  });

  it("are not believed for ever by a clock that was set back", () => {
    const senders = new Senders();
    senders.learn(proof(1), known(["events:write"]), NOON);
    expect(senders.recall(proof(1), NOON - SENDER_MEMORY_MS - 1)).toBeNull();
  });

  it("are so many at most; the one that was seen longest ago goes first", () => {
    const senders = new Senders();
    for (let n = 0; n < SENDERS_MAX; n++) senders.learn(proof(n), known(["events:write"]), NOON);
    senders.learn(proof(0), known(["events:write"]), NOON);
    senders.learn(proof(SENDERS_MAX), known(["events:write"]), NOON);
    const there = (n: number): boolean => senders.recall(proof(n), NOON) !== null;
    expect([there(0), there(1), there(2), there(SENDERS_MAX)]).toEqual([true, false, true, true]);
  });

  it("are told apart by their addresses as well", () => {
    const senders = new Senders();
    const { hash } = proof(1);
    senders.learn({ kind: "key", email: "ada@example.com", hash }, known(["events:write"]), NOON);
    expect(senders.recall({ kind: "key", email: "bob@example.com", hash }, NOON)).toBeNull();
    expect(senders.recall({ kind: "token", hash }, NOON)).toBeNull();
  });
});
