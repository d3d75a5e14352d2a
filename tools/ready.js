/**
 * Runs before every script of package.json: says in one sentence what is missing, where Node or an
 * import would only show a stack. It is JavaScript of any release of Node and imports no package.
 */
import { existsSync } from "node:fs";

/** @returns what the user has to do; null: nothing. */
function missing() {
  if (!existsSync(new URL("../node_modules/.bin/wrangler", import.meta.url)))
    return "The packages of this project are not installed: run npm ci";
  // It runs TypeScript by itself from 22.18 on, and from 23.6 on.
  if (!("typescript" in process.features) || process.features.typescript === false)
    return `Node.js ${process.versions.node} cannot run this project. npm ci installs one that can, unless install scripts are off: run npm ci --ignore-scripts=false, or take Node.js 22.18 or newer`;
  return null;
}

const words = missing();
if (words !== null) {
  console.error(words);
  process.exit(1);
}
