import { log } from "../log.ts";
import type { Arrived } from "../pipeline/live.ts";
import { within } from "../platform.ts";
import { type Live, live } from "./live.ts";

/** How long those who watch may take to get records, in ms. Nobody waits for it but the platform, which may keep the batch's acknowledgements until then. */
const PUSH_MS = 2_000;

/** Hands records to whoever watches. Never rejected; what goes wrong is named by its kind alone, as its words may quote a record. */
export async function showLive(namespace: DurableObjectNamespace<Live>, records: Arrived): Promise<void> {
  try {
    const sent = live(namespace)
      .push(records)
      .then(() => "sent" as const);
    if ((await within(PUSH_MS, sent, "late")) === "late") log.warn("records are late for those who watch");
  } catch (error) {
    const kind = error instanceof Error ? error.name : typeof error;
    log.warn("records could not be shown as they arrived", { error: kind });
  }
}
