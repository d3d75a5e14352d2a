import type { Page } from "../../page.ts";

export const jobPages: readonly Page[] = [];
