import type { Resource } from "./route.ts";

export const canaryRoutes: readonly Resource[] = [];
