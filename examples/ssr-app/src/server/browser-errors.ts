import type { ShipperRpc } from "./shipper-rpc.ts";

/** In characters. */
const TEXT_MAX = 1_000;
const BODY_MAX_BYTES = 8_192;

/**
 * Turns an error in a visitor's browser into an event, and sends it to the shipper over its service
 * binding. It arrives as a record of a function `tea-shop-browser`. This route is open to everyone,
 * so the body is checked and short, makes one event at most, and is rate-limited by address.
 */
export async function takeBrowserError(request: Request, env: Env): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
  if (request.headers.get("Sec-Fetch-Site") !== "same-origin") return new Response(null, { status: 403 });
  // Cloudflare sets this header; locally it is missing.
  const { success: isFew } = await env.REPORTS.limit({ key: request.headers.get("CF-Connecting-IP") ?? "local" });
  if (!isFew) return new Response(null, { status: 429 });
  if (!(Number(request.headers.get("Content-Length") ?? Number.NaN) <= BODY_MAX_BYTES))
    return new Response(null, { status: 413 });
  const seen = readError(await request.text());
  if (seen === null) return new Response(null, { status: 400 });
  const nowMs = Date.now();
  const shipper = env.SHIPPER as Env["SHIPPER"] & ShipperRpc;
  await shipper.ship({
    ScriptName: "tea-shop-browser",
    EventType: "browser",
    EventTimestampMs: nowMs,
    Outcome: "exception",
    Event: { Page: seen.page },
    Exceptions: [{ Name: seen.name, Message: seen.message, TimestampMs: nowMs }],
  });
  return new Response(null, { status: 202 });
}

interface BrowserError {
  readonly name: string;
  readonly message: string;
  /** Path of the page. */
  readonly page: string;
}

function readError(body: string): BrowserError | null {
  try {
    const { name, message, page } = JSON.parse(body);
    if ([name, message, page].some((text) => typeof text !== "string" || text.length > TEXT_MAX)) return null;
    if (!page.startsWith("/")) return null;
    return { name, message, page };
  } catch {
    return null;
  }
}
