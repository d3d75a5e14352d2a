import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vitest/config";

/**
 * Lets tests in Node read what pages there are: the scripts for browsers are texts there too, and classes of durable objects are never made.
 */
const pagesInNode: Plugin = {
  name: "pages-in-node",
  enforce: "pre",
  resolveId: (id) => (id === "cloudflare:workers" ? `\0${id}` : null),
  load(id) {
    if (id === "\0cloudflare:workers")
      return "export class DurableObject {} export class WorkerEntrypoint {} export const env = {};";
    if (id.endsWith(".client.js")) return `export default ${JSON.stringify(readFileSync(id, "utf8"))}`;
    return null;
  },
};

/** The dashboard in a real browser: apart from the other tests, as it needs one to be installed. */
export default defineConfig({
  plugins: [pagesInNode],
  test: {
    name: "browser",
    include: ["test/browser/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 90_000,
    fileParallelism: false,
  },
});
