import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFilter } from "../../../src/formats/filter/parse.ts";
import {
  changedTree,
  type FilterNode,
  isGroup,
  mapTree,
  placed,
  readTree,
  readValue,
  shownValue,
  writeTree,
} from "../../../src/web/dashboard/pages/shipping/filter-tree.ts";
import { escaped, plain, quoted, unescaped, unquoted } from "../../../src/web/dashboard/pages/shipping/text.ts";
import { nested } from "../../formats/filter/support.ts";
import { hostile, validFilter } from "./bodies.ts";

function treeOf(text: string): FilterNode | null {
  const tree = readTree(text);
  if (!tree.ok) throw new Error(`not for the builder: ${text}`);
  return tree.root;
}

const conditionsOf = (node: FilterNode): number =>
  isGroup(node) ? node.nodes.reduce((sum, each) => sum + conditionsOf(each), 0) : 1;

describe("texts in fields", () => {
  it("come back as they were, from one line in which everything is seen", () => {
    fc.assert(
      fc.property(fc.oneof(hostile, fc.string({ unit: "binary" })), (text) => {
        expect(unescaped(escaped(text))).toBe(text);
        expect(unquoted(plain(text))).toBe(text);
        expect(unquoted(quoted(text))).toBe(text);
        for (const shown of [escaped(text), plain(text), quoted(text)]) {
          expect(shown.isWellFormed()).toBe(true);
          expect(shown).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\ufeff]/u);
        }
      }),
      { numRuns: 1_000 },
    );
  });
  it("are what somebody types", () => {
    expect(unescaped("}\\n")).toBe("}\n");
    expect(unescaped("C:\\d")).toBe("C:\\d");
    expect(unescaped("\\\\n")).toBe("\\n");
    expect(escaped("}\n")).toBe("}\\n");
    expect([unquoted('"30"'), unquoted("30"), unquoted('"open')]).toEqual(["30", "30", '"open']);
  });
});

describe("the filter builder", () => {
  it("takes every filter that the API takes, and means the same by it", () => {
    fc.assert(
      fc.property(validFilter, (text) => {
        const written = writeTree(treeOf(text));
        expect(parseFilter(written)).toEqual(parseFilter(text));
        expect(treeOf(written)).toEqual(JSON.parse(JSON.stringify(treeOf(text))));
      }),
      { numRuns: 500 },
    );
  });
  it("shows values so that they can be read again, with their types", () => {
    fc.assert(
      fc.property(validFilter, (text) => {
        const tree = treeOf(text);
        if (tree === null) throw new Error("no filter");
        mapTree(tree, {
          group: (join) => join,
          condition(condition) {
            const { value, operator } = condition;
            // JSON and filters do not tell 0 from -0.
            expect(JSON.stringify(readValue(shownValue(value, operator), operator))).toBe(JSON.stringify(value));
            return condition;
          },
        });
      }),
      { numRuns: 500 },
    );
  });
  it("adds and removes a node where it was told to, and leaves all others alone", () => {
    fc.assert(
      fc.property(
        validFilter,
        fc.nat(),
        fc.constantFrom("add" as const, "group" as const, "remove" as const),
        (text, pick, change) => {
          const tree = treeOf(text);
          if (tree === null) throw new Error("no filter");
          const all: ReturnType<typeof placed>[] = [];
          const walk = (at: ReturnType<typeof placed>) => {
            all.push(at);
            at.nodes.forEach(walk);
          };
          walk(placed(tree));
          expect(all.map(({ n }) => n)).toEqual(all.map((_, i) => i));
          const target = all[pick % all.length];
          if (target === undefined) throw new Error("no node");
          const after = changedTree(tree, change, target.n);
          const before = conditionsOf(tree);
          const isAlone = !isGroup(tree);
          if (change === "remove") {
            expect(after === null ? 0 : conditionsOf(after)).toBe(before - conditionsOf(target.node));
          } else {
            const takes = isAlone || isGroup(target.node);
            expect(after === null ? -1 : conditionsOf(after)).toBe(before + (takes ? 1 : 0));
          }
          // The API refuses an empty group.
          expect(after === null || readTree(writeTree(after)).ok).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
  it("nests a group in a group of the other kind", () => {
    const one = changedTree(null, "add", 0);
    const two = changedTree(one, "group", 0);
    expect(writeTree(two)).toBe(
      '{"where":{"and":[{"key":"","operator":"eq","value":""},{"or":[{"key":"","operator":"eq","value":""}]}]}}',
    );
    expect(writeTree(changedTree(changedTree(two, "remove", 3), "remove", 1))).toBe("");
  });
  it("shows two hundred conditions and twenty levels, and leaves alone what is more", () => {
    const many = (n: number) => ({
      where: { or: Array.from({ length: n }, (_, i) => ({ key: "ScriptName", operator: "eq", value: `f${i}` })) },
    });
    expect(readTree(JSON.stringify(many(200))).ok).toBe(true);
    expect(readTree(JSON.stringify(many(201))).ok).toBe(false);
    expect(readTree(nested(20)).ok).toBe(true);
    expect(readTree(nested(21)).ok).toBe(false);
    expect(readTree(nested(5_000)).ok).toBe(false);
  });
  it.each([
    ["no JSON", "{"],
    ["no filter", "[]"],
    ["another key", '{"where":{"key":"Outcome","operator":"eq","value":"ok"},"x":1}'],
    ["a key of JavaScript's", '{"where":{"__proto__":[],"key":"Outcome","operator":"eq","value":"ok"}}'],
    ["an empty group", '{"where":{"and":[]}}'],
    ["a value that is an object", '{"where":{"key":"Outcome","operator":"eq","value":{}}}'],
    ["a number that is none", '{"where":{"key":"CPUTimeMs","operator":"gt","value":1e999}}'],
    ["a condition without a value", '{"where":{"key":"Outcome","operator":"eq"}}'],
  ])("leaves %s alone", (_, text) => {
    expect(readTree(text)).toEqual({ ok: false });
  });
});
