import { describe, expect, it } from "vitest";
import { edit } from "../../../tools/project-files/edit.ts";
import { jsonc } from "../../../tools/project-files/jsonc.ts";
import { type Language, ProjectFault } from "../../../tools/project-files/model.ts";
import { toml } from "../../../tools/project-files/toml.ts";
import { attaching, detaching, fixtures } from "./fixtures.ts";

/** Not restored to the byte by attaching and detaching, since the earlier form is unknown. */
const NOT_RESTORED: Record<string, string> = {
  "05-single-line.json": "an empty list goes",
  "13-only-tables.toml": "the header of an environment that had only tables below it stays",
};

describe.each(fixtures())("$name", ({ name, text, attached, language }) => {
  it("becomes what is committed, which differs in the lines that are meant alone", () => {
    expect(edit(text, language, attaching()).text).toBe(attached);
    expect(attached).not.toBe(text);
  });

  it("is what it was once it is detached", () => {
    const back = edit(attached, language, detaching()).text;
    if (name in NOT_RESTORED) expect(withoutEmpty(language, back)).toEqual(withoutEmpty(language, text));
    else expect(back).toBe(text);
    expect(edit(back, language, detaching()).text).toBe(back);
  });
});

function withoutEmpty(language: Language, text: string): unknown {
  return JSON.parse(
    JSON.stringify(language.parse(text), (key, value) =>
      key === "tail_consumers" && Array.isArray(value) && value.length === 0 ? undefined : value,
    ),
  );
}

describe("detaching", () => {
  it.each([
    [
      "the first of two",
      '{"tail_consumers": [{"service": "logship"}, {"service": "a"}]}',
      '{"tail_consumers": [{"service": "a"}]}',
    ],
    [
      "the only one, and the property",
      '{\n  "name": "x",\n  "tail_consumers": [{"service": "logship"}],\n  "vars": {}\n}',
      '{\n  "name": "x",\n  "vars": {}\n}',
    ],
    [
      "one between comments",
      '{"tail_consumers": [\n  // a\n  {"service": "a"}, // a too\n  // b\n  {"service": "logship"}, // b too\n  // c\n  {"service": "c"} // c too\n]}',
      '{"tail_consumers": [\n  // a\n  {"service": "a"}, // a too\n  // b\n  // b too\n  // c\n  {"service": "c"} // c too\n]}',
    ],
    [
      "the only one of a list with a comment, which keeps the list",
      '{"tail_consumers": [\n  // who\n  {"service": "logship"}\n]}',
      '{"tail_consumers": [\n  // who\n]}',
    ],
    [
      "one with comments inside of its braces, which go along",
      '{"tail_consumers": [{"service": "a"}, {/* x */"service": "logship"}]}',
      '{"tail_consumers": [{"service": "a"}]}',
    ],
    [
      "one with commas in front",
      '{"tail_consumers": [\n    {"service": "a"}\n  , {"service": "logship"}\n]}',
      '{"tail_consumers": [\n    {"service": "a"}\n]}',
    ],
  ])("takes out of JSON %s", (_what, before, after) => {
    expect(edit(before, jsonc, detaching()).text).toBe(after);
  });

  it.each([
    [
      "the first table",
      '[[tail_consumers]]\nservice = "logship"\n\n[[tail_consumers]]\nservice = "a"\n',
      '[[tail_consumers]]\nservice = "a"\n',
    ],
    [
      "a table, but no comment",
      '# one\n[[tail_consumers]] # two\n# three\nservice = "logship" # four\n# five\n[vars]\n',
      "# one\n# two\n# three\n# four\n# five\n[vars]\n",
    ],
    [
      "the only table, but not the environment that it alone makes one",
      '[[env.live.tail_consumers]] # one\nservice = "logship" # two\n',
      "[env.live] # one\n# two\n",
    ],
    [
      "the only dotted key, but not the environment that it alone makes one",
      'env.live.tail_consumers = [{ service = "logship" }]\n',
      "env.live.tail_consumers = []\n",
    ],
    [
      "a line, but no comment",
      'name = "x"\ntail_consumers = [{ service = "logship" }] # ours\n',
      'name = "x"\n# ours\n',
    ],
    [
      "the last line of a file without an end",
      'name = "x"\r\ntail_consumers = [{ service = "logship" }]',
      'name = "x"',
    ],
  ])("takes out of TOML %s", (_what, before, after) => {
    expect(edit(before, toml, detaching()).text).toBe(after);
  });

  it("keeps to an environment that is named", () => {
    const text =
      '{ "tail_consumers": [{ "service": "logship" }], "env": { "live": { "tail_consumers": [{ "service": "logship" }] } } }';
    expect(edit(text, jsonc, detaching("live")).text).toBe(
      '{ "tail_consumers": [{ "service": "logship" }], "env": { "live": {} } }',
    );
    expect(edit(text, jsonc, detaching(null)).text).toBe(
      '{ "env": { "live": { "tail_consumers": [{ "service": "logship" }] } } }',
    );
  });
});

