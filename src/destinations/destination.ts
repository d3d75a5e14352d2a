/** Where a job's objects go, read from its `destination_conf`. Both kinds speak the S3 protocol; a kind knows only its own string. */
export interface Destination {
  scheme: string;
  bucket: string;
  /** Below the bucket, without slashes at its ends; may hold `{DATE}` anywhere, or be empty. */
  path: string;
  /** Base of all requests: `<endpoint>/<bucket>/<key>`; may have a path prefix. */
  endpoint: URL;
  /** Of the account, for `objstore://`. */
  accountId: string | null;
  region: string;
  /** Asks the store to encrypt at rest. */
  sse: "AES256" | null;
  credentials: { accessKeyId: string; secretAccessKey: string };
}

/** Where objects go, without the keys to it. */
export type Place = Omit<Destination, "credentials">;

/** What reading a `destination_conf` depends on besides the string. */
export interface DestinationContext {
  /** Endpoint behind `objstore://`; may contain `{account-id}`. */
  objstoreEndpoint: string;
  /** Plain `http://` to loopback addresses is permitted (local development only). */
  allowLoopback: boolean;
  /** A secret by its name, for `credentials=env:DEST_<NAME>`. */
  secret(name: string): string | undefined;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; why: string };

/** What a kind of destination gets to see: its own string, split, and nothing decoded twice. */
export interface DestinationParts {
  bucket: string;
  path: string;
  /** Percent-decoded; a `+` stays a `+`. */
  parameters: ReadonlyMap<string, string>;
}

/** One kind of destination, one file. */
export interface DestinationKind {
  schemes: readonly string[];
  /** Parameters beside the credentials. */
  parameters: readonly string[];
  /** Where its requests go; credentials are read by the caller, once the endpoint is known. */
  locate(
    parts: DestinationParts,
    context: DestinationContext,
  ): Parsed<Pick<Destination, "endpoint" | "region" | "sse" | "accountId">>;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * IPv4 addresses, as a parsed URL writes them, that are of this machine, of private networks, link-local, for protocols, measurements and documentation, or of
 * no single host (224 and beyond). https://www.iana.org/assignments/iana-ipv4-special-registry
 */
const NOT_PUBLIC_IPV4 =
  /^(?:(?:0|10|127|22[4-9]|2[3-5]\d)\.|169\.254\.|192\.(?:168|0\.[02]|88\.99)\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|198\.(?:1[89]|51\.100)\.|203\.0\.113\.)/;

/** Whether a host may be asked from the internet; an IPv6 literal is none that anybody needs. */
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/\.+$/, "");
  if (host.startsWith("[") || host === "localhost" || host.endsWith(".localhost")) return false;
  return !(/^\d+\.\d+\.\d+\.\d+$/.test(host) && NOT_PUBLIC_IPV4.test(host));
}

/**
 * An endpoint: a host, or an absolute URL whose path prefix is kept. Only https, but for loopback where that is allowed; loopback is refused
 * where it is not.
 * @param name what to call it in a complaint.
 */
export function parseEndpoint(text: string, name: string, allowLoopback: boolean): Parsed<URL> {
  // A URL drops some of these and takes others for a slash: it would lead elsewhere than whoever reads it thinks.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return { ok: false, why: `${name} must be a host or an https:// URL` };
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(absolute)) return { ok: false, why: `${name} must be a host or an https:// URL` };
  const url = new URL(absolute);
  if (url.username !== "" || url.password !== "")
    return { ok: false, why: `${name} must not contain user information` };
  if (url.search !== "" || url.hash !== "") return { ok: false, why: `${name} must not contain a query or a fragment` };
  const loopback = LOOPBACK.test(url.hostname);
  if (!isPublicHost(url.hostname) && !(loopback && allowLoopback))
    return { ok: false, why: `${name} must be a public host` };
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback))
    return { ok: false, why: `${name} must use https` };
  url.pathname = url.pathname.replace(/\/+$/, "");
  return { ok: true, value: url };
}
