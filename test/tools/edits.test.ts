/** What `npm run attach -- --local` takes for an edit. */
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { watchEdits } from "../../tools/servers/edits.ts";
import { untilPasses } from "../support/until.ts";

it("sees each edit of a file, also after an editor has replaced it, and of new folders", async () => {
  const root = mkdtempSync(join(tmpdir(), "logship-edits-"));
  const ending = new AbortController();
  onTestFinished(() => {
    ending.abort();
    rmSync(root, { recursive: true });
  });
  const path = (name: string): string => join(root, name);
  for (const folder of ["src", "node_modules", ".git"]) mkdirSync(path(folder));
  writeFileSync(path("src/a.ts"), "");
  const onEdit = vi.fn();
  const onFault = vi.fn();
  watchEdits(root, { signal: ending.signal, onEdit, onFault });
  /** Whether it was seen, and nothing of it comes later. */
  const seen = async (edit: () => void): Promise<void> => {
    edit();
    await untilPasses(() => expect(onEdit).toHaveBeenCalled());
    await new Promise((resolve) => setTimeout(resolve, 100));
    onEdit.mockClear();
  };
  const replace = (): void => {
    writeFileSync(path(".draft"), "new");
    renameSync(path(".draft"), path("src/a.ts"));
  };
  for (let times = 0; times < 3; times++) {
    await seen(replace);
    await seen(() => appendFileSync(path("src/a.ts"), "more"));
  }
  await seen(() => mkdirSync(path("src/new")));
  await seen(() => writeFileSync(path("src/new/b.ts"), ""));
  await seen(() => rmSync(path("src/new"), { recursive: true }));
  await seen(() => mkdirSync(path("src/new")));
  await seen(() => writeFileSync(path("src/new/b.ts"), ""));
  writeFileSync(path("node_modules/c.js"), "");
  writeFileSync(path(".git/HEAD"), "");
  await seen(() => appendFileSync(path("src/a.ts"), "last"));
  writeFileSync(path("node_modules/c.js"), "more");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect([onEdit, onFault].map(({ mock }) => mock.calls)).toEqual([[], []]);
});
