import type { ByteRange } from "../destination.ts";

/**
 * A store as its kind's client presents it: three requests, and of each answer what anything
 * follows from. How objects get there once is upload.ts, the same for all.
 */
export interface StoreClient {
  /** PUTs one object. No method throws: an answer or its absence is data. */
  put(request: PutRequest): Promise<StoreAnswer>;
  head(key: string): Promise<StoreAnswer>;
  /**
   * Asks for an object, or a part of it. The caller bounds the time for its body.
   * @returns `body` with a 2xx alone, to be read to its end or cancelled.
   */
  get(key: string, range?: ByteRange): Promise<{ answer: StoreAnswer; body: ReadableStream<Uint8Array> | null }>;
}

export interface PutRequest {
  key: string;
  body: Uint8Array | ReadableStream<Uint8Array>;
  bytes: number;
  /** Hex; kept beside the object, so that HEAD can show it. */
  sha256: string;
  contentType: string;
  /** Hex; the store is to compare it with what arrives. null: it is not asked to. */
  md5: string | null;
  /** The object is only created, never written over. */
  conditional: boolean;
}

/**
 * What a store said. Of its own words only status, code and a region are kept: the rest is
 * untrusted text.
 */
export type StoreAnswer =
  | {
      kind: "answer";
      status: number;
      /** Its word for an error: letters, digits, a dot. */
      code: string | null;
      /** Where status and code say more, or something else, than the status does at S3. */
      means?: Meaning;
      /** Where the store says that the bucket is, if it refuses for that. */
      region?: string;
      retryAfterS: number | null;
      /**
       * As S3 gives it: the MD5 of an object that came in one PUT, in hex. A client that learns the
       * MD5 in another way says it here; one whose ETags are never an MD5 says null.
       */
      etag: string | null;
      bytes: number | null;
      /** The checksum that was stored beside the object. */
      sha256: string | null;
    }
  | { kind: "unreachable"; cause: "timeout" | "connection failed" };

/**
 * - `there`: an object stands under the key, and the PUT was refused for it; as 412 does.
 * - `destination`: the same for every object until a person changes something.
 * - `moment`: not now.
 * - `object`: of this object alone, whatever headers it comes with.
 */
export type Meaning = "there" | "destination" | "moment" | "object";
