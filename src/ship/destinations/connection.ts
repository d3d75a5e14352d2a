import { isLoopback } from "../../base/hosts.ts";
import { readStream } from "../../base/streams.ts";
import type { NetworkPlatform } from "./destination.ts";

/** For one request, in ms. */
const REACH_MS = 5_000;
const BODY_MAX_BYTES = 2_048;

/** What servers that speak https say to plain http: Go's, nginx, Apache. */
const SPEAKS_HTTPS = /HTTPS server|HTTPS port|SSL-enabled/i;

/**
 * What came of one request. `lost`: refused, cut off, or no answer in time. `secured`: the port
 * speaks https, and plain http was sent. `garbled`: it answers what the network takes for no HTTP,
 * such as headers of more than 128 KB. `failed`: none of these; the name is unknown, TLS failed, or
 * the answer is garbled and the runtime does not say so.
 */
type Reached = "answered" | "secured" | "lost" | "garbled" | "failed";

const GARBLED = "it answers, but no HTTP, or too many headers";

/**
 * Why no connection to an endpoint comes about, in words; null: it does. The runtime says of it
 * only `Network connection lost` or `internal error`, so the endpoint is asked in its own protocol
 * and then in the other one, without a signature or anything else of the destination. In production
 * the platform's network answers 52x and 530 in place of an origin.
 * @param hasAnswered a request has been answered, maybe only to say that plain http is not spoken.
 */
export async function whyUnreachable(
  endpoint: URL,
  platform: NetworkPlatform,
  hasAnswered = false,
): Promise<string | null> {
  const isSecure = endpoint.protocol === "https:";
  const own = await reach(endpoint, endpoint.protocol, platform);
  if (own === "secured") return "it speaks https, not http";
  if (own === "answered" || hasAnswered) return null;
  if (own === "garbled") return GARBLED;
  const unknown = isAddress(endpoint) ? GARBLED : "the host name is unknown";
  if (isSecure && own === "lost") return "nothing listens at this port, or it hangs up";
  if (!isSecure && own === "failed") return unknown;
  const other = await reach(endpoint, isSecure ? "http:" : "https:", platform);
  if (!isSecure && other === "lost") return "nothing listens at this port, or it hangs up";
  // Too many headers read like the answer of https, whose certificate the runtime may not trust.
  if (!isSecure) return `it speaks https, not http${other === "failed" ? ", or sends too many headers" : ""}`;
  if (other === "answered") return "it speaks http, not https";
  if (other === "failed") return unknown;
  return "its certificate is not trusted, has expired or is for another name";
}

/** Whether no name server is asked for it. */
function isAddress({ hostname }: URL): boolean {
  return isLoopback(hostname) || /^[\d.]+$/.test(hostname);
}

async function reach(endpoint: URL, protocol: string, platform: NetworkPlatform): Promise<Reached> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), REACH_MS);
  try {
    const port = endpoint.port || (endpoint.protocol === "https:" ? "443" : "80");
    const url = `${protocol}//${endpoint.hostname}:${port}/`;
    const { status, body } = await platform.fetch(url, { redirect: "manual", signal: deadline.signal });
    const { bytes } = await readStream(body, { maxBytes: BODY_MAX_BYTES, ms: REACH_MS });
    if (status === 400 && SPEAKS_HTTPS.test(new TextDecoder().decode(bytes))) return "secured";
    if (status === 530 || status === 525 || status === 526) return "failed";
    if (status === 520) return "garbled";
    return status > 520 && status <= 524 ? "lost" : "answered";
  } catch (error) {
    const isLost = deadline.signal.aborted || /connection lost|refused|reset/i.test(`${error}`);
    return isLost ? "lost" : "failed";
  } finally {
    clearTimeout(timer);
  }
}
