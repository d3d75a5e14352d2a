import type { Page } from "../page.ts";
import { alertPages } from "./status/alerts.tsx";
import { wrongPages } from "./status/all.tsx";
import { webhookPages } from "./status/webhook.tsx";

/** Current findings, incidents, and who is told. */
export const statusPages: readonly Page[] = [...wrongPages, ...alertPages, ...webhookPages];
