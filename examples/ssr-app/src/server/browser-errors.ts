import type { ShipperRpc } from "./shipper-rpc.ts";

/** More of a message than anybody reads. */
const TEXT_MAX = 1_000;
const BODY_MAX_BYTES = 8_192;

/**
 * What went wrong in a visitor's browser, which no trace event tells: it is made into an event here, and handed to the shipper over its service binding. It
 * arrives as a record of a function `tea-shop-browser`. Anybody may send anything, and as often: so it is checked, short, never more than one event, and
 * only so many a minute are taken from one address.
 */
export async function takeBrowserError(request: Request, env: Env): Promise<Response> {
  if (request.method !== "POST") return new Response(null, { status: 405, headers: { Allow: "POST" } });
  if (request.headers.get("Sec-Fetch-Site") !== "same-origin") return new Response(null, { status: 403 });
  // The platform says who asks; nobody does on a developer's machine.
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
