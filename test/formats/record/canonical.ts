/** JSON as a sender may write it, and the text that records have of it: by a parser of its own. */
import * as fc from "fast-check";

const STRING = /"(?:[^"\\]|\\.)*"/y;
const OTHER = /[-+.\w]+/y;

/**
 * The text without white space between tokens; numbers and the order of keys as they are; strings
 * as `JSON.stringify` has them, without lone surrogates; of a key that is repeated, the last value
 * in the place of the first.
 * @param json valid.
 */
export function canonical(json: string): string {
  let at = 0;
  const next = (): string => {
    while (/[ \t\r\n]/.test(json[at] ?? "")) at += 1;
    return json[at] ?? "";
  };
  const token = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [text] = pattern.exec(json) ?? [];
    if (text === undefined) throw new Error(`not JSON: ${json}`);
    at += text.length;
    return text;
  };
  const string = (): string => JSON.stringify((JSON.parse(token(STRING)) as string).toWellFormed());
  const members = (close: string, member: () => void): void => {
    at += 1;
    while (next() !== close) {
      member();
      if (next() === ",") at += 1;
    }
    at += 1;
  };
  const value = (): string => {
    switch (next()) {
      case "{": {
        const texts = new Map<string, string>();
        members("}", () => {
          const key = string();
          next();
          at += 1;
          texts.set(key, value());
        });
        return `{${[...texts].map(([key, text]) => `${key}:${text}`).join()}}`;
      }
      case "[": {
        const texts: string[] = [];
        members("]", () => texts.push(value()));
        return `[${texts.join()}]`;
      }
      case '"':
        return string();
      default:
        return token(OTHER);
    }
  };
  return value();
}

/** Numbers that JavaScript would write in another way. */
export const NUMBERS = [
  ...[
    "9007199254740993",
    "-9007199254740993",
    "18446744073709551615",
    "1e400",
    "-1e400",
    "1e-400",
    "1.0",
    "-0",
    "-0.0",
  ],
  ...["1E2", "1e+2", "0.10", "100e-2", "0e0", "1e21", "1000000000000000000000", "1e-7", "0.0000001", "0.000001"],
  ...[
    "0.1000000000000000055511151231257827",
    "3.141592653589793238462643383279",
    "5e-324",
    "4.9e-324",
    "123456789012345.60",
  ],
];

/** Keys as JSON. Some are one key, some are nearly one, some have another place in an object. */
export const KEYS = [
  ...['""', '"a"', '"\\u0061"', '"b"', '"0"', '"7"', '"10"', '"007"', '"-1"', '"1.5"', '"4294967294"', '"4294967295"'],
  ...[
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"toJSON"',
    '"length"',
    '"rawJSON"',
    '"Event"',
    '"message"',
    '"Logs"',
  ],
  ...['"\\""', '"\\\\\\""', '"\\"_"', '"\\\\"', '"\\/"', '"\\n"', '"\\u0000"', '"\\u001e"', '"\\ud800"', '"\\udc00"'],
  ...[
    '"\\ud83d\\ude00"',
    '"\u{1f600}"',
    '"é"',
    '"\u2028"',
    '"%"',
    '"%5C"',
    '"%22"',
    '"%u"',
    '"\\u0025"',
    '"n1"',
    '"sx"',
    '"kx"',
  ],
  ...['"k\\":"', '"k%\\":"', '"\\"k\\":"', '"{\\"n1.0\\"}"', '",\\"EventTimestampMs\\":1"'],
];

const SPACE = fc.constantFrom("", "", "", "", " ", "\n  ", "\t", "\r\n");
const digits = fc.stringMatching(/^-?(?:0|[1-9]\d{0,24})(?:\.\d{1,24})?(?:[eE][-+]?\d{1,3})?$/);
const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  digits,
  fc.double().map((n) => JSON.stringify(n)),
);
const anyString = fc.oneof(
  fc.constantFrom(...KEYS),
  fc.string({ unit: "binary" }).map((text) => JSON.stringify(text)),
  fc.constantFrom(...NUMBERS, '"n1.0', "\\").map((text) => JSON.stringify(text)),
);
const plain = fc.oneof(number, anyString, fc.constantFrom("null", "true", "false", "1", "1795176000000"));

function texts(key: fc.Arbitrary<string>) {
  return fc.letrec<{ value: string; object: string; list: string }>((tie) => ({
    value: fc.oneof({ depthSize: "small", withCrossShrink: true }, plain, tie("object"), tie("list")),
    object: fc
      .array(fc.tuple(key, SPACE, tie("value"), SPACE), { maxLength: 5 })
      .map((all) => `{${all.map(([name, blank, text, after]) => `${name}${blank}:${text}${after}`).join()}}`),
    list: fc
      .array(fc.tuple(SPACE, tie("value")), { maxLength: 4 })
      .map((all) => `[${all.map((each) => each.join("")).join()}]`),
  }));
}

/** JSON texts. */
export const { value: anyJson, object: anyJsonObject } = texts(fc.oneof(fc.constantFrom(...KEYS), anyString));
