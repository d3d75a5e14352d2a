import { canonicalNumber, type Test } from "../filter/operators.ts";
import type { FilterCondition, Question } from "../filter/parse.ts";
import { longestPlain, PLAIN_WORDS, type Sought } from "../filter/sought.ts";
import { termHash } from "../sketch/terms.ts";
import type { Wanted } from "../sketch/wanted.ts";
import { allOf, type Edge, type Needed, wordsWithin } from "./needed-terms.ts";

/** The hashes of words in sketches; null: no sketch excludes any object. */
export function wantedIn(needed: Needed): Wanted | null {
  if (needed === null) return null;
  if (typeof needed === "string") return termHash(needed);
  if ("any" in needed) {
    const any = needed.any.map((each) => wantedIn(each));
    return any.includes(null) ? null : { any: any as Wanted[] };
  }
  const all = needed.all.map((each) => wantedIn(each)).filter((each) => each !== null);
  return all.length === 0 ? null : { all };
}

/** Words that every record has that matches. */
export function neededBy(question: Question): Needed {
  switch (question.kind) {
    case "and":
      return allOf(question.nodes.map(neededBy));
    case "or": {
      const any = question.nodes.map(neededBy);
      return any.includes(null) ? null : { any };
    }
    case "condition":
      return question.negated ? null : neededByTest(question.test);
    case "sought":
      return question.negated ? null : neededBySought(question);
  }
}

function neededByTest(test: Test): Needed {
  switch (test.kind) {
    case "eq":
      return equal(test.text);
    case "in": {
      const any = test.texts.map(equal);
      return any.includes(null) ? null : { any };
    }
    case "startsWith":
      return wordsWithin(test.text, "value", "part");
    case "endsWith":
      return wordsWithin(test.text, "part", "value");
    case "contains":
      // An element of an array may be a number.
      return Number.isNaN(canonicalNumber(test.text)) ? wordsWithin(test.text, "part", "part") : null;
    default:
      return null;
  }
}

/** A number or boolean that is written like the text equals it, and is no word. */
function equal(text: string): Needed {
  if (text === "true" || text === "false" || !Number.isNaN(canonicalNumber(text))) return null;
  return wordsWithin(text, "value", "value");
}

/** What a number, folded, or a part of it, may look like, or be. Sketches have no numbers. */
const OF_NUMBER = /^[-+.\de]*\d[-+.\de]*$/;

/** The parts of a URL end where words do. */
function neededBySought({ where, test }: Sought): Needed {
  if (!("text" in test) || OF_NUMBER.test(test.text)) return null;
  if (where.kind === "logged" && !PLAIN_WORDS.test(test.text)) return null;
  if (test.kind === "holds") return wordsWithin(test.text, ...edges(test, "word"));
  if (test.text === "true" || test.text === "false") return null;
  return wordsWithin(test.text, ...edges(test, "value"));
}

function edges({ begins, ends }: { begins: boolean; ends: boolean }, edge: Edge): [begin: Edge, end: Edge] {
  return [begins ? edge : "part", ends ? edge : "part"];
}

/** Of each condition that every match fulfils, a part that stands in its line as it is. */
export function plainParts(question: Question): string[] {
  switch (question.kind) {
    case "and":
      return question.nodes.flatMap(plainParts);
    case "or": {
      const parts = question.nodes.map(plainParts);
      return parts.flat().filter((part) => parts.every((own) => own.some((each) => each.includes(part))));
    }
    case "condition":
    case "sought":
      return question.negated ? [] : [plainPart(question)];
  }
}

function plainPart(condition: FilterCondition | Sought): string {
  const { test } = condition;
  // A line may write the same number otherwise: `1e+21`.
  if ("text" in test) return condition.kind === "sought" && /\de[-+]\d/.test(test.text) ? "" : longestPlain(test.text);
  const isLogged = condition.kind === "sought" && condition.where.kind === "logged";
  return isLogged ? longestPlain(condition.where.path.at(-1) ?? "") : "";
}
