/** Answers of searches whose clients do not take them. */
import { describe, expect, it } from "vitest";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { answerLines } from "../../../src/operate/search/answer.ts";

const SPAN = { sinceMs: 0, untilMs: 100 };

/** A search of nothing: its answer is three lines. */
function answering(takenMs: number, gone = new AbortController()) {
  let ends = 0;
  const lines = answerLines({
    ...{ listed: { list: [], listedToMs: null, notSearched: [] }, notSearched: [] },
    ...{ span: SPAN, question: "", token: null, lacked: false, count: null, takenMs, gone: gone.signal },
    asked: {
      ...{ query: compileQuery({ all: [], ...SPAN }), order: "newest", cursor: null },
      bounds: { limit: 10, hitUnits: 1e6, rawBytes: 1e6, ms: 1_000, atOnce: 1 },
      platform: { now: () => 0 },
    },
    onEnd: async () => void ends++,
  });
  return { reader: lines.getReader(), gone, ended: () => ends };
}

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe("the answer of a search", () => {
  it("has ended when all of it is taken, and not before", async () => {
    const { reader, ended } = answering(60_000);
    await soon();
    expect(ended()).toBe(0);
    for (let n = 0; n < 3; n++) expect((await reader.read()).done).toBe(false);
    expect((await reader.read()).done).toBe(true);
    expect(ended()).toBe(1);
  });

  it("breaks off, and has ended, where it is not taken in time", async () => {
    const { reader, ended } = answering(20);
    await soon();
    expect(ended()).toBe(1);
    await expect(reader.read()).rejects.toThrow("did not take its answer in time");
  });

  it.each(["cancels its answer", "is gone"])("has ended when its client %s", async (what) => {
    const { reader, gone, ended } = answering(60_000);
    await soon();
    if (what === "is gone") gone.abort();
    else await reader.cancel();
    await soon();
    expect(ended()).toBe(1);
  });

  it("has ended where its client was gone before it", async () => {
    const gone = new AbortController();
    gone.abort();
    const { ended } = answering(60_000, gone);
    await soon();
    expect(ended()).toBe(1);
  });
});
