/** The clock and the network of everything that runs in here. */
import { platform } from "../../../src/platform.ts";
import { countLogLine, countStoreRequest } from "./meter.ts";

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

/** What stands where, as far as HEAD shows it. */
const stored = new Map<string, Headers>();

const SHA256_META = "x-amz-meta-logship-sha256";

/** Lines are counted; those that tell of something wrong are seen as well. */
function countLines(): void {
  console.info = countLogLine;
  for (const level of ["warn", "error"] as const) {
    const write = console[level].bind(console);
    console[level] = (...args: unknown[]) => {
      countLogLine();
      write(...args);
    };
  }
}

/** Takes time, network and lines from the platform; call it before anything else. The object store takes everything, and keeps what HEAD has to show. */
export function playThePlatform(): void {
  countLines();
  platform.now = () => Math.floor(nowMs);
  platform.sleep = async (ms) => {
    nowMs += ms;
  };
  platform.fetch = async (url, { method = "GET", body, headers }) => {
    countStoreRequest(method);
    if (method !== "PUT") {
      const shown = stored.get(url);
      return new Response(null, shown === undefined ? { status: 404 } : { headers: shown });
    }
    // Read to its end: whoever writes a stream waits for its reader.
    const { byteLength } = await new Response(body ?? null).arrayBuffer();
    const sha256 = new Headers(headers).get(SHA256_META) ?? "";
    stored.set(url, new Headers({ "content-length": `${byteLength}`, [SHA256_META]: sha256 }));
    return new Response(null);
  };
}
