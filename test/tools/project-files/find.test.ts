import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findProjects } from "../../../tools/project-files/find.ts";
import { check } from "./checking.ts";
import { folderOf } from "./temporary.ts";

describe("a search", () => {
  it("takes the file that wrangler takes, and names those that it ignores, and one above that it prefers", () => {
    const { text } = check({
      "wrangler.json": '{"name": "above"}',
      "shop/wrangler.toml": 'name = "old"',
      "shop/wrangler.jsonc": '{"name": "shop"}',
    });
    expect(text).toContain("shop/wrangler.jsonc\n  top level  shop");
    expect(text).toContain("note: shop/wrangler.toml is ignored: wrangler uses shop/wrangler.jsonc");
    expect(text).toContain("note: wrangler uses wrangler.json instead, unless --config names this file");
    expect(text).not.toContain("old");
  });

  it("goes into folders, but not into what is installed, built or hidden", () => {
    const files = ["apps/a", "node_modules/b", "dist", ".wrangler/c", "apps/node_modules/d"].map((folder) => [
      `${folder}/wrangler.json`,
      "{}",
    ]);
    expect(check(Object.fromEntries(files)).reports.map(({ project }) => project)).toEqual(["apps/a/wrangler.json"]);
  });

  it("passes over what a build generated, and what wrangler takes only by --config, which it says", () => {
    const { reports, unnamed, faults } = check({
      "wrangler.jsonc": "{}",
      "wrangler.staging.toml": "",
      "build/server/wrangler.json": '{"configPath": "/x/wrangler.jsonc", "userConfigPath": "../../wrangler.jsonc"}',
    });
    expect(reports.map(({ project }) => project)).toEqual(["wrangler.jsonc"]);
    expect([unnamed, faults]).toEqual([["wrangler.staging.toml"], []]);
  });

  it("says of a file that is named when wrangler takes another one", () => {
    const folder = folderOf({ "wrangler.toml": "", "wrangler.jsonc": "{}", "old-wrangler.toml": "" });
    const shadows = ["wrangler.toml", "wrangler.jsonc", "old-wrangler.toml"].map(
      (name) => findProjects(join(folder, name)).found[0]?.shadowedBy,
    );
    expect(shadows).toEqual([join(folder, "wrangler.jsonc"), null, null]);
  });

  it("ends, and says where", () => {
    const deep = Array.from({ length: 18 }, (_, index) => `d${index}`);
    const { faults, sum } = check({ [join(...deep, "wrangler.json")]: "{}" });
    expect(faults).toEqual([expect.objectContaining({ words: expect.stringContaining("not searched") })]);
    expect(sum.isGood).toBe(false);
  });
});
