import type { Page } from "../page.ts";

export const asidePages: readonly Page[] = [];
