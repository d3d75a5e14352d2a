import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { check } from "./checking.ts";

describe("a search", () => {
  it("takes the file that wrangler takes, and names those that it ignores, and one above that it prefers", () => {
    const { text } = check({
      "wrangler.json": '{"name": "above"}',
      "shop/wrangler.toml": 'name = "old"',
      "shop/wrangler.jsonc": '{"name": "shop"}',
    });
    expect(text).toContain("shop/wrangler.jsonc\n  top level  shop");
    expect(text).toContain("note: shop/wrangler.toml is ignored: wrangler takes shop/wrangler.jsonc");
    expect(text).toContain("note: wrangler takes wrangler.json instead of it, unless --config names it");
    expect(text).not.toContain("old");
  });

  it("goes into folders, but not into what is installed, built or hidden", () => {
    const files = ["apps/a", "node_modules/b", "dist", ".wrangler/c", "apps/node_modules/d"].map((folder) => [
      `${folder}/wrangler.json`,
      "{}",
    ]);
    expect(check(Object.fromEntries(files)).reports.map(({ project }) => project)).toEqual(["apps/a/wrangler.json"]);
  });

  it("ends, and says where", () => {
    const deep = Array.from({ length: 18 }, (_, index) => `d${index}`);
    const { faults, sum } = check({ [join(...deep, "wrangler.json")]: "{}" });
    expect(faults).toEqual([expect.objectContaining({ words: expect.stringContaining("not searched") })]);
    expect(sum.isGood).toBe(false);
  });

  it("that finds nothing is said", () => {
    expect(check({ "readme.md": "" }).faults).toHaveLength(1);
  });
});
