import { expect, it } from "vitest";
import { scriptAt, scriptPath } from "../../../src/web/dashboard/assets.ts";
import { escaped, STEERING, visible } from "../../../src/web/dashboard/parts/foreign.tsx";
import { Field, Select } from "../../../src/web/dashboard/parts/form.tsx";
import { Empty, Notice } from "../../../src/web/dashboard/parts/panel.tsx";

/** Harmful characters, by their effect. */
const HARMFUL: Readonly<Record<string, string>> = {
  "steers a terminal": "\u0000\u0007\u001b\r\u007f\u0085\u009b",
  "turns the order": "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
  "breaks lines": "\u2028\u2029",
  "is not seen": "\u00ad\u115f\u1160\u180e\u200b\u2060\u2064\u206a\u206f\u3164\ufeff\uffa0",
  "hides a text": "\ufff9\ufffb\u{e0001}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}",
};

it.each(Object.entries(HARMFUL))("a text that %s stands there as what it is", (_what, characters) => {
  for (const character of characters) {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    expect([code, visible(`a${character}b`)]).toEqual([
      code,
      expect.stringMatching(/^a([\u2400-\u2421]|<U\+[0-9A-F]{4,5}>)b$/),
    ]);
    expect(escaped(character)).toMatch(/^(\\u[0-9a-f]{4}){1,2}$/);
    expect(JSON.parse(`"${escaped(character)}"`)).toBe(character);
  }
});

it("texts of all scripts, and emoji, are left as they are", () => {
  for (const text of [
    "a\tb\n",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d💻",
    "❤\ufe0f",
    "\u1820\u180b",
    "한글",
    "עברית العربية",
    "\u0600\u0661",
  ])
    expect([visible(text), escaped(text)]).toEqual([text, text]);
});

it("what the API says of a text, in a title or beside a field, turns nothing either", async () => {
  const text = "unknown key \u202egnp.exe";
  const parts = [
    Notice({ kind: "bad", title: text }),
    Empty({ title: text }),
    Field({ name: "a", label: "A", error: text }),
    Select({ name: "a", label: "A", options: [], error: text }),
  ];
  for (const part of parts) expect(`${await part}`).toContain("unknown key &lt;U+202E&gt;gnp.exe");
});

it("what is shown live is shown by the same rule", () => {
  const script = new TextDecoder().decode(scriptAt(scriptPath("live")) ?? undefined);
  expect(script).toContain(`${STEERING}`);
  expect(script).not.toMatch(/^import /m);
});
