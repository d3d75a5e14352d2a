import { expect, it } from "vitest";
import { shellWord, shownPath } from "../../../tools/project-files/command-line.ts";

it.each([
  ["/home/me/shop/wrangler.json", "shop/wrangler.json"],
  ["/home/me", "."],
  ["/home/shop", "../shop"],
  ["/srv/a\u001b/b", "../../srv/a\\u{1b}/b"],
  [`/home/me/${"a/".repeat(150)}wrangler.json`, `${"a/".repeat(150)}wrangler.json`],
])("shows %j as %j, whole", (path, shown) => {
  expect(shownPath(path, "/home/me")).toBe(shown);
});

it("shows a path of far away from the root", () => {
  expect(shownPath("/srv/shop", "/home/me/a/b")).toBe("/srv/shop");
});

it.each([
  ["shop/wrangler.json", "shop/wrangler.json"],
  ["", "''"],
  ["it's $HOME; rm", "'it'\\''s $HOME; rm'"],
])("writes %j for a shell as %s", (word, written) => {
  expect(shellWord(word)).toBe(written);
});
