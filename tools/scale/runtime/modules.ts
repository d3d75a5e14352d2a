/**
 * Lets Node load the shipper as it stands in src: `cloudflare:workers` is a stand-in, pages are
 * compiled, scripts for browsers are texts. Import it before anything of src that has a class of a
 * durable object.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { type Options, transformSync } from "@swc/core";

const STAND_IN = new URL("./workers.ts", import.meta.url).href;

const PAGE: Options = {
  jsc: {
    parser: { syntax: "typescript", tsx: true },
    transform: { react: { runtime: "automatic", importSource: "hono/jsx" } },
    target: "es2024",
  },
  module: { type: "es6" },
  swcrc: false,
};

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workers" ? { url: STAND_IN, shortCircuit: true } : next(specifier, context),
  load(url, context, next) {
    const isText = /\.(?:client\.js|css)$/.test(url);
    const source = isText
      ? (text: string) => `export default ${JSON.stringify(text)}`
      : (text: string) => transformSync(text, PAGE).code;
    if (!url.endsWith(".tsx") && !isText) return next(url, context);
    return { format: "module", shortCircuit: true, source: source(readFileSync(fileURLToPath(url), "utf8")) };
  },
});
