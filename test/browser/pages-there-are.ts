import type { Permission } from "../../src/access/roles.ts";

/** Of a page, what tests in Node ask of it. */
export interface PageEntry {
  path: string;
  get?: { permission: Permission | null };
  post?: { permission: Permission | null };
}

// Not a literal: the pages' types are those of the runtime, and Node's are here.
const file = "../../src/dashboard/pages.ts";

/** As the service mounts them: a page that is added is tested. */
export const PAGES = ((await import(/* @vite-ignore */ file)) as { PAGES: readonly PageEntry[] }).PAGES;

/** The patterns of all that can be looked at. */
export const PATTERNS: readonly string[] = PAGES.filter(({ get }) => get !== undefined).map(({ path }) => path);
