import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "vitest";
import { ROOT } from "../../tools/paths.ts";

it("knows every line of the log from docs/log-lines.md", ({ expect }) => {
  const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  const sources = files.map((name) => readFileSync(join(ROOT, "src", name), "utf8"));
  const messages = sources.flatMap((source) =>
    [...source.matchAll(/\blog\.(?:info|warn|error)\(\s*"([^"]+)"/g)].map(([, message = ""]) => message),
  );
  expect(messages).toEqual(expect.arrayContaining(["request", "batch", "an append failed"]));
  const documented = readFileSync(join(ROOT, "docs/log-lines.md"), "utf8");
  expect(messages.filter((message) => !documented.includes(`\`${message}\``))).toEqual([]);
});
