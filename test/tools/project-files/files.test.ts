import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readProjectFile, writeProjectFile } from "../../../tools/project-files/files.ts";
import { folderOf } from "./temporary.ts";

it("writes nothing over what somebody else has written in the meantime", () => {
  const folder = folderOf({ "wrangler.json": "{}" });
  const path = join(folder, "wrangler.json");
  const file = readProjectFile(path);
  writeFileSync(path, '{"name": "shop"}');
  expect(() => writeProjectFile(file, "[]")).toThrow("it was changed in the meantime; nothing was written");
  expect(readFileSync(path, "utf8")).toBe('{"name": "shop"}');
  expect(readdirSync(folder)).toEqual(["wrangler.json"]);
});

it("leaves nothing behind where it cannot write", () => {
  const folder = folderOf({ "wrangler.json": "{}" });
  const file = readProjectFile(join(folder, "wrangler.json"));
  rmSync(join(folder, "wrangler.json"));
  expect(() => writeProjectFile(file, "[]")).toThrow("cannot be read: there is no such file");
  expect(readdirSync(folder)).toEqual([]);
});

it("keeps every byte: a mark at the beginning, line endings, and no end", () => {
  const folder = folderOf({ "wrangler.toml": "\uFEFFname = 'a'\r\n# é😀" });
  const path = join(folder, "wrangler.toml");
  const file = readProjectFile(path);
  writeProjectFile(file, file.text);
  expect(readFileSync(path, "utf8")).toBe("\uFEFFname = 'a'\r\n# é😀");
});

it("waits for no pipe, and follows no link in a circle", () => {
  const folder = folderOf({});
  expect(spawnSync("mkfifo", [join(folder, "pipe.json")]).status).toBe(0);
  symlinkSync("circle.json", join(folder, "circle.json"));
  expect(() => readProjectFile(join(folder, "pipe.json"))).toThrow("not a file");
  expect(() => readProjectFile(join(folder, "circle.json"))).toThrow("cannot be read: ELOOP");
});
