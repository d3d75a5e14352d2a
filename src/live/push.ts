import { log } from "../log.ts";
import type { Arrived } from "../pipeline/live.ts";
import { within } from "../platform.ts";
import { type Live, live } from "./live.ts";

/**
 * Deadline, in ms. Only the platform waits for it: it may hold back the batch's acknowledgements
 * until then.
 */
const PUSH_MS = 2_000;

/**
 * Sends records to live viewers. Never rejects; an error is logged by its kind alone, as its
 * message may quote a record.
 */
export async function showLive(namespace: DurableObjectNamespace<Live>, records: Arrived): Promise<void> {
  try {
    const sent = live(namespace)
      .push(records)
      .then(() => "sent" as const);
    if ((await within(PUSH_MS, sent, "late")) === "late") log.warn("records are late for live viewers");
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error;
    log.warn("records could not be shown as they arrived", { error: kind });
  }
}
