import { describe, expect, it } from "vitest";
import { checkProjects } from "../../../tools/project-files/check.ts";
import { findProjects } from "../../../tools/project-files/find.ts";
import { check } from "./checking.ts";
import { folderOf } from "./temporary.ts";

/** The lines about one project file, written as JSON. */
function lines(project: object): string {
  return check({ "wrangler.jsonc": JSON.stringify({ name: "shop", ...project }) }).text;
}

const ours = { tail_consumers: [{ service: "logship" }] };

describe("a deployment", () => {
  it.each([
    ["attached", ours, /top level {2}shop {2}attached$/],
    ["not meant to, without a word of it", {}, "not meant to: nothing says that its events should ship"],
    ["not meant to, being off", { logpush: false }, "not meant to: logpush is false"],
    [
      "silent: switched on without a consumer",
      { logship: true },
      'SILENT: logship is true, but it has no consumer "logship"\n',
    ],
    [
      "silent: lost in an environment",
      { ...ours, env: { live: {} } },
      /live {7}shop-live {2}SILENT: attached only at the top level: environments do not inherit tail_consumers\n.*run: npm run attach -- wrangler.jsonc --env live/,
    ],
    [
      "silent: lost in an environment with consumers of its own",
      { ...ours, logpush: true, env: { live: { tail_consumers: [{ service: "alerts" }] } } },
      /SILENT: logpush is true at the top level, which it inherits\n.*attached only at the top level/,
    ],
    [
      "silent: misspelt",
      { tail_consumers: [{ service: "logshp" }] },
      'SILENT: its consumer is "logshp", not "logship"',
    ],
    [
      "silent: of another case",
      { tail_consumers: [{ service: "LogShip" }] },
      'SILENT: its consumer is "LogShip", not "logship"',
    ],
    [
      "silent: named like an environment of the shipper",
      { tail_consumers: [{ service: "logship-production" }] },
      "the name that wrangler deploy --env production gives logship; if you mean that one, pass --service logship-production",
    ],
    [
      "silent: of another environment",
      { tail_consumers: [{ service: "logship", environment: "staging" }] },
      'SILENT: its consumer "logship" has environment "staging", which makes it a different service',
    ],
    [
      "silent: of a namespace",
      { tail_consumers: [{ service: "logship", namespace: "n" }] },
      'SILENT: its consumer "logship" has namespace "n", which makes it a different service',
    ],
    [
      "silent: as a consumer of streams",
      { streaming_tail_consumers: [{ service: "logship" }] },
      'SILENT: "logship" is in streaming_tail_consumers, but logship has no handler for streams',
    ],
    [
      "silent: under another property",
      { tailConsumers: [{ service: "logship" }] },
      'SILENT: "tailConsumers" names "logship"',
    ],
    ["silent: under a misspelt property", { tail_consumer: [{ service: "logship" }] }, 'SILENT: "tail_consumer" names'],
    ["silent: under a name of one's own", { tails: ["logship"] }, 'SILENT: "tails" names "logship"'],
    [
      "silent: below another property",
      { observability: ours },
      'SILENT: tail_consumers with "logship" is below "observability"',
    ],
    [
      "silent: below one of several tables, where a line at the end of a TOML file slips to",
      { kv_namespaces: [{ binding: "A" }, { binding: "B", ...ours }] },
      'SILENT: tail_consumers with "logship" is below "kv_namespaces"',
    ],
    [
      "silent: switched on where nobody reads it",
      { observability: { enabled: true, logpush: true } },
      'SILENT: logpush is below "observability", where it has no effect',
    ],
    ["not meant to: a variable of such a name", { vars: { logpush: true } }, "not meant to: nothing says"],
    ["not meant to: a Pages project", { pages_build_output_dir: "dist" }, /not meant to: a Pages project, [^\n]+$/],
    [
      "silent, without a remedy: a Pages project that is switched on",
      { pages_build_output_dir: "dist", logpush: true },
      /SILENT: a Pages project, which takes no tail_consumers; [^\n]+$/,
    ],
    [
      "silent, without a remedy: a Pages project that looks attached",
      { pages_build_output_dir: "dist", ...ours },
      /SILENT: a Pages project, which takes no tail_consumers; [^\n]+$/,
    ],
    [
      "attached, but twice",
      { tail_consumers: [...ours.tail_consumers, ...ours.tail_consumers] },
      /attached\n +note: "logship" is in its tail_consumers 2 times; once is enough$/,
    ],
    ["not meant to: another consumer", { tail_consumers: [{ service: "alerts" }] }, "not meant to: nothing says"],
    [
      "not meant to, where an environment alone is attached",
      { env: { live: ours } },
      /top level {2}shop {7}not meant to/,
    ],
    [
      "attached, though off",
      { ...ours, logpush: false },
      /attached\n +note: logpush is false, but its events ship anyway/,
    ],
    ["not meant to: a preview", { previews: ours }, "not meant to: nothing says"],
  ])("is %s", (_what, project, words) => {
    expect(lines(project)).toMatch(words);
  });

  it("whose line slipped below a TOML header is found", () => {
    const { text } = check({
      "wrangler.toml": 'name = "shop"\n[vars]\nA = 1\ntail_consumers = [{ service = "logship" }]\n',
    });
    expect(text).toContain('SILENT: tail_consumers with "logship" is below "vars"');
  });
});

