/** What is looked at of an object, even of one that a stranger wrote. */

import { expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { part } from "../../../src/formats/query/meaning.ts";
import { scan } from "../../../src/operate/search/scan.ts";

const query = compileQuery({ all: [part("needle")], sinceMs: 0, untilMs: 1e15 });
const RECORD = '{"EventTimestampMs":1,"Logs":["needle"]}';

async function* piecesOf(text: string): AsyncGenerator<Uint8Array, void, void> {
  const bytes = encodeUtf8(text);
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const nested = (open: string, within: string, close: string, levels: number): string =>
  open.repeat(levels) + within + close.repeat(levels);

/** Twelve MB that hold the word. */
const HOSTILE: Readonly<Record<string, string>> = {
  "lists in one another": nested("[", '"needle"', "]", 6_000_000),
  "lists that do not end": nested("[", '"needle"', "", 12_000_000),
  "objects in one another": nested('{"a":', '"needle"', "}", 2_000_000),
  "lists in a record": `{"EventTimestampMs":1,"Event":${nested("[", '"needle"', "]", 6_000_000)}}`,
  "a few levels too many": nested('{"a":', '"needle"', "}", 201),
  "no JSON at all": "needle".repeat(2_000_000),
};

it.each(Object.entries(HOSTILE))("%s that hold the word are no hit, and counted", async (_what, line) => {
  const found: number[] = [];
  const scanned = await scan(piecesOf(`${RECORD}\n${line}\n${RECORD}\n`), query, (match) => found.push(match.line));
  expect([scanned, found]).toMatchObject([{ records: 3, unreadable: 1 }, [1, 3]]);
});

it("a record of as many levels as intake takes is a hit", async () => {
  const line = `{"EventTimestampMs":1,"Event":${nested('{"a":', '"needle"', "}", 100)}}`;
  const found: number[] = [];
  await scan(piecesOf(line), query, (match) => found.push(match.line));
  expect(found).toEqual([1]);
});
