import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonText } from "../../../src/formats/record/encode.ts";
import { canonicalText, parseEvent } from "../../../src/formats/record/exact.ts";
import { anyJson, anyJsonObject, canonical, KEYS, NUMBERS } from "./canonical.ts";

describe("the canonical text of JSON", () => {
  it.each(NUMBERS)("has each digit of %s", (number) => {
    expect(canonicalText(` { "a" : [ ${number} ] } `)).toBe(`{"a":[${number}]}`);
    expect(canonicalText(number)).toBe(number);
  });

  it("has each key in its place, though it is a whole number, needs an escape, or begins as a mark does", () => {
    const all = KEYS.map((key, i) => `${key}:${i}.0`);
    expect(canonicalText(`{${all.join()}}`)).toBe(canonical(`{${all.join()}}`));
    expect(canonicalText('{"2":1,"1":2,"a":3,"0":{"__proto__":{"9":0,"8":1}}}')).toBe(
      '{"2":1,"1":2,"a":3,"0":{"__proto__":{"9":0,"8":1}}}',
    );
  });

  it.each([
    [
      "the last value of a key that is repeated, in the place of the first",
      '{"a":1,"b":2.0,"\\u0061":3}',
      '{"a":3,"b":2.0}',
    ],
    ["one of two keys that both have half of a pair", '{"\\ud800":1,"\\ud801":2}', '{"\ufffd":2}'],
    ["no half of a pair", '["\\ud800\\ud83d\\ude00",{"\\udc00x":1.0}]', '["\ufffd\u{1f600}",{"\ufffdx":1.0}]'],
    ["the shortest escapes", '["\\u0041\\/\\u000a\\u0022",{"\\/":1.0}]', '["A/\\n\\"",{"/":1.0}]'],
    [
      "strings that begin as a mark does",
      '["k\\":",1.0,{"a":"kind %\\": 1"},"n1","s"]',
      '["k\\":",1.0,{"a":"kind %\\": 1"},"n1","s"]',
    ],
    ["no space between tokens, and all of it in strings", '[ 1.0 ,\n{ " a " : " b " } ]', '[1.0,{" a ":" b "}]'],
  ])("has %s", (_what, json, text) => {
    expect(canonicalText(json)).toBe(text);
  });

  it("is that of a parser of its own, whatever is written", () => {
    fc.assert(
      fc.property(anyJson, (json) => {
        expect([json, canonicalText(json)]).toEqual([json, canonical(json)]);
        expect(canonicalText(canonical(json))).toBe(canonical(json));
      }),
      { numRuns: 5_000 },
    );
  });

  it("is JSON's own of what JSON.stringify wrote", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalText(JSON.stringify(value))).toBe(jsonText(JSON.parse(JSON.stringify(value))));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("an event that is parsed exactly", () => {
  it("is what JSON.parse makes of it, with the text of its Event", () => {
    const keyed = anyJsonObject.filter((json) => !/\\/.test(json));
    fc.assert(
      fc.property(keyed, (json) => {
        const event = `{"Outcome":"x" , "Event" : ${json}}`;
        expect(parseEvent(event, false)).toEqual({ value: JSON.parse(event), eventText: canonical(json) });
      }),
      { numRuns: 2_000 },
    );
  });

  it("has the text of the last of several, however their names are spelt", () => {
    const { value, eventText } = parseEvent('{"Event":{"a":1.0},"\\u0045vent":{"a":2.0},"Outcome":""}', false);
    expect([value, eventText]).toEqual([{ Event: { a: 2 }, Outcome: "" }, '{"a":2.0}']);
    expect(parseEvent('{"Event":{"a":1.0},"Event":[2.0]}', false).eventText).toBe(undefined);
  });

  it("has texts in the place of what becomes text, and nothing else", () => {
    const event = {
      logs: '[{"message":["a",1.0,{"2":-0,"1":null},null,["n1"]]},5,{"message":1e400},{"message":null,"Message":0.10},{}]',
      exceptions: '[{"message":[1.0],"stack":1.5},{"Message":{"a":1.0}},{"message":null},{"message":"n2"}]',
      other: '[{"message":[1.0]}]',
      Logs: '{"message":1.0}',
    };
    const json = `{${Object.entries(event).map(([key, text]) => `"${key}":${text}`)}}`;
    expect(parseEvent(json, false)).toEqual({
      value: {
        logs: [
          { message: ["a", "1.0", '{"2":-0,"1":null}', "null", '["n1"]'] },
          5,
          { message: "1e400" },
          { message: null, Message: "0.10" },
          {},
        ],
        exceptions: [{ message: "[1.0]", stack: 1.5 }, { Message: '{"a":1.0}' }, { message: null }, { message: "n2" }],
        other: [{ message: [1] }],
        Logs: { message: 1 },
      },
    });
  });

  it.each(["5.0", "[1.0]", '"n1.0"', "null", '{"logs":1.0,"Logs":[[{"message":1.0}]]}'])(
    "may be no event: %s",
    (json) => {
      expect(parseEvent(json, false).value).toEqual(JSON.parse(json));
    },
  );

  it("loses at most what is too deep for the stack", () => {
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    const { value } = parseEvent(`{"other":${deep},"logs":[{"message":[${deep},1.0]}]}`, false);
    const [log] = (value as { logs: { message: string[] }[] }).logs;
    expect(["[object Array]", deep].includes(log?.message[0] ?? "")).toBe(true);
    expect(log?.message.slice(1)).toEqual(["1.0"]);
  });
});
