/** A bucket over the S3 protocol, read with the user's own keys. */
import { AwsClient } from "aws4fetch";
import type { Archive, Stored } from "./archive.ts";

export interface S3Settings {
  readonly bucket: string;
  /** Without slashes at its ends; "": the whole bucket. */
  readonly prefix: string;
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** The bucket stands before the host. */
  readonly isVirtual?: boolean;
}

export interface Outer {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly pause: (ms: number) => Promise<void>;
}

/** The store did not answer as it should: status and code, and nothing else of its own. */
export class StoreFailure extends Error {}

/** Waits before a request is sent again, in ms. */
const AGAIN_MS = [500, 2_000, 8_000];

/**
 * Where `s3://<bucket>/<prefix>` is, by the variables that the AWS CLI takes. It has none for the
 * style of addressing.
 * @returns what is missing, in words.
 */
export function readS3Settings(
  url: string,
  env: Readonly<Record<string, string | undefined>>,
  isVirtual = false,
): S3Settings | { missing: string } {
  const match = /^s3:\/\/([^/?#]+)(?:\/([^?#]*))?$/.exec(url);
  if (match === null) return { missing: "an address like s3://<bucket>/<prefix>" };
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey)
    return { missing: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: keys that may list and read the bucket" };
  const given = env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || (given ? "auto" : "us-east-1");
  const endpoint = (given || `https://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`).replace(
    /\/+$/,
    "",
  );
  if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint))
    return { missing: "AWS_ENDPOINT_URL: an https:// address" };
  return {
    bucket: match[1] ?? "",
    prefix: (match[2] ?? "").replace(/\/+$/, ""),
    endpoint,
    region,
    accessKeyId,
    secretAccessKey,
    sessionToken: env.AWS_SESSION_TOKEN || undefined,
    ...(isVirtual && { isVirtual }),
  };
}

export function s3Archive(settings: S3Settings, { fetch, pause }: Outer): Archive {
  const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey, sessionToken, isVirtual } = settings;
  const client = new AwsClient({
    accessKeyId,
    secretAccessKey,
    ...(sessionToken !== undefined && { sessionToken }),
    service: "s3",
    region,
    retries: 0,
  });
  const below = prefix === "" ? "" : `${prefix}/`;
  const base = isVirtual ? endpoint.replace("://", `://${bucket}.`) : `${endpoint}/${encodeURIComponent(bucket)}`;

  /** null: there is no such object. @throws StoreFailure */
  async function get(url: string, isObject: boolean): Promise<Response | null> {
    for (let tries = 0; ; tries++) {
      const wait = AGAIN_MS[tries];
      const response = await fetch(await client.sign(url, { redirect: "manual" })).catch(() => null);
      if (response?.ok) return response;
      const text = (await response?.text().catch(() => "")) ?? "";
      const code = /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text.slice(0, 16_384))?.[1];
      if (isObject && response?.status === 404 && code !== "NoSuchBucket") return null;
      const isPassing = response === null || response.status === 429 || response.status >= 500;
      if (isPassing && wait !== undefined) await pause(wait);
      else throw new StoreFailure(response === null ? "no answer" : `HTTP ${response.status} ${code ?? ""}`.trim());
    }
  }

  async function* list(): AsyncGenerator<Stored> {
    for (let token: string | undefined; ; ) {
      const query = new URLSearchParams({ "list-type": "2", prefix: below });
      if (token !== undefined) query.set("continuation-token", token);
      const xml = (await (await get(`${base}?${query}`, false))?.text()) ?? "";
      for (const [, key = ""] of xml.matchAll(/<Key>([^<]*)<\/Key>/g)) {
        const path = decodeXml(key).slice(below.length);
        // Some tools keep empty objects for folders.
        if (path !== "" && !path.endsWith("/")) yield { path };
      }
      const next = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(xml)?.[1];
      if (next === undefined) return;
      token = decodeXml(next);
    }
  }

  return {
    prefix,
    list,
    read: async (path) => {
      // Each segment is encoded before signing: `=` in a key would break the signature.
      const key = `${below}${path}`.split("/").map(encoded).join("/");
      const response = await get(`${base}/${key}`, true);
      return response === null ? null : (response.body ?? new Blob([]).stream());
    },
  };
}

function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decodeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name ?? ""] ?? whole;
  });
}
