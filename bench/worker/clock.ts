/** The clock and the network of everything that runs in here. */
import { platform } from "../../src/platform.ts";
import { countStoreRequest } from "./meter.ts";

/** Far in the real future, so that no alarm fires by itself. */
let nowMs = Date.parse("2100-11-20T12:00:00Z");

export const clock = {
  /** Since the epoch; may have fractions. */
  get nowMs(): number {
    return nowMs;
  },
  /** Never back. */
  advanceTo(timeMs: number): void {
    nowMs = Math.max(nowMs, timeMs);
  },
};

/** Takes time and network from the platform; call it before anything else. The object store takes everything. */
export function playThePlatform(): void {
  platform.now = () => Math.floor(nowMs);
  platform.sleep = async (ms) => {
    nowMs += ms;
  };
  platform.fetch = async (_url, { method = "GET", body }) => {
    countStoreRequest(method);
    // Read to its end: whoever writes a stream waits for its reader.
    if (body) await new Response(body).arrayBuffer();
    return new Response(null);
  };
}
