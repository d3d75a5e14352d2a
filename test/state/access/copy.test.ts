/** The copy of a shard, and what may happen while one is on its way. */
import { describe, expect, it } from "vitest";
import { ACCESS_COPY_MS } from "../../../src/base/limits.ts";
import type { CopiedSecret, Identified, Known, Proof } from "../../../src/state/access/proofs.ts";
import { Copied, type Source } from "../../../src/state/access/replica.ts";
import { NOON } from "../../formats/record/samples.ts";

const HASH = new Uint8Array(32).fill(1);
const PROOF: Proof = { kind: "token", hash: HASH };

const KNOWN: Known = { kind: "token", id: "1", name: "ci", permissions: ["logs:read"], expiresMs: null };
const secret: CopiedSecret = { hash: HASH, emailKey: null, known: KNOWN, checkedBy: "k" };

/** A register whose copies arrive when the test lets them. */
class ScriptedRegister implements Source {
  secrets: CopiedSecret[] = [secret];
  changing = false;
  asked = 0;
  direct = 0;
  nowMs = NOON;
  readonly copied = new Copied(this, () => this.nowMs);
  readonly #held: (() => void)[] = [];
  holds = false;

  async copy(): Promise<CopiedSecret[] | null> {
    this.asked += 1;
    const answer = this.changing ? null : [...this.secrets];
    if (this.holds) await new Promise<void>((resolve) => this.#held.push(resolve));
    return answer;
  }

  async identify(): Promise<Identified> {
    this.direct += 1;
    return { known: this.secrets[0]?.known ?? null };
  }

  arrive(): void {
    for (const resolve of this.#held.splice(0)) resolve();
  }

  ask = (proof: Proof = PROOF, keys?: string[]): Promise<Identified> => this.copied.identify(proof, keys);
}

describe("a shard's copy", () => {
  it("is asked for once, by all that wait for it, and again after a minute", async () => {
    const register = new ScriptedRegister();
    await Promise.all([register.ask(), register.ask(), register.ask()]);
    register.nowMs += ACCESS_COPY_MS - 1;
    expect((await register.ask()).known).toEqual(KNOWN);
    expect(register.asked).toBe(1);
    register.nowMs += 1;
    await register.ask();
    expect([register.asked, register.direct]).toEqual([2, 0]);
  });

  it("knows each secret as what it was issued for, until it expires", async () => {
    const register = new ScriptedRegister();
    const ada: CopiedSecret = { ...secret, emailKey: "ada@example.com", known: { ...KNOWN, kind: "member", id: "2" } };
    register.secrets = [{ ...secret, known: { ...KNOWN, expiresMs: NOON + 10 } }, ada];
    const key = (email: string): Proof => ({ kind: "key", email, hash: HASH });
    const idOf = async (proof: Proof) => (await register.ask(proof)).known?.id;
    expect([await idOf(PROOF), await idOf(key("ADA@example.com")), await idOf(key("bob@example.com"))]).toEqual([
      "1",
      "2",
      undefined,
    ]);
    const near = HASH.slice();
    near[31] = 0;
    expect(await idOf({ kind: "token", hash: near })).toBeUndefined();
    register.nowMs += 10;
    expect([await idOf(PROOF), await idOf(key("ada@example.com"))]).toEqual([undefined, "2"]);
  });

  it("tells whether any good secret is not proven by the keys", async () => {
    const register = new ScriptedRegister();
    const old = { ...secret, known: { ...KNOWN, expiresMs: NOON + 10 }, checkedBy: null };
    register.secrets = [secret, old];
    const doubtful = async (...keys: string[]) => (await register.ask(PROOF, keys)).doubtful;
    expect([await doubtful("k"), await doubtful("other"), (await register.ask()).doubtful]).toEqual([
      true,
      true,
      undefined,
    ]);
    register.nowMs += 10;
    expect([await doubtful("other", "k"), await doubtful("other")]).toEqual([false, true]);
  });

  it("is not kept if access is changed while it is on its way: (1) asked, (2) answered, (3) dropped, (4) changed, (5) arrived", async () => {
    const register = new ScriptedRegister();
    register.holds = true;
    const before = register.ask();
    register.copied.drop();
    register.secrets = [];
    // A question after the change does not wait for the copy from before it.
    const after = register.ask();
    register.arrive();
    expect([(await before).known, (await after).known]).toEqual([null, null]);
    expect(register.asked).toBe(2);
    register.holds = false;
    expect((await register.ask()).known).toBeNull();
  });

  it("is not handed out while access is being changed: the register answers each question itself", async () => {
    const register = new ScriptedRegister();
    register.changing = true;
    expect((await register.ask()).known).toEqual(KNOWN);
    register.secrets = [];
    expect((await register.ask()).known).toBeNull();
    register.changing = false;
    await register.ask();
    expect([register.asked, register.direct]).toEqual([3, 2]);
  });

  it("that could not be had is asked for by the next question", async () => {
    const register = new ScriptedRegister();
    const copy = register.copy.bind(register);
    register.copy = () => Promise.reject(new Error("the register is down"));
    await expect(register.ask()).rejects.toThrow("down");
    register.copy = copy;
    expect((await register.ask()).known).toEqual(KNOWN);
  });
});
