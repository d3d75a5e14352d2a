import type { Page } from "../../page.ts";

export const editPages: readonly Page[] = [];
