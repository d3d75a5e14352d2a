/** The clock and the network of everything that runs here. */
import { platform } from "../../../src/base/platform.ts";
import { countLogLine, countStoreRequest } from "./meter.ts";

/** Far in the real future, so that no alarm fires by itself. */
let nowMs = Date.parse("2100-11-20T12:00:00Z");

export const clock = {
  /** Since the epoch; may have fractions. */
  get nowMs(): number {
    return nowMs;
  },
  /** Never goes back. */
  advanceTo(timeMs: number): void {
    nowMs = Math.max(nowMs, timeMs);
  },
};

/** Stored objects, as HEAD shows them. */
const stored = new Map<string, Headers>();

const SHA256_META = "x-amz-meta-logship-sha256";

/** Lines are counted; warnings and errors are printed as well. */
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

/**
 * Replaces the platform's time, network and console; call it before anything else. The object store
 * accepts everything, and keeps what HEAD has to show.
 */
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
    // Read to its end: the writer of a stream waits for its reader.
    const { byteLength } = await new Response(body ?? null).arrayBuffer();
    const sha256 = new Headers(headers).get(SHA256_META) ?? "";
    stored.set(url, new Headers({ "content-length": `${byteLength}`, [SHA256_META]: sha256 }));
    return new Response(null);
  };
}
