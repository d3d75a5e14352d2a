/**
 * The controls of the scripted S3 endpoint for one bucket, over `fetch` alone: for tests in the
 * Workers runtime.
 */
import type { ObjectSummary, PutSummary, Rule, SeenRequest } from "./s3-script.ts";

export interface BucketControl {
  script(rules: readonly Rule[]): Promise<void>;
  requests(): Promise<SeenRequest[]>;
  objects(): Promise<ObjectSummary[]>;
  /** Every successful PUT in order, overwritten objects included. */
  puts(): Promise<PutSummary[]>;
  /**
   * The bytes of an object: the current ones, or those of its n-th PUT; undefined if there is none.
   */
  object(key: string, version?: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** All current objects, as oracle.ts audits them. */
  contents(): Promise<{ key: string; bytes: Uint8Array<ArrayBuffer> }[]>;
  /** @returns how many requests were held. */
  release(): Promise<number>;
  /** Resolves once `count` requests are held at once. @throws Error after 60 s. */
  whenHeld(count: number): Promise<void>;
  forget(): Promise<void>;
}

/**
 * @param serverUrl `url` of the endpoint.
 * Every method throws an Error with the endpoint's message if it answers with anything but success.
 */
export function bucketControl(serverUrl: string, bucket: string): BucketControl {
  const base = `${serverUrl}/__control/${encodeURIComponent(bucket)}`;

  async function call(method: string, what: string, body?: string): Promise<Response> {
    const response = await fetch(`${base}${what}`, { method, ...(body === undefined ? {} : { body }) });
    if (response.ok) return response;
    throw new Error(`${method} ${what} of bucket ${bucket}: ${response.status} ${await response.text()}`);
  }

  async function read<T>(method: string, what: string): Promise<T> {
    return (await (await call(method, what)).json()) as T;
  }

  async function object(key: string, version?: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const query = new URLSearchParams({ key, ...(version === undefined ? {} : { version: String(version) }) });
    const response = await fetch(`${base}/object?${query}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`reading ${key} of bucket ${bucket}: ${response.status}`);
    return bytes;
  }

  async function done(method: string, what: string, body?: string): Promise<void> {
    // An unread body would keep the connection, and draws a warning in the Workers runtime.
    await (await call(method, what, body)).arrayBuffer();
  }

  return {
    script: (rules) => done("PUT", "/script", JSON.stringify(rules)),
    requests: () => read("GET", "/requests"),
    objects: () => read("GET", "/objects"),
    puts: () => read("GET", "/puts"),
    object,
    contents: async () => {
      const contents: { key: string; bytes: Uint8Array<ArrayBuffer> }[] = [];
      for (const { key } of await read<ObjectSummary[]>("GET", "/objects")) {
        const bytes = await object(key);
        if (bytes !== undefined) contents.push({ key, bytes });
      }
      return contents;
    },
    release: async () => (await read<{ released: number }>("POST", "/release")).released,
    whenHeld: (count) => done("GET", `/held?count=${count}`),
    forget: () => done("DELETE", ""),
  };
}
