import type { Page } from "../page.ts";
import { wrongPages } from "./status/all.tsx";
import { webhookPages } from "./status/webhook.tsx";

/** What is wrong, what was, and who is told. */
export const statusPages: readonly Page[] = [...wrongPages, ...webhookPages];