describe("attaching", () => {
  it.each([
    [
      "as far in as the comment in an empty list",
      jsonc,
      '{"tail_consumers": [\n      // who\n  ]}',
      '{"tail_consumers": [\n      // who\n      { "service": "logship" }\n  ]}',
    ],
    [
      "on the line of an environment that has none of its own",
      jsonc,
      '{\n  "env": { "a": {} }, "logpush": true\n}',
      '{\n  "env": { "a": { "tail_consumers": [{ "service": "logship" }] } }, "logpush": true, "tail_consumers": [{ "service": "logship" }]\n}',
    ],
    [
      "without spaces inside of braces, as its neighbour",
      jsonc,
      '{ "tail_consumers": [{"service": "a"}] }',
      '{ "tail_consumers": [{"service": "a"}, {"service": "logship"}] }',
    ],
    [
      "after a comment without an end",
      toml,
      "# nothing yet",
      '# nothing yet\ntail_consumers = [{ service = "logship" }]',
    ],
    [
      "above a header without a key before it",
      toml,
      "# of all\n\n# of the tables\n[vars]\n",
      '# of all\n\ntail_consumers = [{ service = "logship" }]\n\n# of the tables\n[vars]\n',
    ],
    [
      "into an inline table without anything",
      toml,
      "env = { live = {} }\n[vars]\n",
      'env = { live = { tail_consumers = [{ service = "logship" }] } }\ntail_consumers = [{ service = "logship" }]\n[vars]\n',
    ],
    [
      "beside dotted keys in an inline table",
      toml,
      "env = { live.logpush = true }\n",
      'env = { live.logpush = true, live.tail_consumers = [{ service = "logship" }] }\n',
    ],
    [
      "with an [env] table",
      toml,
      "[env]\nlive.logpush = true\n",
      '[env]\nlive.logpush = true\nlive.tail_consumers = [{ service = "logship" }]\n',
    ],
  ])("%s", (_what, language, before, after) => {
    expect(edit(before, language, attaching()).text).toBe(after);
    expect(edit(after, language, detaching()).text).toBe(before);
  });
});

describe("where it attaches", () => {
  const placesOf = (text: string, place?: string | null) =>
    edit(text, jsonc, attaching(place))
      .steps.filter(({ action }) => action === "add")
      .map((step) => step.place);

  it.each([
    ['{"env": {"a": {}, "b": {}}}', [null, "a", "b"]],
    ['{"env": {"a": {"logship": false}, "b": {}}}', [null, "b"]],
    ['{"env": {"a": {"logpush": true}, "b": {}}}', ["a"]],
    ['{"logship": true, "env": {"a": {}, "b": {"logpush": false}, "c": {"logship": true}}}', [null, "a", "c"]],
    ['{"logpush": false, "env": {"a": {}, "b": {"logpush": true}}}', ["b"]],
    ['{"logship": true, "logpush": true}', [null]],
  ])("%s: %j", (text, places) => {
    expect(placesOf(text)).toEqual(places);
  });

  it("takes an environment that is called like a property of all objects", () => {
    const { text } = edit("[env.constructor]\n[env.__proto__]\n", toml, attaching());
    const attached = `tail_consumers = [{ service = "logship" }]\n`;
    expect(text).toBe(`${attached}\n[env.constructor]\n${attached}[env.__proto__]\n${attached}`);
    expect(placesOf('{"env": {"constructor": {}, "toString": {}}}')).toEqual([null, "constructor", "toString"]);
  });

  it("is the place that is named, whatever the switch says", () => {
    expect(placesOf('{"logship": true, "env": {"a": {"logship": false}}}', "a")).toEqual(["a"]);
    expect(placesOf('{"env": {"a": {"logship": true}}}', null)).toEqual([null]);
    const { steps } = edit('{"env": {"a": {"logship": false}}}', jsonc, attaching("a"));
    expect(steps).toEqual([
      { place: "a", isPreviews: false, action: "add", words: "attached, though logship is false" },
    ]);
  });

  it("says of an environment that is off, but attached, that its events ship", () => {
    const text = '{"logship": true, "env": {"a": {"logship": false, "tail_consumers": [{"service": "logship"}]}}}';
    expect(edit(text, jsonc, attaching()).steps[1]?.words).toMatch(
      /^left alone: logship is false; it is attached anyway, and its events ship/,
    );
  });
});

