import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { jsonc } from "../../../tools/project-files/jsonc.ts";
import type { Language, Place } from "../../../tools/project-files/model.ts";
import { toml } from "../../../tools/project-files/toml.ts";

export const FIXTURES = join(import.meta.dirname, "fixtures");

export interface Fixture {
  name: string;
  path: string;
  text: string;
  /** The file after `npm run attach`, as it is committed. */
  attached: string;
  language: Language;
}

/** Project files of many shapes, by name. */
export function fixtures(): Fixture[] {
  return readdirSync(FIXTURES, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => ({
      name,
      path: join(FIXTURES, name),
      text: readFileSync(join(FIXTURES, name), "utf8"),
      attached: readFileSync(join(FIXTURES, "attached", name), "utf8"),
      language: languageOf(name),
    }));
}

export function languageOf(name: string): Language {
  return name.endsWith(".toml") ? toml : jsonc;
}

export function attaching(place?: Place) {
  return { service: "logship", place, detach: false };
}

export function detaching(place?: Place) {
  return { service: "logship", place, detach: true };
}
