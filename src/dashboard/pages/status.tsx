import type { Page } from "../page.ts";
import { wrongPages } from "./status/all.tsx";
import { webhookPages } from "./status/webhook.tsx";

/** Current findings, incidents, and the webhook. */
export const statusPages: readonly Page[] = [...wrongPages, ...webhookPages];
