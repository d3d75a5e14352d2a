import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { edit } from "../../../tools/project-files/edit.ts";
import { isSpot, type Json, pathOf } from "../../../tools/project-files/model.ts";
import { isService, readSections, type Section } from "../../../tools/project-files/sections.ts";
import { attaching, detaching, languageOf } from "./fixtures.ts";
import { choices, project, writeJsonc, writeToml } from "./written.ts";

const RUNS = 500;

/** An empty list of consumers is the same as none. */
function meaning(value: Json): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, each) => (key === "tail_consumers" && each.length === 0 ? undefined : each)),
  );
}

function withoutService(value: Json, places: readonly Section[]): unknown {
  const copy = JSON.parse(JSON.stringify(value));
  for (const place of places) {
    const section = pathOf(place).reduce((object, key) => object[key], copy);
    section.tail_consumers &&= section.tail_consumers.filter(
      (each: { service: string }) => !isService(each, "logship"),
    );
  }
  return meaning(copy);
}

/** Comments in their order in the text; a missing one comes first, at -1. */
function placesOf(comments: readonly string[], text: string): [string, number][] {
  return comments
    .map((comment): [string, number] => [
      comment,
      text.search(new RegExp(`${comment.replace(/[*/]/g, "\\$&")}(?!\\d)`)),
    ])
    .toSorted(([, a], [, b]) => a - b);
}

describe.each([
  { file: "wrangler.jsonc", write: writeJsonc },
  { file: "wrangler.toml", write: writeToml },
])("any $file", ({ file, write }) => {
  const language = languageOf(file);
  const parse = (text: string) => language.parse(text.replace(/^\uFEFF/, ""));

  it("is attached once, keeps its comments and all else, and is detached again", () => {
    let attachedAnew = 0;
    fc.assert(
      fc.property(project, choices, (content, numbers) => {
        const { text, comments } = write(content, numbers);
        const before = parse(text);
        const sections = readSections(before);
        // Off everywhere is refused; another test covers that.
        fc.pre(sections.some(({ logging }) => logging?.value !== false));
        const { text: attached, steps } = edit(text, language, attaching());
        const added = steps.filter(({ action }) => action === "add");
        if (added.length > 0) attachedAnew += 1;

        const after = readSections(parse(attached));
        for (const [index, section] of sections.entries()) {
          const wanted = added.some((step) => isSpot(step, section))
            ? [...section.consumers, { service: "logship" }]
            : section.consumers;
          expect(after[index]?.consumers.map((each) => ({ ...each }))).toEqual(wanted.map((each) => ({ ...each })));
        }
        expect(isDeepStrictEqual(withoutService(parse(attached), sections), withoutService(before, sections))).toBe(
          true,
        );
        expect(edit(attached, language, attaching()).text).toBe(attached);

        const detached = edit(attached, language, detaching()).text;
        expect(meaning(parse(detached))).toEqual(withoutService(before, sections));
        const order = placesOf(comments, text);
        for (const each of [attached, detached]) {
          expect(placesOf(comments, each).map(([comment]) => comment)).toEqual(order.map(([comment]) => comment));
          expect(placesOf(comments, each)[0]?.[1]).not.toBe(-1);
          // A line ending of the other kind must not appear.
          expect(/\r\n/.test(each) && /[^\r]\n/.test(each)).toBe(/\r\n/.test(text) && /[^\r]\n/.test(text));
        }
      }),
      { numRuns: RUNS },
    );
    expect(attachedAnew).toBeGreaterThan(RUNS / 4);
  });
});
