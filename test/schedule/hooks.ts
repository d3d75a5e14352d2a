/**
 * Lets Node load the source as it is: the runtime's own module is a stand-in, and pages for
 * browsers, which no run asks for, are left out. Import it before the source.
 */
import { registerHooks } from "node:module";
import { type Mutant, without } from "./mutants.ts";

let mutant: Mutant | null = null;

/** The source comes without this rule from here on. */
export function leaveOut(rule: Mutant): void {
  mutant = rule;
}

/** Modules that are pages, and what takes their place. */
const LEFT_OUT: readonly (readonly [end: string, source: string])[] = [
  [
    "/src/web/dashboard/mount.tsx",
    "export const mountDashboard = () => {}; export const isForReading = () => false; export const nothingHere = null;",
  ],
  ["/src/web/openapi/serve.ts", "export const mountDescription = () => {};"],
];

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "cloudflare:workers"
      ? { url: new URL("cloudflare-workers.ts", import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
  load(url, context, next) {
    const source = LEFT_OUT.find(([end]) => url.endsWith(end))?.[1];
    if (source !== undefined) return { format: "module", source, shortCircuit: true };
    const loaded = next(url, context);
    if (mutant === null || !url.endsWith(`/src/${mutant.file}`)) return loaded;
    return { ...loaded, source: without(mutant, `${loaded.source}`) };
  },
});
