import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { edit } from "../../../tools/project-files/edit.ts";
import { check } from "./checking.ts";
import { attaching, detaching, languageOf } from "./fixtures.ts";
import { folderOf } from "./temporary.ts";

interface Shape {
  readonly shape: string;
  readonly file: string;
  readonly text: string;
  /** What the doctor says of the previews, before and after. */
  readonly found: string | RegExp;
  /** After `npm run attach`. */
  readonly attached: string;
  /** What `wrangler preview` reads of which environment. */
  readonly env?: string;
}

const SHAPES: readonly Shape[] = [
  {
    shape: "switched on by itself",
    file: "wrangler.jsonc",
    text: '{"name":"shop","tail_consumers":[{"service":"logship"}],"previews":{"logpush":true}}',
    found:
      /top level, previews {2}shop {2}SILENT: logpush is true\n +the Worker is attached, but its previews do not inherit tail_consumers\n +run: npm run attach -- wrangler.jsonc --env "" --previews/,
    attached:
      '{"name":"shop","tail_consumers":[{"service":"logship"}],"previews":{"logpush":true,"tail_consumers":[{"service":"logship"}]}}',
  },
  {
    shape: "switched on by itself",
    file: "wrangler.toml",
    text: 'name = "shop"\n\n[[tail_consumers]]\nservice = "logship"\n\n[previews]\nlogpush = true # as in production\n',
    found: /top level, previews {2}shop {2}SILENT: logpush is true\n/,
    attached:
      'name = "shop"\n\n[[tail_consumers]]\nservice = "logship"\n\n[previews]\nlogpush = true # as in production\ntail_consumers = [{ service = "logship" }]\n',
  },
  {
    shape: "of an environment",
    file: "wrangler.jsonc",
    text: '{\n  "name": "shop",\n  "env": {\n    "live": {\n      "logpush": true,\n      "tail_consumers": [{ "service": "logship" }],\n      "previews": {\n        "vars": { "STAGE": "preview" } // of their own\n      }\n    }\n  }\n}\n',
    found: /live, previews {2}shop-live {2}SILENT: logpush is true in environment "live", which they inherit\n/,
    attached:
      '{\n  "name": "shop",\n  "env": {\n    "live": {\n      "logpush": true,\n      "tail_consumers": [{ "service": "logship" }],\n      "previews": {\n        "vars": { "STAGE": "preview" }, // of their own\n        "tail_consumers": [{ "service": "logship" }]\n      }\n    }\n  }\n}\n',
    env: "live",
  },
  {
    shape: "of an environment, with tables only below it",
    file: "wrangler.toml",
    text: 'name = "shop"\r\n[env.live]\r\nlogpush = true\r\ntail_consumers = [{ service = "logship" }]\r\n\r\n[env.live.previews]\r\n# theirs\r\n[env.live.previews.vars]\r\nSTAGE = "preview"\r\n',
    found: /live, previews {2}shop-live {2}SILENT: /,
    attached:
      'name = "shop"\r\n[env.live]\r\nlogpush = true\r\ntail_consumers = [{ service = "logship" }]\r\n\r\n[env.live.previews]\r\ntail_consumers = [{ service = "logship" }]\r\n# theirs\r\n[env.live.previews.vars]\r\nSTAGE = "preview"\r\n',
    env: "live",
  },
  {
    shape: "of the top level, which an environment inherits",
    file: "wrangler.jsonc",
    text: '{ "name": "shop", "logpush": false, "previews": {}, "env": { "live": { "logpush": true, "tail_consumers": [{ "service": "logship" }] } } }',
    found: 'SILENT: logpush is true in environment "live", which they inherit\n',
    attached:
      '{ "name": "shop", "logpush": false, "previews": { "tail_consumers": [{ "service": "logship" }] }, "env": { "live": { "logpush": true, "tail_consumers": [{ "service": "logship" }] } } }',
    env: "live",
  },
  {
    shape: "of the top level, which an environment inherits",
    file: "wrangler.toml",
    text: 'name = "shop"\nlogpush = false\npreviews = {}\n\n[env.live]\nlogpush = true\ntail_consumers = [{ service = "logship" }]\n',
    found: 'SILENT: logpush is true in environment "live", which they inherit\n',
    attached:
      'name = "shop"\nlogpush = false\npreviews = { tail_consumers = [{ service = "logship" }] }\n\n[env.live]\nlogpush = true\ntail_consumers = [{ service = "logship" }]\n',
    env: "live",
  },
  {
    shape: "with a misspelt consumer",
    file: "wrangler.jsonc",
    text: '{\n\t"name": "shop",\n\t"tail_consumers": [{ "service": "logship" }],\n\t"previews": {\n\t\t"tail_consumers": [{ "service": "logshp" }]\n\t}\n}\n',
    found: /SILENT: the Worker is attached, [^\n]+\n +its consumer is "logshp", not "logship"\n/,
    attached:
      '{\n\t"name": "shop",\n\t"tail_consumers": [{ "service": "logship" }],\n\t"previews": {\n\t\t"tail_consumers": [{ "service": "logshp" }, { "service": "logship" }]\n\t}\n}\n',
  },
  {
    shape: "with a misspelt consumer, in tables",
    file: "wrangler.toml",
    text: 'name = "shop"\ntail_consumers = [{ service = "logship" }]\n\n[[previews.tail_consumers]]\nservice = "LogShip"\n',
    found: /SILENT: the Worker is attached, [^\n]+\n +its consumer is "LogShip", not "logship"\n/,
    attached:
      'name = "shop"\ntail_consumers = [{ service = "logship" }]\n\n[[previews.tail_consumers]]\nservice = "LogShip"\n\n[[previews.tail_consumers]]\nservice = "logship"\n',
  },
  {
    shape: "empty, with a comment",
    file: "wrangler.jsonc",
    text: '{\n  "name": "shop",\n  "tail_consumers": [{ "service": "logship" }],\n  "previews": {\n    // nothing yet\n  },\n}\n',
    found: "SILENT: the Worker is attached, but its previews do not inherit tail_consumers\n",
    attached:
      '{\n  "name": "shop",\n  "tail_consumers": [{ "service": "logship" }],\n  "previews": {\n    // nothing yet\n    "tail_consumers": [{ "service": "logship" }]\n  },\n}\n',
  },
  {
    shape: "dotted",
    file: "wrangler.toml",
    text: 'name = "shop"\ntail_consumers = [{ service = "logship" }]\npreviews.vars.STAGE = "preview"\n',
    found: "SILENT: the Worker is attached, but its previews do not inherit tail_consumers\n",
    attached:
      'name = "shop"\ntail_consumers = [{ service = "logship" }]\npreviews.vars.STAGE = "preview"\npreviews.tail_consumers = [{ service = "logship" }]\n',
  },
  {
    shape: "without a header of their own",
    file: "wrangler.toml",
    text: 'name = "shop"\ntail_consumers = [{ service = "logship" }]\n[previews.vars]\nSTAGE = "preview"\n',
    found: "SILENT: the Worker is attached, but its previews do not inherit tail_consumers\n",
    attached:
      'name = "shop"\ntail_consumers = [{ service = "logship" }]\n[[previews.tail_consumers]]\nservice = "logship"\n[previews.vars]\nSTAGE = "preview"\n',
  },
];

