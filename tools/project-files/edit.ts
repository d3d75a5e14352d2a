/**
 * Applies a plan to the text of a project file, and checks with a parser that nothing else changed.
 */
import { isDeepStrictEqual } from "node:util";
import {
  CONSUMERS,
  isObject,
  isPages,
  type Json,
  type Language,
  NotMeantFault,
  own,
  PAGES_WORDS,
  PREVIEWS,
  ProjectFault,
  pathOf,
  type Spot,
} from "./model.ts";
import { entryIndex, plan, type Step, type Wish } from "./plan.ts";
import { type Consumer, isService, readSections, type Section } from "./sections.ts";

const BYTE_ORDER_MARK = "\uFEFF";

export interface Edited {
  readonly steps: readonly Step[];
  /** The same text if there was nothing to do. */
  readonly text: string;
}

/** Sections of a project file's text. @throws ProjectFault. */
export function sectionsOf(text: string, language: Language): Section[] {
  return readSections(language.parse(withoutMark(text)));
}

/**
 * Adds or removes the service as a tail consumer.
 * @throws ProjectFault if that cannot be done, or if the result differs from the intended one.
 */
export function edit(text: string, language: Language, wish: Wish): Edited {
  const before = withoutMark(text);
  const value = language.parse(before);
  if (isPages(value) && !wish.detach) throw new NotMeantFault(PAGES_WORDS);
  const steps = plan(readSections(value), wish);
  let after = before;
  for (const step of steps) {
    if (step.action === "add") after = attempt(() => language.add(after, step, wish.service));
    if (step.action === "remove") after = removeAll(after, language, step, wish.service);
  }
  if (after !== before) verify(before, after, language, expected(value, steps, wish.service));
  return { steps, text: text.slice(0, text.length - before.length) + after };
}

function withoutMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
}

function removeAll(text: string, language: Language, spot: Spot, service: string): string {
  let rest = text;
  for (;;) {
    const index = entryIndex(readSections(attempt(() => language.parse(rest))), spot, service);
    if (index === -1) return rest;
    const next = attempt(() => language.remove(rest, spot, index));
    if (next.length >= rest.length) throw unsure("an entry would remain");
    rest = next;
  }
}

/** A wrong edit is a fault of this code, not of the file. */
function attempt<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw unsure(error instanceof Error ? error.message : String(error));
  }
}

function unsure(why: string): ProjectFault {
  return new ProjectFault(
    `it is written in a way that cannot be changed safely (${why}); nothing was written: edit it by hand`,
  );
}

/** The intended content. */
function expected(value: Json, steps: readonly Step[], service: string): Json {
  let result = value;
  for (const step of steps) {
    const { action } = step;
    if (action === "none") continue;
    const change = (section: Json): Json => {
      const consumers = (own(section, CONSUMERS) ?? []) as Consumer[];
      const next =
        action === "add" ? [...consumers, { service }] : consumers.filter((each) => !isService(each, service));
      return withProperty(section, CONSUMERS, next);
    };
    result = changedAt(result, pathOf(step), change);
  }
  return result;
}

function changedAt(object: Json, [key, ...path]: readonly string[], change: (object: Json) => Json): Json {
  if (key === undefined) return change(object);
  return withProperty(object, key, changedAt(object[key] as Json, path, change));
}

function withProperty(object: Json, key: string, value: unknown): Json {
  return Object.assign(Object.create(Object.getPrototypeOf(object)), object, { [key]: value });
}

/** Reads the edited text again. An empty list equals a missing one. */
function verify(before: string, after: string, language: Language, wanted: Json): void {
  const got = attempt(() => language.parse(after));
  if (!isDeepStrictEqual(comparable(got), comparable(wanted))) throw unsure("other settings would change");
  if (!isDeepStrictEqual(language.comments(after), language.comments(before))) throw unsure("a comment would be lost");
}

function comparable(value: Json): unknown {
  const environments = own(value, "env");
  if (!isObject(environments)) return normal(value);
  const sections = Object.entries(environments).map(([name, section]) => [name, normal(section)]);
  return withProperty(normal(value), "env", Object.fromEntries(sections));
}

function normal(section: unknown): Json {
  if (!isObject(section)) throw unsure("an environment is not an object");
  const { [CONSUMERS]: consumers, ...rest } = section;
  if (isObject(rest[PREVIEWS])) rest[PREVIEWS] = normal(rest[PREVIEWS]);
  if (!Array.isArray(consumers) || consumers.length === 0) return rest;
  return { ...rest, [CONSUMERS]: consumers.map((each: Json) => ({ ...each })) };
}
