import type { Resource } from "./route.ts";

export const webhookRoutes: readonly Resource[] = [];
