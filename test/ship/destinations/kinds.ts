/**
 * One fixture for each kind of destination, for the contract suite. A new kind is a line in
 * FIXTURES.
 */
import { createHash } from "node:crypto";
import type { DestinationContext } from "../../../src/config.ts";
import { r2OverFetch } from "../../support/runtime/r2-over-fetch.ts";
import { PRODUCTION } from "./context.ts";

/** What a destination's requests go to, in memory. */
export interface Service {
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** What stands under a key; undefined: nothing. */
  get(key: string): Uint8Array | undefined;
  /** Puts another object under a key, as another client of the service would. */
  put(key: string, bytes: Uint8Array): void;
}

export interface Fixture {
  /** Its secrets are {@link SECRETS}, or one of them. */
  conf: string;
  /** The protocol has the secret in the address of each request. */
  secretInAddress?: boolean;
  service(): Service;
  /** Where it is not reached by `fetch` of the platform, but by what the context has. */
  context?: (fetch: Service["fetch"]) => DestinationContext;
}

export const SECRETS = ["SECRET-ID-4711", "SECRET-KEY-0815"];
const KEYS = `access-key-id=${SECRETS[0]}&secret-access-key=${SECRETS[1]}`;

const md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");
const base64Md5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("base64");

/**
 * A bucket that speaks S3. @param shows false: its ETags are no MD5, as with encryption by a
 * managed key. @param family of its headers; Google's honours a condition of its own alone.
 * @param host that holds the bucket: others are refused. Absent: the bucket is in the path.
 */
function bucket(shows = true, family: "amz" | "goog" = "amz", host?: string): Service {
  const [meta, condition] =
    family === "amz"
      ? ["x-amz-meta-logship-sha256", "if-none-match"]
      : ["x-goog-meta-logship-sha256", "x-goog-if-generation-match"];
  const objects = new Map<string, { bytes: Uint8Array; sha256: string | null }>();
  const keyOf = (url: string): string =>
    decodeURIComponent(
      new URL(url).pathname
        .split("/")
        .slice(host === undefined ? 2 : 1)
        .join("/"),
    );
  return {
    get: (key) => objects.get(key)?.bytes,
    put: (key, bytes) => {
      objects.set(key, { bytes, sha256: null });
    },
    fetch: async (url, { method, headers, body }) => {
      if (host !== undefined && new URL(url).host !== host)
        return new Response("<Error><Code>SecondLevelDomainForbidden</Code></Error>", { status: 403 });
      const key = keyOf(url);
      const asked = new Headers(headers);
      const stored = objects.get(key);
      if (method === "PUT") {
        if (asked.has(condition) && stored !== undefined) return new Response(null, { status: 412 });
        const bytes = new Uint8Array(await new Response(body).arrayBuffer());
        objects.set(key, { bytes, sha256: asked.get(meta) });
        return new Response(null, { headers: { etag: shows ? `"${md5(bytes)}"` : '"opaque"' } });
      }
      if (stored === undefined) return new Response("<Code>NoSuchKey</Code>", { status: 404 });
      const shown = new Headers({ "content-length": `${stored.bytes.length}` });
      shown.set("etag", shows ? `"${md5(stored.bytes)}"` : '"opaque"');
      if (stored.sha256 !== null) shown.set(meta, stored.sha256);
      return method === "HEAD" ? new Response(null, { headers: shown }) : given(stored.bytes, asked, shown);
    },
  };
}

/** An object, or the part of it that a GET asks for. */
function given(bytes: Uint8Array, asked: Headers, shown: Headers): Response {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(asked.get("range") ?? "") ?? [];
  if (first === undefined) return new Response(bytes.slice(), { headers: shown });
  const part = bytes.slice(Number(first), Number(last) + 1);
  shown.set("content-length", `${part.length}`);
  return new Response(part, { status: 206, headers: shown });
}

/** A container of Azure, whose ETags are opaque. It answers requests that have the secret. */
function container(): Service {
  const objects = new Map<string, { bytes: Uint8Array; sha256: string | null }>();
  const error = (status: number, code: string): Response =>
    new Response(`<Error><Code>${code}</Code></Error>`, { status, headers: { "x-ms-error-code": code } });
  return {
    get: (key) => objects.get(key)?.bytes,
    put: (key, bytes) => {
      objects.set(key, { bytes, sha256: null });
    },
    fetch: async (url, { method, headers, body }) => {
      const { pathname, searchParams } = new URL(url);
      if (searchParams.get("sig") !== SECRETS[1]) return error(403, "AuthenticationFailed");
      const key = decodeURIComponent(pathname.split("/").slice(2).join("/"));
      const asked = new Headers(headers);
      const stored = objects.get(key);
      if (method === "PUT") {
        if (asked.get("x-ms-blob-type") !== "BlockBlob") return error(400, "MissingRequiredHeader");
        if (asked.has("if-none-match") && stored !== undefined) return error(409, "BlobAlreadyExists");
        const bytes = new Uint8Array(await new Response(body).arrayBuffer());
        objects.set(key, { bytes, sha256: asked.get("x-ms-meta-logshipsha256") });
        return new Response(null, { status: 201, headers: { etag: '"0x8D"', "content-md5": base64Md5(bytes) } });
      }
      if (stored === undefined) return error(404, "BlobNotFound");
      const shown = new Headers({ "content-length": `${stored.bytes.length}`, etag: '"0x8D"' });
      shown.set("content-md5", base64Md5(stored.bytes));
      if (stored.sha256 !== null) shown.set("x-ms-meta-logshipsha256", stored.sha256);
      return method === "HEAD" ? new Response(null, { headers: shown }) : given(stored.bytes, asked, shown);
    },
  };
}

const SAS = `sv=2021-12-02&ss=b&srt=o&sp=rcw&se=2031-12-31T00%3A00%3A00Z&spr=https&sig=${SECRETS[1]}`;

/** What a bound bucket is asked, as requests to this address. */
const BOUND = "https://bound.example/TRACES/";

export const FIXTURES: { readonly [name: string]: Fixture } = {
  objstore: { conf: `objstore://traces/logs/{DATE}?account-id=a1&${KEYS}`, service: () => bucket() },
  r2: { conf: `r2://traces/logs/{DATE}?account-id=a1&${KEYS}`, service: () => bucket() },
  s3: { conf: `s3://traces/logs/{DATE}?region=auto&endpoint=store.example&${KEYS}`, service: () => bucket() },
  "s3, by host": {
    conf: `s3://traces/logs/{DATE}?region=cn-hangzhou&endpoint=oss.example&addressing-style=virtual&${KEYS}`,
    service: () => bucket(true, "amz", "traces.oss.example"),
  },
  azure: {
    conf: `azure://account1.blob.core.windows.net/traces/logs/{DATE}?${SAS}`,
    secretInAddress: true,
    service: container,
  },
  "s3, encrypted": { conf: `s3://traces/?region=eu-west-1&sse=AES256&${KEYS}`, service: () => bucket(false) },
  gs: { conf: `gs://traces/logs/{DATE}?${KEYS}`, service: () => bucket(true, "goog") },
  "gs, encrypted": { conf: `gs://traces/logs/{DATE}?${KEYS}`, service: () => bucket(false, "goog") },
  binding: {
    conf: "binding://TRACES/logs/{DATE}",
    service: () => bucket(),
    context: (fetch) => ({
      ...PRODUCTION,
      binding: () => r2OverFetch(fetch, (key) => `${BOUND}${key.split("/").map(encodeURIComponent).join("/")}`),
    }),
  },
};
