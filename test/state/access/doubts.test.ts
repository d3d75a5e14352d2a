import { describe, expect, it } from "vitest";
import { DOUBTS_NONE_MS, DOUBTS_PER_S, SENDERS_MAX } from "../../../src/base/limits.ts";
import { Doubts } from "../../../src/state/access/doubts.ts";
import { NOON } from "../../formats/record/samples.ts";

const KEYS = ["current", "previous"];

/** The verdicts on invented secrets, one after the other. */
function flood(doubts: Doubts, count: number, nowMs: number): string[] {
  return Array.from({ length: count }, (_, n) => doubts.judge(`invented ${n}`, KEYS, nowMs));
}

describe("secrets without a check part of ours", () => {
  it("are refused without a question for ten seconds after the register said that none are good", () => {
    const doubts = new Doubts();
    expect(doubts.judge("x", KEYS, NOON)).toBe("ask");
    doubts.learn("x", KEYS, false, false, NOON);
    expect(new Set(flood(doubts, 1_000, NOON + DOUBTS_NONE_MS - 1))).toEqual(new Set(["refuse"]));
    expect(doubts.judge("x", KEYS, NOON + DOUBTS_NONE_MS)).toBe("ask");
    // A clock that was set back does not make it last.
    doubts.learn("x", KEYS, false, false, NOON);
    expect(doubts.judge("x", KEYS, NOON - DOUBTS_NONE_MS)).toBe("ask");
  });

  it("are asked about under other keys, whatever was said of the former", () => {
    const doubts = new Doubts();
    doubts.learn("x", KEYS, false, false, NOON);
    expect([doubts.judge("x", ["next", "current"], NOON), doubts.judge("x", KEYS, NOON)]).toEqual(["ask", "refuse"]);
  });

  it("are asked about so many times a second where there are good ones, and are otherwise left open", () => {
    const doubts = new Doubts();
    const expected = [...Array(DOUBTS_PER_S).fill("ask"), "later", "later"];
    for (const second of [0, 1]) expect(flood(doubts, DOUBTS_PER_S + 2, NOON + second * 1_000)).toEqual(expected);
  });

  it("that were found good are asked about in any flood, until they are revoked", () => {
    const doubts = new Doubts();
    doubts.learn("good", KEYS, true, true, NOON);
    flood(doubts, 100, NOON);
    expect(doubts.judge("good", KEYS, NOON)).toBe("ask");
    doubts.learn("good", KEYS, false, true, NOON);
    expect(doubts.judge("good", KEYS, NOON)).toBe("later");
  });

  it("that were found good are remembered up to a number; the one seen longest ago goes first", () => {
    const doubts = new Doubts();
    for (let n = 0; n <= SENDERS_MAX; n++) doubts.learn(`good ${n}`, KEYS, true, true, NOON);
    flood(doubts, DOUBTS_PER_S, NOON);
    expect(["good 0", "good 1"].map((each) => doubts.judge(each, KEYS, NOON))).toEqual(["later", "ask"]);
  });
});
