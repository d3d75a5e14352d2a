import type { Question } from "../filter/parse.ts";
import { passing, type Sought, type SoughtTest, type Where } from "../filter/sought.ts";
import { isExtraField, isFieldName, isRowField, typeOf } from "../record/fields.ts";
import { fold } from "../sketch/terms.ts";
import { isShortName, SHORT_NAMES } from "./names.ts";
import { type FieldTerm, NUMBER, type Pattern, parseQuery, type QueryFault, type Term } from "./parse.ts";

/**
 * Reads a query.
 * @returns what it asks for (null: it has no term), or the first fault.
 */
export function readQuery(text: string): { ok: true; question: Question | null } | { ok: false; fault: QueryFault } {
  const parsed = parseQuery(text);
  if (!parsed.ok) return parsed;
  const question = parsed.term === null ? null : meaningOf(parsed.term);
  return question !== null && isFault(question) ? { ok: false, fault: question } : { ok: true, question };
}

const ANYWHERE: Where = { kind: "below", path: [] };

/** A text anywhere in a record: a part of a string, or a whole number. */
export function part(text: string): Sought {
  return sought(ANYWHERE, within({ text, opens: true, goesOn: true }));
}

/** Words, or one: where a `*` is, they may go on. */
function within({ text, opens, goesOn }: Omit<Pattern, "at">): SoughtTest {
  return { kind: "holds", text: fold(text), begins: !opens, ends: !goesOn };
}

/** @param id as the header `cf-ray` has it, or the part of it before the hyphen. */
export function ofRay(id: string): Sought {
  const [text = ""] = fold(id).split("-", 1);
  return sought(at(["Event", "RayID"]), { kind: "like", text, begins: true, ends: true });
}

function sought(where: Where, test: SoughtTest): Sought {
  return { kind: "sought", where, test, negated: false };
}

function at(path: readonly string[]): Where {
  return { kind: "at", path };
}

function isFault(meaning: Question | QueryFault): meaning is QueryFault {
  return "message" in meaning;
}

/** Brackets nest, and this recurses, no deeper than the parser allows. */
function meaningOf(term: Term): Question | QueryFault {
  switch (term.kind) {
    case "not": {
      const meaning = meaningOf(term.node);
      return isFault(meaning) ? meaning : opposite(meaning);
    }
    case "and":
    case "or":
      return joined(term.kind, term.nodes.map(meaningOf));
    case "word":
      return sought(ANYWHERE, within(term.value));
    case "field":
      return ofField(term);
  }
}

function opposite(question: Question): Question {
  if (!("nodes" in question)) return { ...question, negated: !question.negated };
  return { kind: question.kind === "and" ? "or" : "and", nodes: question.nodes.map(opposite) };
}

/** Not within the brackets of IPv6. */
const PORT = /:[^\]]*$/;

function ofField(term: FieldTerm): Question | QueryFault {
  const [name, { text }] = [term.name, term.value];
  switch (name) {
    case "level":
      return ofLevel(term);
    case "status":
      return ofStatus(term);
    case "path":
      return plain({ kind: "url", part: text.includes("?") ? "target" : "path" }, term);
    case "host":
      return plain({ kind: "url", part: PORT.test(text) ? "host" : "hostname" }, term);
    case "version":
      return joined(
        "or",
        SHORT_NAMES.version.map((where) => plain(where, { ...term, value: { ...term.value, goesOn: true } })),
      );
    case "ray":
      return term.operator === "" && text.includes("-") ? ofRay(text) : plain(at(["Event", "RayID"]), term);
    case "took":
      return ofDuration("WallTimeMs", term);
    case "cpu":
      return ofDuration("CPUTimeMs", term);
    default: {
      const where = isShortName(name) ? SHORT_NAMES[name][0] : null;
      // Dots separate names, unless one of them would be empty.
      const path = /^\.|\.\.|\.$/.test(name) ? [name] : name.split(".");
      return ofPath(where?.kind === "at" ? where.path : path, term);
    }
  }
}

