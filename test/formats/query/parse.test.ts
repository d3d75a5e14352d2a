import { describe, expect, it } from "vitest";
import { type Pattern, parseQuery, type Term } from "../../../src/formats/query/parse.ts";
import { SIXTY } from "./sixty.ts";

/** As {@link SIXTY} has it. */
function shown(term: Term): string {
  switch (term.kind) {
    case "and":
      return `(${term.nodes.map(shown).join(" ")})`;
    case "or":
      return `(${term.nodes.map(shown).join(" | ")})`;
    case "not":
      return `!${shown(term.node)}`;
    case "word":
      return pattern(term.value);
    case "field":
      return `${term.name}:${term.operator}${pattern(term.value)}`;
  }
}

function pattern({ text, opens, goesOn }: Pattern): string {
  const star = (is: boolean) => (is ? "*" : "");
  if (text === "" && opens && goesOn) return "‹*›";
  return `‹${star(opens)}${text.replace(/^\*|\*$/g, "\\*")}${star(goesOn)}›`;
}

function read(text: string): string | null {
  const parsed = parseQuery(text);
  if (!parsed.ok) return null;
  return parsed.term === null ? "" : shown(parsed.term);
}

function faultOf(text: string): unknown {
  const parsed = parseQuery(text);
  return parsed.ok ? null : parsed.fault;
}

describe("a query", () => {
  it("has sixty ways to be written", () => expect(SIXTY).toHaveLength(60));

  it.each(SIXTY)("%s", (text, means) => expect(read(text)).toBe(means));

  it.each([
    ['say "broken', 4, "this quote is not closed"],
    ['path:"/a', 5, "this quote is not closed"],
    ["a (b", 2, "this bracket is not closed"],
    ["a) b", 1, "no bracket is open here"],
    ["a ()", 2, "nothing is between these brackets"],
    ["OR a", 0, "OR needs something before it"],
    ["a OR", 2, "OR needs something after it"],
    ["(a OR OR b)", 6, "OR needs something before it"],
    ["(a OR )", 3, "OR needs something after it"],
    ["x ".repeat(101), 200, "a query has at most 100 terms"],
    [`${"(".repeat(21)}x${")".repeat(21)}`, 20, "brackets nest at most 20 deep"],
    ["x".repeat(2_001), 2_000, "a query has at most 2000 characters"],
  ])("%s has a fault at %i", (text, at, message) => expect(faultOf(text)).toEqual({ at, message }));

  it.each([
    ["", ""],
    ["  ", ""],
    ["x ".repeat(100).trim(), `(${Array(100).fill("‹x›").join(" ")})`],
    [`${"(".repeat(20)}x${")".repeat(20)}`, "‹x›"],
    ["x".repeat(2_000), `‹${"x".repeat(2_000)}›`],
    ['"say \\"hi\\" to C:\\\\x\\y"', '(‹say "hi" to C:\\x\\y› | ‹say \\"hi\\" to C:\\\\x\\y›)'],
    ["*", "‹*›"],
    ['path:"/a b/"* "a b"*', "(path:‹/a b/*› ‹a b*›)"],
    ['x:*"a b" *"c"*', "(x:‹*a b› ‹*c*›)"],
    ["*/items", "‹*/items›"],
    ["a -- b --since -> - c", "(‹a› ‹--› ‹b› ‹--since› ‹->› ‹-› ‹c›)"],
    ["AND a AND", "(‹AND› ‹a›)"],
    ["std::vector x:<y> items:>3 n:<=-1.5", "(‹std::vector› ‹x:<y>› items:>‹3› n:<=‹-1.5›)"],
    ['"order id": 4711', '(order id:‹4711› | ‹"order id": 4711› | ‹"order id":4711›)'],
    ["-status:(500 OR x:y)", "!(status:‹500› | (x:‹y› | status:‹x:y›))"],
    ["(f(x) OR g(y,z))", "(‹f(x)› | ‹g(y,z)›)"],
    ["Event.Request.URL:https://a.b/c", "Event.Request.URL:‹https://a.b/c›"],
  ])("%s is %s", (text, means) => expect(read(text)).toBe(means));
});
