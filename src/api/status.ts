import type { Resource } from "./route.ts";

export const statusRoutes: readonly Resource[] = [];
