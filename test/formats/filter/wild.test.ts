import { describe, expect, it } from "vitest";
import { isFieldName } from "../../../src/formats/record/fields.ts";
import validation from "../../fixtures/filters/cloudflare-go-validate.json";
import inTheWild from "../../fixtures/filters/in-the-wild.json";
import operatorTable from "../../fixtures/filters/operator-table.json";
import { traceRecord } from "../record/samples.ts";
import { compiled, condition, faultsOf, keeps, type Node } from "./support.ts";

describe("filters in the wild", () => {
  /** Outcomes and script names that the filters of this dataset keep. */
  const kept: { readonly [filter: string]: [outcome: string, scriptName: string, kept: boolean][] } = {
    '{"where": {"key":"Outcome","operator":"!eq","value":"exception"}}': [
      ["ok", "shop", true],
      ["exception", "shop", false],
      ["exceededCpu", "shop", true],
      ["", "shop", true],
    ],
    '{"where":{"key":"ScriptName","operator":"eq","value":"rshogi-csa-server-workers"}}': [
      ["ok", "rshogi-csa-server-workers", true],
      ["ok", "rshogi-csa-server-workers-staging", false],
      ["ok", "rshogi-csa-server", false],
    ],
    '{"where":{"or":[{"key":"ScriptName","operator":"eq","value":"honowarden"},{"key":"ScriptName","operator":"eq","value":"honowarden-staging"}]}}':
      [
        ["ok", "honowarden", true],
        ["exception", "honowarden-staging", true],
        ["ok", "honowarden-preview", false],
      ],
  };
  const ours = inTheWild.filter(({ dataset }) => dataset === "workers_trace_events");

  it("of this dataset are all known", () => {
    expect(ours.map(({ filter }) => filter)).toEqual(Object.keys(kept));
  });

  it.each(Object.entries(kept))("of this dataset keep what they say: %s", (filter, records) => {
    const matches = compiled(filter);
    for (const [Outcome, ScriptName, expected] of records) {
      expect([Outcome, ScriptName, matches(traceRecord({ Outcome, ScriptName }))]).toEqual([
        Outcome,
        ScriptName,
        expected,
      ]);
    }
  });

  /** Faults of the other filters: other datasets have other fields. */
  const faults: { readonly [filter: string]: string[] } = {
    '{"where":{"and":[{"key":"ColoCode","operator":"!eq","value":"IAD"}]}}': [
      'where.and[0].key: unknown field "ColoCode"',
    ],
    '{"where":{"and":[{"key":"ClientRequestHost","operator":"!eq","value":"abc.com"}]}}': [
      'where.and[0].key: unknown field "ClientRequestHost"',
    ],
    '{"where":{"and":[{"key":"ClientRequestPath","operator":"contains","value":"/static"},{"key":"ClientRequestHost","operator":"eq","value":"example.com"}]}}':
      ['where.and[0].key: unknown field "ClientRequestPath"', 'where.and[1].key: unknown field "ClientRequestHost"'],
    '{"where":{"and":[{"key":"ClientRequestPath","operator":"contains","value":"/static\\\\"},{"key":"ClientRequestHost","operator":"eq","value":"example.com"}]}}':
      ['where.and[0].key: unknown field "ClientRequestPath"', 'where.and[1].key: unknown field "ClientRequestHost"'],
    '{"where":{"and":[{"key":"ClientRequestPath","operator":"contains"},{"key":"ClientRequestHost","operator":"eq","value":"example.com"}]}}':
      [
        'where.and[0].key: unknown field "ClientRequestPath"',
        "where.and[0]: value is missing",
        'where.and[1].key: unknown field "ClientRequestHost"',
      ],
    '{"where":{"key":"EdgeResponseStatus","operator":"in","value":"200,201"}}': [
      'where.key: unknown field "EdgeResponseStatus"',
      'where.value: failed to decode value "\\"200,201\\"", supported kinds: []string, []number',
    ],
    '{"and":[{"key":"ClientRequestHost","operator":"eq","value":"example.com"}]}': [
      'where is missing: "and" belongs inside it, as in {"where":{"and":…}}',
    ],
    "": [],
  };
  const others = inTheWild.filter(({ dataset }) => dataset !== "workers_trace_events");

  it.each(others)("of other datasets are refused for their fields, faulty ones for their faults: $filter", (entry) => {
    expect(faultsOf(entry.filter)).toEqual(faults[entry.filter]);
  });

  it("of other datasets are sound once their fields are ours, if they are sound there", () => {
    const renamed = (filter: string): string =>
      filter.replace(/"key":"(\w+)"/g, (whole, key: string) => (isFieldName(key) ? whole : '"key":"ScriptName"'));
    expect(inTheWild.map(({ filter, valid }) => [filter, faultsOf(renamed(filter)).length === 0, valid])).toEqual(
      inTheWild.map(({ filter, valid }) => [filter, valid, valid]),
    );
  });
});