/** A field of records, or else of a logged object. */
function ofPath(path: readonly string[], term: FieldTerm): Question | QueryFault {
  const [head = "", ...below] = path;
  if (!isFieldName(head) && !isExtraField(head) && !isRowField(head)) return plain({ kind: "logged", path }, term);
  if (below.length > 0) return plain(head === "Fields" ? { kind: "logged", path: below } : at(path), term);
  const { value, operator } = term;
  const isText = typeOf(head) !== "object" && typeOf(head) !== "array[object]" && head !== "ExceptionStacks";
  if (isText || isStar(value)) return plain(at(path), term);
  if (operator !== "") return { at: value.at, message: `${head} is no number: name what lies below it` };
  const texts = head === "Logs" ? ["Logs", "Message"] : path;
  return sought({ kind: "below", path: texts }, within(value));
}

function isStar({ text, opens, goesOn }: Pattern): boolean {
  return text === "" && opens && goesOn;
}

const COMPARED = { "<": "lt", "<=": "leq", ">": "gt", ">=": "geq" } as const;

function plain(where: Where, { operator, value, name }: FieldTerm): Sought | QueryFault {
  if (operator !== "") {
    if (!NUMBER.test(value.text) || value.opens || value.goesOn)
      return { at: value.at, message: `${name}:${operator} needs a number` };
    return sought(where, { kind: COMPARED[operator], bound: Number(value.text) });
  }
  return sought(where, patternTest(value));
}

function patternTest(pattern: Pattern): SoughtTest {
  const { text, opens, goesOn } = pattern;
  return isStar(pattern) ? { kind: "there" } : { kind: "like", text: fold(text), begins: !opens, ends: !goesOn };
}

/** @returns the first fault, if there is one. */
function joined(kind: "and" | "or", parts: readonly (Question | QueryFault)[]): Question | QueryFault {
  const nodes = parts.filter((part): part is Question => !isFault(part));
  return nodes.length === parts.length ? { kind, nodes } : (parts.find(isFault) as QueryFault);
}

/** Of any of its log lines; one with an exception is an error. */
function ofLevel(term: FieldTerm): Question | QueryFault {
  const { operator, value } = term;
  if (operator !== "") return { at: value.at, message: "a level is named, as in level:error" };
  const text = fold(value.text) === "warning" ? "warn" : value.text;
  const test = patternTest({ ...value, text });
  const nodes = SHORT_NAMES.level.map((where) => sought(where, test));
  if (passing(test)("error")) nodes.push(sought(at(["Exceptions"]), { kind: "there" }));
  return { kind: "or", nodes };
}

function ofStatus(term: FieldTerm): Question | QueryFault {
  const [where] = SHORT_NAMES.status;
  const { operator, value } = term;
  if (operator === "" && /^\dxx$/i.test(value.text)) {
    const from = Number(value.text[0]) * 100;
    const bounds = [{ kind: "geq", bound: from } as const, { kind: "lt", bound: from + 100 } as const];
    return { kind: "and", nodes: bounds.map((test) => sought(where, test)) };
  }
  if (operator !== "" || isStar(value) || /^\d+$/.test(value.text)) return plain(where, term);
  const how = "status is a number, as in status:503, status:5xx or status:>=500";
  return { at: value.at, message: `${how}; of a logged object, it is Fields.status` };
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

function ofDuration(field: string, term: FieldTerm): Question | QueryFault {
  const { name, value } = term;
  if (isStar(value)) return plain(at([field]), term);
  const [, amount, unit = "ms"] = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m)?$/i.exec(value.text) ?? [];
  if (amount === undefined || value.opens || value.goesOn)
    return { at: value.at, message: `${name} is a time, as in ${name}:>1s, ${name}:>=250ms or ${name}:<2m` };
  const ms = Number(amount) * (UNIT_MS[unit.toLowerCase()] ?? 1);
  // 0.07 × 1,000 is a little above 70.
  return plain(at([field]), { ...term, value: { ...value, text: String(Number(ms.toFixed(6))) } });
}