describe("the shipper's own project", () => {
  const shipper = (project: object) => lines({ name: "logship", ...project });

  it.each([
    [
      "another SELF_NAME",
      { vars: { SELF_NAME: "ship" } },
      'WRONG: the top level: vars.SELF_NAME is "ship", and must be "logship"',
    ],
    ["no SELF_NAME", {}, "WRONG: the top level: vars.SELF_NAME is not set"],
    [
      "an environment without",
      { vars: { SELF_NAME: "logship" }, env: { live: {} } },
      'WRONG: environment "live": vars.SELF_NAME is not set, and must be "logship-live"; environments do not inherit vars',
    ],
    [
      "itself as a consumer",
      { ...ours, vars: { SELF_NAME: "logship" } },
      "WRONG: the top level: it is its own consumer",
    ],
  ])("with %s is wrong", (_what, project, words) => {
    expect(shipper(project)).toContain(words);
    const { sum } = check({ "wrangler.json": JSON.stringify({ name: "logship", ...project }) });
    expect(sum.isGood).toBe(false);
    expect(sum.lines).toEqual([expect.stringMatching(/; 1 other fault\.$/)]);
  });
});

describe("notes", () => {
  it.each([
    [
      "of a name that wrangler does not know",
      { logship: false },
      'note: wrangler warns that "logship" is an unexpected field (the top level). This is harmless',
    ],
    [
      "of a binding without entrypoint",
      { services: [{ binding: "SHIP", service: "logship" }] },
      'the binding SHIP to "logship" has no entrypoint: SHIP.ship() needs "entrypoint": "Shipper"',
    ],
    [
      "of a binding with another",
      { services: [{ binding: "SHIP", service: "logship", entrypoint: "shipper" }] },
      'has the entrypoint "shipper"',
    ],
  ])("%s", (_what, project, words) => {
    expect(lines(project)).toContain(words);
  });

  it("are made of names that two deployments share, unless they are in different accounts", () => {
    const two = (a: object, b: object) =>
      check({
        "a/wrangler.json": JSON.stringify({ name: "shop-live", ...a }),
        "b/wrangler.json": JSON.stringify({ name: "shop", env: { live: {} }, ...b }),
      }).notes;
    expect(two({}, {})).toEqual([
      '"shop-live" is the name under which the top level of a/wrangler.json and environment "live" of b/wrangler.json deploy: their records cannot be told apart',
    ]);
    expect(two({ account_id: "1" }, { account_id: "2" })).toEqual([]);
    expect(two({ account_id: "1" }, { account_id: "1" })).toHaveLength(1);
    expect(two({ account_id: "1" }, {})).toHaveLength(1);
    expect(two({ name: "logship" }, { name: "logship" })).toEqual([]);
  });
});

it("takes a consumer of a short name for itself, however like another one", () => {
  const folder = folderOf({ "wrangler.json": '{"name": "shop", "tail_consumers": [{"service": "mail"}]}' });
  const verdicts = (service: string) =>
    checkProjects(findProjects(folder).found, service, String).reports[0]?.places.map(({ verdict }) => verdict);
  expect(verdicts("tail")).toEqual(["silent"]);
  expect(verdicts("ship")).toEqual(["none"]);
  expect(verdicts("wait")).toEqual(["none"]);
});

it("goes on after a file that cannot be read, and counts it", () => {
  const { text, sum } = check({
    "a/wrangler.json": '{"name": }',
    "b/wrangler.json": JSON.stringify(ours),
    "c/wrangler.json": '{"name": "shop", "env": {"\\u001b[31m": {"name": 1}}}',
  });
  expect(text).toContain("a/wrangler.json\n  cannot be checked: 1:10: not JSON: ValueExpected");
  expect(text).toContain("b/wrangler.json\n  top level  (no name)  attached");
  expect(text).toContain('c/wrangler.json\n  cannot be checked: environment "\\u{1b}[31m": "name" is no string');
  expect(sum).toEqual({
    isGood: false,
    lines: [
      "3 project files, 1 deployment: 1 attached, 0 would stay silent, 0 not meant to; 2 paths could not be checked.",
    ],
  });
});

it("shows no character that steers a terminal, or turns the direction of writing", () => {
  const { text } = check({
    "wrangler.json": JSON.stringify({
      name: "\u001b[2Jshop",
      env: { "\u202egnp": { tail_consumers: [{ service: "logshi\u0007" }] } },
      services: [{ binding: "\u0000", service: "logship", entrypoint: "\r" }],
      "tail_consumer\u200b": [{ service: "logship" }],
    }),
  });
  expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\p{Cf}/u);
  expect(text).toContain("\\u{1b}[2Jshop");
  expect(text).toContain("\\u{202e}gnp");
});
