import type { Page } from "../../page.ts";

export const createPages: readonly Page[] = [];
