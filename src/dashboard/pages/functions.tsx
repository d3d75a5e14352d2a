import type { Page } from "../page.ts";

export const functionPages: readonly Page[] = [];
