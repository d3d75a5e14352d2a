import { encodeUtf8 } from "../../../src/base/bytes.ts";
import type { Module, Upload } from "../../../src/state/functions/module.ts";

/** An ES module by default. */
export function module(name: string, text: string, type = "application/javascript+module"): Module {
  return { name, type, bytes: encodeUtf8(text) };
}

/** An upload as read from a form: `index.js` is the main module. */
export function upload(modules: readonly Module[], metadata: Readonly<Record<string, unknown>> = {}): Upload {
  return { metadata: { main_module: "index.js", ...metadata }, mainModule: "index.js", ships: true, modules };
}
