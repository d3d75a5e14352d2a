import type { Resource } from "./route.ts";

export const replayRoutes: readonly Resource[] = [];
