/** The tokens of all styles: colours that can be read in both schemes, and no name for nothing. */
import { describe, expect, it } from "vitest";
import { STYLE } from "../../../src/web/dashboard/assets.ts";
import TOKENS from "../../../src/web/dashboard/style/tokens.css";

/** By scheme, then by name. */
const COLOURS = ["light", "dark"].map((scheme, i) => ({
  scheme,
  of: new Map(
    [...TOKENS.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name, ...both]) => [name, both[i]]),
  ),
}));

/** WCAG 2.2, 1.4.3: relative luminance. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a = "", b = ""): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((one, other) => one - other);
  return (high + 0.05) / (low + 0.05);
}

const STATES = ["ok", "warn", "bad", "info"];
const GROUNDS = ["ground", "surface", "sunken"];
const PAIRS: readonly (readonly [name: string, ground: string, least: number])[] = [
  ...["text", "quiet", "accent", ...STATES].flatMap((name) => GROUNDS.map((ground) => [name, ground, 4.5] as const)),
  ...STATES.flatMap((state) =>
    ["text", "quiet", "accent", state].map((name) => [name, `${state}-ground`, 4.5] as const),
  ),
  ["on-accent", "accent", 4.5],
  ...["edge", "bar", "bar-2", "bar-3"].flatMap((name) =>
    ["ground", "surface"].map((ground) => [name, ground, 3] as const),
  ),
];

describe.each(COLOURS)("in the $scheme scheme", ({ of }) => {
  it.each(PAIRS)("%s is seen on %s", (name, ground, least) => {
    expect(contrast(of.get(name), of.get(ground))).toBeGreaterThanOrEqual(least);
  });
});

it("each name that is used is one of the tokens, and each token is used", () => {
  const names = (text: string, pattern: RegExp) =>
    [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();
  const defined = names(TOKENS, /--([\w-]+):/g);
  expect(defined.length).toBeGreaterThan(30);
  expect(names(STYLE, /var\(--([\w-]+)\)/g)).toEqual(defined);
});