describe("what it refuses", () => {
  it.each([
    ["no JSON", '{\n  "name": }', "2:11: not JSON: ValueExpected"],
    ["nothing", "", "1:1: not JSON: ValueExpected"],
    ["no object", "[]", "1:1: not a JSON object"],
    [
      "a property twice",
      '{"tail_consumers": [],\n "tail_consumers": []}',
      '2:2: "tail_consumers" appears a second time',
    ],
    ["an environment twice", '{"env": {"a": {}, "a": {}}}', '1:19: "a" appears a second time'],
    [
      "contradictory names",
      '{"logship": true, "logpush": false}',
      /"logship" is true, and "logpush", which is another name for it, is false/,
    ],
    [
      "a switch that is none",
      '{"env": {"a": {"logship": "yes"}}}',
      'environment "a": "logship" is neither true nor false',
    ],
    ["consumers that are no list", '{"tail_consumers": {"service": "a"}}', '"tail_consumers" is not an array'],
    ["a consumer that is no object", '{"tail_consumers": ["logship"]}', "an entry that is not an object, number 1"],
    ["environments that are none", '{"env": []}', '"env" is not an object'],
    ["an environment that cannot be deployed", '{"env": {"": {}}}', "an environment without a name"],
    ["a name that hides what it says", '{"env": {\n"__proto__": {}}}', '2:1: "__proto__" is not allowed as a name'],
    ["an environment that is none", '{"env": {"a": null}}', 'environment "a" is not an object'],
    ["the shipper itself", '{"name": "logship"}', "logship itself"],
    [
      "the shipper under another environment's name",
      '{"name": "x", "env": {"a": {"name": "logship"}}}',
      "logship itself",
    ],
    ["a Pages project", '{"pages_build_output_dir": "dist"}', "a Pages project"],
    ["a file that is off everywhere", '{"logship": false, "env": {"a": {}}}', "logging is off everywhere"],
  ])("%s", (_what, text, message) => {
    expect(() => edit(text, jsonc, attaching())).toThrow(message);
  });

  it.each([
    ["no TOML", 'name = "x"\nenv = \n', /^2:\d+: not TOML: /],
    ["a table twice", "[env.a]\n[env.a]\n", /^\d:\d+: not TOML: /],
    ["an array of environments", '[[env]]\nname = "x"\n', '"env" is not an object'],
  ])("of TOML %s", (_what, text, message) => {
    expect(() => edit(text, toml, attaching())).toThrow(message);
  });

  it.each([
    ["JSON lists", jsonc, `{"a": ${"[".repeat(300_000)}${"]".repeat(300_000)}}`],
    ["JSON objects", jsonc, `${'{"a":'.repeat(150)}1${"}".repeat(150)}`],
    ["TOML lists", toml, `a = ${"[".repeat(300_000)}`],
    ["TOML keys", toml, `tail_consumer${".service".repeat(20_000)} = "logship"\n`],
  ])("%s that are nested for ever", (_what, language, text) => {
    expect(() => edit(text, language, attaching())).toThrow(ProjectFault);
  });

  it.each([
    ["environments", { env: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [n, {}])) }, "100 environments"],
    ["consumers", { tail_consumers: Array(101).fill({ service: "a" }) }, "more than 100 entries"],
  ])("more %s than any project has, each of which takes time", (_what, project, message) => {
    expect(() => edit(JSON.stringify(project), jsonc, attaching())).toThrow(message);
  });

  it("an environment that is not there, and names those that are", () => {
    expect(() => edit('{"env": {"a": {}, "b\\u001b": {}}}', jsonc, attaching("constructor"))).toThrow(
      'there is no environment "constructor"; the file has "a", "b\\u{1b}"',
    );
    expect(() => edit("{}", jsonc, detaching("live"))).toThrow("the file has no environments");
  });

  it("whatever an editor would change beside what is meant", () => {
    const meddling: Language = { ...jsonc, add: (text, ...rest) => jsonc.add(text, ...rest).replace("shop", "shed") };
    expect(() => edit('{"name": "shop"}', meddling, attaching())).toThrow("other settings would change");
    const careless: Language = { ...jsonc, add: (text, ...rest) => jsonc.add(text, ...rest).replace("/* kept */", "") };
    expect(() => edit("{/* kept */}", careless, attaching())).toThrow("a comment would be lost");
    const idle: Language = { ...jsonc, remove: (text) => text };
    expect(() => edit('{"tail_consumers": [{"service": "logship"}]}', idle, detaching())).toThrow(
      "an entry would remain",
    );
  });
});
