/**
 * What a query means, evaluated term by term as docs/search.md has it: slowly, with recursion, and
 * with nothing of the compiled form.
 */
import type { FieldTerm, Pattern, Term } from "../../../src/formats/query/parse.ts";
import { fold } from "../../../src/formats/sketch/terms.ts";

type Json = { readonly [name: string]: unknown };

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** All strings and numbers in a value. */
const scalarsIn = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value).flatMap(scalarsIn) : [value];

/** Chinese, Japanese and Thai have no spaces. */
const isOfWord = (character = ""): boolean =>
  /^[\p{Alphabetic}\p{N}]$/u.test(character) && !/[\u0e00-\u0e7f\u3000-\u30ff\u4e00-\u9fff]/.test(character);

/** A word may not go on where it ends, unless a star says so. */
function holds(value: unknown, { text: written, opens, goesOn }: Pattern): boolean {
  const text = fold(written);
  if (typeof value === "number") return fold(`${value}`) === text;
  if (typeof value !== "string") return false;
  const own = fold(value);
  for (let from = 0; from + text.length <= own.length; from++) {
    if (own.slice(from, from + text.length) !== text) continue;
    const [before, after] = [own[from - 1], own[from + text.length]];
    const begins = opens || !isOfWord(text[0]) || !isOfWord(before);
    if (begins && (goesOn || !isOfWord(text.at(-1)) || !isOfWord(after))) return true;
  }
  return false;
}

function valuesAt(value: unknown, path: readonly string[]): unknown[] {
  if (Array.isArray(value)) return value.flatMap((each) => valuesAt(each, path));
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  if (!isObject(value)) return [];
  const below = Object.hasOwn(value, name) ? valuesAt(value[name], rest) : [];
  const dotted = path.join(".");
  return rest.length > 0 && Object.hasOwn(value, dotted) ? [...below, ...valuesAt(value[dotted], [])] : below;
}

const isThere = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some((each) => each !== "" && each !== null)
    : value !== "" && value !== null && value !== undefined;

const isStar = ({ text, opens, goesOn }: Pattern): boolean => text === "" && opens && goesOn;

function matchesPattern(value: unknown, pattern: Pattern): boolean {
  if (isStar(pattern)) return isThere(value);
  if (!["string", "number", "boolean"].includes(typeof value)) return false;
  const [own, text] = [fold(String(value)), fold(pattern.text)];
  for (let from = 0; from + text.length <= own.length; from++) {
    if (own.slice(from, from + text.length) !== text) continue;
    if ((from === 0 || pattern.opens) && (from + text.length === own.length || pattern.goesOn)) return true;
  }
  return false;
}

function compares(value: unknown, { operator }: FieldTerm, bound: number): boolean {
  if (typeof value !== "number") return false;
  return { "": false, "<": value < bound, "<=": value <= bound, ">": value > bound, ">=": value >= bound }[operator];
}

/** Objects among what was logged. */
function loggedIn(record: Json): unknown[] {
  const parsed = valuesAt(record, ["Logs", "Message"]).map((message) => {
    if (typeof message !== "string") return message;
    try {
      return JSON.parse(message);
    } catch {
      return null;
    }
  });
  return [record.Fields, ...parsed.filter(isObject)];
}

const FIELDS = new Set(
  `CPUTimeMs DispatchNamespace Entrypoint Event EventTimestampMs EventType Exceptions Logs Outcome ScriptName ScriptTags
   ScriptVersion WallTimeMs Source RequestHeaders RequestCF ExceptionStacks DurableObjectID ExecutionModel Truncated
   LogErrors Preview Level Message TimestampMs RowType ExceptionName Fields`.split(/\s+/),
);
const WHOLE = new Set(["Event", "Exceptions", "Logs", "ScriptVersion", "ExceptionStacks", "Fields"]);
const SHORT: { readonly [name: string]: string } = {
  method: "Event.Request.Method",
  function: "ScriptName",
  worker: "ScriptName",
  outcome: "Outcome",
  ray: "Event.RayID",
  took: "WallTimeMs",
  cpu: "CPUTimeMs",
  type: "EventType",
  cron: "Event.Cron",
};

function urlsIn(record: Json, part: (url: URL) => string): string[] {
  return valuesAt(record, ["Event", "Request", "URL"]).flatMap((url) => {
    if (typeof url !== "string") return [];
    return URL.canParse(url) ? [part(new URL(url))] : [];
  });
}

/** @param record as it was shipped. */
export function isMeant(term: Term, record: Json): boolean {
  switch (term.kind) {
    case "and":
      return term.nodes.every((node) => isMeant(node, record));
    case "or":
      return term.nodes.some((node) => isMeant(node, record));
    case "not":
      return !isMeant(term.node, record);
    case "word":
      return scalarsIn(record).some((value) => holds(value, term.value));
    case "field":
      return isFieldMeant(term, record);
  }
}

function isFieldMeant(term: FieldTerm, record: Json): boolean {
  const { name, value, operator } = term;
  const tests = (values: unknown[], pattern = value): boolean =>
    values.some((each) =>
      operator === "" ? matchesPattern(each, pattern) : compares(each, term, Number(pattern.text)),
    );
  if (name === "level") {
    const levels = [...valuesAt(record, ["Logs", "Level"]), ...valuesAt(record, ["Level"])];
    const pattern = value.text === "warning" ? { ...value, text: "warn" } : value;
    const isThrown = valuesAt(record, ["Exceptions"]).some(isThere);
    return tests(levels, pattern) || (isThrown && tests(["error"], pattern));
  }
  if (name === "status" && /^\dxx$/.test(value.text))
    return valuesAt(record, ["Event", "Response", "Status"]).some(
      (status) => typeof status === "number" && Math.floor(status / 100) === Number(value.text[0]),
    );
  if (name === "status") return tests(valuesAt(record, ["Event", "Response", "Status"]));
  if (name === "path")
    return tests(urlsIn(record, (url) => (value.text.includes("?") ? url.pathname + url.search : url.pathname)));
  if (name === "host") return tests(urlsIn(record, (url) => (value.text.includes(":") ? url.host : url.hostname)));
  if (name === "version") return tests(Object.values(record.ScriptVersion as Json), { ...value, goesOn: true });
  if (name === "took" || name === "cpu") {
    const unit = { ms: 1, s: 1_000, m: 60_000 }[/[a-z]+$/.exec(value.text)?.[0] ?? "ms"] as number;
    return tests([record[name === "took" ? "WallTimeMs" : "CPUTimeMs"]], {
      ...value,
      text: `${Number.parseFloat(value.text) * unit}`,
    });
  }
  const path = (SHORT[name] ?? name).split(".");
  const [head = ""] = path;
  if (head === "Fields" && path.length > 1)
    return tests(loggedIn(record).flatMap((each) => valuesAt(each, path.slice(1))));
  if (!FIELDS.has(head)) return tests(loggedIn(record).flatMap((each) => valuesAt(each, path)));
  if (path.length === 1 && WHOLE.has(head) && !isStar(value))
    return scalarsIn(head === "Logs" ? valuesAt(record, ["Logs", "Message"]) : record[head]).some((each) =>
      holds(each, value),
    );
  return tests(valuesAt(record, path));
}
