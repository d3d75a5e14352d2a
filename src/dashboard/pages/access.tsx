import type { Page } from "../page.ts";

export const accessPages: readonly Page[] = [];
