import type { Permission } from "../../src/state/access/roles.ts";

/** The part of a page's definition that tests in Node use. */
export interface PageEntry {
  path: string;
  get?: { permission: Permission | null };
  post?: { permission: Permission | null };
}

// Not a literal: these pages use the types of the Workers runtime, these tests those of Node.
const file = "../../src/web/dashboard/pages.ts";

/** As the service mounts them, so that a new page is tested too. */
export const PAGES = ((await import(/* @vite-ignore */ file)) as { PAGES: readonly PageEntry[] }).PAGES;

/** The patterns that answer GET. */
export const PATTERNS: readonly string[] = PAGES.filter(({ get }) => get !== undefined).map(({ path }) => path);
