import type { Page } from "../page.ts";

export const livePages: readonly Page[] = [];
