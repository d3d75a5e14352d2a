import type { Platform } from "../platform.ts";
import type { Facts, UndoneAttachment, WaitingReplay } from "./facts.ts";
import type { Rhythm } from "./rhythm.ts";
import type { Samples } from "./samples.ts";

/** What is known of earlier looks. It lives in the watch's storage; gathering brings it up to date. */
export interface WatchMemory {
  samples: Samples;
  rhythm: Rhythm;
}

/** Those who are asked beside the log, the ledger and the control plane. */
export interface Sources {
  replays(env: Env): Promise<readonly WaitingReplay[]>;
  attachments(env: Env): Promise<readonly UndoneAttachment[]>;
}

export const SOURCES: Sources = { replays: async () => [], attachments: async () => [] };

/** Asks everybody. Never throws, and takes twenty seconds at most: what does not answer is a fact. */
export async function gather(
  _env: Env,
  _memory: WatchMemory,
  platform: Pick<Platform, "now">,
  _sources: Sources = SOURCES,
): Promise<Facts> {
  return {
    nowMs: platform.now(),
    configFaults: [],
    controlTold: false,
    jobs: [],
    account: "silent",
    outbox: "silent",
    functions: "silent",
    replays: "silent",
    attachments: "silent",
  };
}
