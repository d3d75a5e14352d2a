import type { Page } from "../page.ts";

export const statusPages: readonly Page[] = [];
