import { AwsClient } from "aws4fetch";
import { localObjectStore } from "../paths.ts";

/**
 * The bucket that `wrangler dev` serves, and its credentials, as in wrangler.jsonc. They are valid
 * nowhere else.
 */
export const LOCAL_BUCKET = {
  name: "traces",
  accessKeyId: "local-access-key",
  secretAccessKey: "local-secret-key",
} as const;

/** A destination in the local bucket, as a job takes it. */
export function localDestination(path: string): string {
  const { name, accessKeyId, secretAccessKey } = LOCAL_BUCKET;
  return `objstore://${name}/${path}?account-id=local&access-key-id=${accessKeyId}&secret-access-key=${secretAccessKey}`;
}

export interface StoredObject {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Reads the local bucket over the S3 protocol with signed requests, like any S3 client. */
export class Bucket {
  /** URL of the bucket. */
  readonly url: string;
  readonly #client: AwsClient;

  constructor(serverUrl: string) {
    const { name, accessKeyId, secretAccessKey } = LOCAL_BUCKET;
    this.url = `${localObjectStore(serverUrl)}/${name}`;
    this.#client = new AwsClient({ accessKeyId, secretAccessKey, service: "s3", region: "auto", retries: 0 });
  }

  /** All keys below a prefix, in order. */
  async list(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    for (let token: string | undefined; ; ) {
      const query = new URLSearchParams({
        "list-type": "2",
        prefix,
        ...(token !== undefined && { "continuation-token": token }),
      });
      const xml = await (await this.#get(`${this.url}?${query}`)).text();
      for (const [, key = ""] of xml.matchAll(/<Key>([^<]*)<\/Key>/g)) keys.push(decodeXml(key));
      token = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(xml)?.[1];
      if (token === undefined) return keys;
      token = decodeXml(token);
    }
  }

  async get(key: string): Promise<Uint8Array> {
    // Each segment is encoded before signing: `=` in a key would break the signature.
    const path = key.split("/").map(encodeURIComponent).join("/");
    return new Uint8Array(await (await this.#get(`${this.url}/${path}`)).arrayBuffer());
  }

  /** All objects below a prefix. */
  async read(prefix: string): Promise<StoredObject[]> {
    const objects: StoredObject[] = [];
    for (const key of await this.list(prefix)) objects.push({ key, bytes: await this.get(key) });
    return objects;
  }

  async #get(url: string): Promise<Response> {
    const response = await fetch(await this.#client.sign(url));
    if (response.ok) return response;
    const code = /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1] ?? "no code";
    throw new Error(`GET ${url}: HTTP ${response.status} ${code}`);
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function decodeXml(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name ?? ""] ?? whole;
  });
}
