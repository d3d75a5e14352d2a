import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeUtf8 } from "../../../src/base/bytes.ts";
import { compileQuery } from "../../../src/formats/query/compile-query.ts";
import { readQuery } from "../../../src/formats/query/meaning.ts";
import { parseQuery } from "../../../src/formats/query/parse.ts";
import { wantedIn } from "../../../src/formats/query/prune.ts";
import { HashSet } from "../../../src/formats/sketch/hash-set.ts";
import { fold, hashJson } from "../../../src/formats/sketch/terms.ts";
import { ALL, heldBy } from "../../../src/formats/sketch/wanted.ts";
import { isMeant } from "./meant.ts";
import { ownQuery, picks, queries, records } from "./records.ts";

const SPAN = { sinceMs: 0, untilMs: 1_000 };

function read(query: string) {
  const [parsed, meaning] = [parseQuery(query), readQuery(query)];
  if (!parsed.ok || !meaning.ok) throw new Error(`${query}: ${JSON.stringify([parsed, meaning])}`);
  return {
    term: parsed.term,
    compiled: compileQuery({ all: meaning.question === null ? [] : [meaning.question], ...SPAN }),
  };
}

describe("any query", () => {
  it("finds what it means, and passes over no object and no line that has it", () => {
    const counts = { found: 0, pruned: 0, passedOver: 0 };
    fc.assert(
      fc.property(records, queries, picks, (record, any, picked) => {
        const query = picked.length === 0 ? any : ownQuery(record, picked);
        const { term, compiled } = read(query);
        const line = JSON.stringify(record);
        const shipped = JSON.parse(line);
        const is = term === null || isMeant(term, shipped);
        expect(compiled.matches(shipped), query).toBe(is);
        if (!is) return;
        counts.found += 1;
        if (compiled.foldedPart !== "") counts.passedOver += 1;
        expect(fold(line)).toContain(compiled.foldedPart);
        const words = new HashSet();
        hashJson(encodeUtf8(line), words);
        const held = new Set(words.all());
        const wanted = wantedIn(compiled.needed);
        if (wanted !== null) counts.pruned += 1;
        expect(wanted === null || heldBy(wanted, (hash) => (held.has(hash) ? ALL : 0n)) === ALL, query).toBe(true);
      }),
      { numRuns: 8_000 },
    );
    for (const [name, count] of Object.entries(counts)) expect(count, name).toBeGreaterThan(500);
  });
});