describe.each(SHAPES)("previews $shape: $file", ({ file, text, found, attached, env }) => {
  it("are silent, are attached, and are as before once they are detached", () => {
    const before = check({ [file]: text });
    expect(before.text).toMatch(found);
    expect(before.sum.isGood).toBe(false);
    const language = languageOf(file);
    expect(edit(text, language, attaching()).text).toBe(attached);
    const after = check({ [file]: attached });
    expect(after.text).toMatch(/, previews +\S+ +attached/);
    expect(after.sum.isGood).toBe(true);
    expect(edit(attached, language, attaching()).text).toBe(attached);
    const back = edit(attached, language, { ...detaching(), previewsOnly: true }).text;
    expect(back).toBe(text);
  });

  it("get what wrangler takes from that place", () => {
    const read = (content: string) => {
      const config = join(folderOf({ [file]: content }), file);
      return unstable_readConfig({ config, ...(env !== undefined && { env }) }, { hideWarnings: true }).previews;
    };
    const isOurs = ({ service }: { service: string }) => service === "logship";
    expect(read(text)?.tail_consumers?.some(isOurs) ?? false).toBe(false);
    expect(read(attached)?.tail_consumers?.some(isOurs)).toBe(true);
  });
});

describe("previews", () => {
  const ours = { tail_consumers: [{ service: "logship" }] };
  const checked = (project: object) => check({ "wrangler.json": JSON.stringify({ name: "shop", ...project }) });

  it("are not meant to ship if they say so, or if nothing does", () => {
    expect(checked({ ...ours, previews: { logpush: false } }).text).toContain("not meant to: logpush is false");
    const { text, sum } = checked({ previews: {} });
    expect(text).toMatch(/top level, previews {2}shop {2}not meant to: nothing says/);
    expect(sum.isGood).toBe(true);
  });

  it("stay off where they are switched off, also with a place that is named", () => {
    const text = '{"previews": {"logpush": false}}';
    const { steps } = edit(text, languageOf("wrangler.json"), attaching(null));
    expect(steps.map(({ action, words }) => [action, words])).toEqual([
      ["add", "attached"],
      ["none", "left alone: logpush is false"],
    ]);
  });

  it("do not count as another deployment of that name", () => {
    expect(checked({ ...ours, previews: ours }).notes).toEqual([]);
  });

  it.each([
    [{ previews: [] }, "the previews of the top level are not an object"],
    [{ previews: { tail_consumers: {} } }, 'the previews of the top level: "tail_consumers" is not an array'],
    [
      { env: { live: { previews: { logpush: 1 } } } },
      'the previews of environment "live": "logpush" is neither true nor false',
    ],
  ])("are refused as wrangler would: %j", (project, words) => {
    expect(checked(project).text).toContain(words);
  });

  it("are not there to be attached alone", () => {
    const alone = (text: string) => () =>
      edit(text, languageOf("wrangler.json"), { ...attaching(null), previewsOnly: true });
    expect(alone("{}")).toThrow('the top level has no "previews"');
    expect(alone('{"previews": {}, "previews": {}}')).toThrow('"previews" appears a second time');
  });

  it("with a dispatch namespace get the same note on user Workers as any place", () => {
    const { text } = checked({ ...ours, dispatch_namespaces: [{ binding: "D", namespace: "tenants" }] });
    expect(text).toContain(
      'note: the top level: user Workers of the dispatch namespace "tenants" are not attached with the Worker that calls them',
    );
  });
});
