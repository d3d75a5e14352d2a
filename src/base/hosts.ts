/**
 * Which hosts this service may be sent to, judged by the name alone: one rule for destinations, the
 * webhook and UPSTREAM_API. Host names are those of a parsed URL, which writes every form of an
 * IPv4 address (`0x7f.1`, `2130706433`, full-width digits) as four decimal numbers.
 */

const LOOPBACK = /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * IPv4 addresses that are of this machine, of private networks, link-local, for protocols,
 * measurements and documentation, or of no single host (224 and beyond); and 168.63.129.16, where
 * Azure answers its own machines.
 * https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const NOT_PUBLIC_IPV4 =
  /^(?:(?:0|10|127|22[4-9]|2[3-5]\d)\.|169\.254\.|192\.(?:168|0\.[02]|88\.99)\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|198\.(?:1[89]|51\.100)\.|203\.0\.113\.|168\.63\.129\.16$)/;

/**
 * Top-level names of private networks: RFC 6762, appendix G; RFC 8375; those of Kubernetes and of
 * Linux distributions; and ICANN's resolution on `.internal`.
 */
const PRIVATE_NAME =
  /\.(?:internal|intranet|private|corp|home|lan|local|localdomain|localhost|home\.arpa|in-addr\.arpa|ip6\.arpa|svc)$/;

/** Where clouds answer their own machines, with credentials. */
const METADATA = /^(?:metadata|metadata\.goog|instance-data|instance-data\..+)$/;

/** Whether a host is this machine. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

/**
 * Whether a host may be reached from the internet, as far as its name tells. No IPv6 literal counts
 * as one, nor does a name without a dot.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, "");
  if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) return !NOT_PUBLIC_IPV4.test(host);
  return host.includes(".") && !host.startsWith("[") && !PRIVATE_NAME.test(host) && !METADATA.test(host);
}

/**
 * Whether a host may be used in local development: this machine, or a name without a dot, which is
 * a container beside it (`minio`).
 */
export function isLocalHost(hostname: string): boolean {
  return isLoopback(hostname) || (/^[a-z0-9_-]+$/.test(hostname) && !METADATA.test(hostname));
}

/**
 * Whether a secret that was stored for one address may be used at the other: the one rule of all
 * stored secrets, of destinations, alerts and the webhook. The path counts, as one host may serve
 * many; parameters do not.
 */
export function keepsSecrets(a: URL, b: URL): boolean {
  return a.origin === b.origin && a.pathname === b.pathname;
}

/**
 * An endpoint: a host, or an absolute URL whose path prefix is kept. Only https and public hosts,
 * except for local hosts where loopback is allowed.
 * @param name what to call it in an error.
 */
export function parseEndpoint(
  text: string,
  name: string,
  allowLoopback: boolean,
): { ok: true; value: URL } | { ok: false; why: string } {
  // A URL drops some of these and takes others for a slash: it would lead elsewhere than it seems
  // to.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return { ok: false, why: `${name} must be a host or an https:// URL` };
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(absolute)) return { ok: false, why: `${name} must be a host or an https:// URL` };
  const url = new URL(absolute);
  if (url.username !== "" || url.password !== "")
    return { ok: false, why: `${name} must not contain user information` };
  if (url.search !== "" || url.hash !== "") return { ok: false, why: `${name} must not contain a query or a fragment` };
  const isLocal = allowLoopback && isLocalHost(url.hostname);
  if (!isPublicHost(url.hostname) && !isLocal) return { ok: false, why: `${name} must be a public host` };
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLocal))
    return { ok: false, why: `${name} must use https` };
  url.pathname = url.pathname.replace(/\/+$/, "");
  return { ok: true, value: url };
}
