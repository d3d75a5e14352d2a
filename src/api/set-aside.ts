import type { Resource } from "./route.ts";

export const setAsideRoutes: readonly Resource[] = [];
