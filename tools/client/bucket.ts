import { localObjectStore } from "../paths.ts";
import { s3Archive } from "../verify/s3-archive.ts";

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
  readonly #endpoint: string;

  constructor(serverUrl: string) {
    this.#endpoint = localObjectStore(serverUrl);
    this.url = `${this.#endpoint}/${LOCAL_BUCKET.name}`;
  }

  /** What is below a folder. Nothing waits: a server that does not answer is gone. */
  #below(prefix: string) {
    const { name: bucket, ...keys } = LOCAL_BUCKET;
    const settings = { bucket, prefix, endpoint: this.#endpoint, region: "auto", ...keys };
    return s3Archive(settings, { fetch: (request) => fetch(request), pause: async () => {} });
  }

  /** All keys below a folder, in order. @param folder ends with a slash; "": all. */
  async list(folder: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { path } of this.#below(folder.replace(/\/$/, "")).list()) keys.push(`${folder}${path}`);
    return keys;
  }

  async get(key: string): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    const content = await this.#below("").read(key);
    if (content === null) throw new Error(`the bucket has no ${key}`);
    for await (const piece of content) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** All objects below a folder. */
  async read(folder: string): Promise<StoredObject[]> {
    const objects: StoredObject[] = [];
    for (const key of await this.list(folder)) objects.push({ key, bytes: await this.get(key) });
    return objects;
  }
}