describe("what the vendor's own client checks before it sends", () => {
  /** The first fault, with our words and places. */
  function inOurWords(error: string, at = "where"): string {
    const [, element, group = "", rest = ""] = /^element (\d+) in (And|Or) is invalid: (.*)$/.exec(error) ?? [];
    if (element !== undefined) return inOurWords(rest, `${at}.${group.toLowerCase()}[${element}]`);
    return `${at}: ${error.toLowerCase()}`;
  }

  it.each(validation.cases)("is checked here, too: $name", ({ filter, error }) => {
    const text = JSON.stringify({ where: filter }).replaceAll("ClientRequestPath", "ScriptName");
    const [first] = faultsOf(text);
    expect(first).toBe(error === null ? undefined : inOurWords(error));
  });
});

describe("the vendor's documented examples", () => {
  /** Each with our nearest field, a value that is kept, and one that is not. */
  const examples: [example: string, key: string, keep: string | number, drop: string | number][] = [
    ['{"key":"ClientRequestHost","operator":"eq","value":"example.com"}', "ScriptName", "example.com", "example.org"],
    ['{"key":"ClientCountry","operator":"!eq","value":"ca"}', "ScriptName", "us", "ca"],
    ['{"key":"BotScore","operator":"lt","value":"30"}', "WallTimeMs", 29, 30],
    ['{"key":"BotScore","operator":"leq","value":"30"}', "WallTimeMs", 30, 31],
    ['{"key":"BotScore","operator":"gt","value":"30"}', "WallTimeMs", 31, 30],
    ['{"key":"BotScore","operator":"geq","value":"30"}', "WallTimeMs", 30, 29],
    ['{"key":"ClientRequestPath","operator":"startsWith","value":"/foo"}', "ScriptName", "/foo/x", "/x/foo"],
    ['{"key":"ClientRequestPath","operator":"endsWith","value":"/foo"}', "ScriptName", "/x/foo", "/foo/x"],
    ['{"key":"ClientRequestPath","operator":"!startsWith","value":"/foo"}', "ScriptName", "/x/foo", "/foo/x"],
    ['{"key":"ClientRequestPath","operator":"!endsWith","value":"/foo"}', "ScriptName", "/foo/x", "/x/foo"],
    ['{"key":"ClientRequestPath","operator":"contains","value":"/static"}', "ScriptName", "/a/static/b", "/a"],
    ['{"key":"ClientRequestPath","operator":"!contains","value":"/static"}', "ScriptName", "/a", "/a/static/b"],
    ['{"key":"EdgeResponseStatus","operator":"in","value":[200,201]}', "WallTimeMs", 201, 202],
    ['{"key":"EdgeResponseStatus","operator":"!in","value":[200,201]}', "WallTimeMs", 202, 200],
  ];

  it("are all known", () => {
    expect(operatorTable.examples).toEqual(examples.map(([example]) => example));
  });

  it.each(examples)("keep what they say: %s", (example, key, keep, drop) => {
    const node: Node = { ...JSON.parse(example), key };
    expect(keeps(node, { [key]: keep })).toBe(true);
    expect(keeps(node, { [key]: drop })).toBe(false);
  });

  /** The truth combinations of X, Y and Z that are kept: binary, X first. */
  const nesting: { readonly [text: string]: (x: boolean, y: boolean, z: boolean) => boolean } = {
    '{"where":{"and":[X,Y,Z]}}': (x, y, z) => x && y && z,
    '{"where":{"or":[X,Y,Z]}}': (x, y, z) => x || y || z,
    '{"where":{"and":[X,{"or":[Y,Z]}]}}': (x, y, z) => x && (y || z),
    '{"where":{"or":[{"and":[X,Y]},Z]}}': (x, y, z) => (x && y) || z,
  };

  it.each(operatorTable.nesting)("nest as they say: %s", (text) => {
    const names: { [letter: string]: string } = { X: "ScriptName", Y: "Outcome", Z: "Entrypoint" };
    const matches = compiled(
      text.replace(/[XYZ]/g, (letter) => JSON.stringify(condition(names[letter] ?? "", "eq", "yes"))),
    );
    for (const bits of Array.from({ length: 8 }, (_, i) => i)) {
      const [x, y, z] = [(bits & 4) > 0, (bits & 2) > 0, (bits & 1) > 0];
      const say = (truth: boolean): string => (truth ? "yes" : "no");
      const record = traceRecord({ ScriptName: say(x), Outcome: say(y), Entrypoint: say(z) });
      expect([x, y, z, matches(record)]).toEqual([x, y, z, nesting[text]?.(x, y, z)]);
    }
  });
});
