import { join } from "node:path";
import { expect, it } from "vitest";
import { unstable_readConfig } from "wrangler";
import { sectionsOf } from "../../../tools/project-files/edit.ts";
import { fixtures } from "./fixtures.ts";
import { folderOf } from "./temporary.ts";

/** What wrangler reads from a text, of the top level or an environment. */
function readByWrangler(name: string, text: string, place: string | null) {
  // It does not know our name of the switch.
  const folder = folderOf({ [`wrangler${name.slice(name.lastIndexOf("."))}`]: text.replaceAll("logship", "logpush") });
  const config = join(folder, `wrangler${name.slice(name.lastIndexOf("."))}`);
  return unstable_readConfig({ config, ...(place === null ? {} : { env: place }) }, { hideWarnings: true });
}

it.each(
  fixtures().flatMap(({ name, text, attached, language }) =>
    [text, attached].flatMap((each, index) =>
      sectionsOf(each, language).map((section) => ({
        name: `${name}${index === 1 ? ", attached" : ""}, ${section.place ?? "top level"}`,
        file: name,
        text: each,
        section,
      })),
    ),
  ),
)("reads what wrangler reads: $name", ({ file, text, section }) => {
  const config = readByWrangler(file, text, section.place);
  const consumers = section.consumers.map((each) => ({ ...each, service: each.service.replace("logship", "logpush") }));
  expect({
    name: section.scriptName ?? undefined,
    logpush: section.logging?.value,
    tail_consumers: consumers,
  }).toEqual({ name: config.name, logpush: config.logpush, tail_consumers: config.tail_consumers ?? [] });
});

it("does not inherit what wrangler does not inherit, and inherits the switch", () => {
  const text = '{"name": "shop", "logpush": true, "tail_consumers": [{"service": "logpush"}], "env": {"live": {}}}';
  const config = readByWrangler("wrangler.json", text, "live");
  expect([config.name, config.logpush, config.tail_consumers]).toEqual(["shop-live", true, undefined]);
});
