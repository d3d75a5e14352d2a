import type { FixedObject } from "../destination.ts";
import { isSuccess, MOMENTARY } from "./answers.ts";
import type { StoreAnswer } from "./client.ts";

/**
 * An object as it was sent. S3 gives the MD5 as the ETag of an object that came in one PUT and is
 * not encrypted with a managed key.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
 */
export type SentObject = Pick<FixedObject, "bytes" | "sha256" | "md5">;

/** What HEAD shows under an object's key. */
export type Shown =
  /** The object: its MD5, or its length beside our checksum. */
  | "same"
  /** Our object, but not all of it: our checksum or its MD5, beside another length. */
  | "damaged"
  /** Something else. */
  | "different"
  /**
   * An MD5 that is not ours, beside our length and no checksum: something else, or our object in a
   * store whose ETags are of its own making and that drops metadata. Only its bytes tell.
   */
  | "lookalike"
  /**
   * The store does not tell enough: HEAD is not allowed, or what it shows proves nothing either
   * way.
   */
  | "hidden"
  | "absent"
  /**
   * A success that names no object: neither our checksum, nor an MD5, nor our length. A page of a
   * proxy that answers everything.
   */
  | "nameless"
  /** No answer, or one that says nothing of the object. */
  | "unknown";

/**
 * Whether the answer to a PUT says that the store has exactly these bytes. A 2xx alone does not: a
 * proxy or a store that kept half says that, too.
 */
export function confirms(answer: StoreAnswer, { md5 }: Pick<SentObject, "md5">): boolean {
  return isSuccess(answer) && etagOf(answer) === md5;
}

/** What the answer to a HEAD says of an object. */
export function compare(head: StoreAnswer, { bytes, sha256, md5 }: SentObject): Shown {
  if (head.kind === "unreachable") return "unknown";
  if (head.status === 404 || head.status === 410) return "absent";
  if (head.status === 501 || (head.status >= 400 && head.status < 500 && !MOMENTARY.has(head.status))) return "hidden";
  if (head.status !== 200) return "unknown";
  const etag = etagOf(head);
  if (head.sha256 === sha256 || etag === md5) {
    if (head.bytes === null) return etag === md5 ? "same" : "hidden";
    return head.bytes === bytes ? "same" : "damaged";
  }
  if (head.sha256 !== null) return "different";
  if (etag !== null && /^[0-9a-f]{32}$/.test(etag))
    return head.bytes === null || head.bytes === bytes ? "lookalike" : "different";
  // A store that drops metadata and has ETags of its own making shows nothing but a length.
  if (head.bytes === bytes) return "hidden";
  // The ETag of an object that came in parts: the MD5 of the MD5s of its parts.
  return etag !== null && /^[0-9a-f]{32}-\d+$/.test(etag) ? "different" : "nameless";
}

/** What is wrong with what HEAD shows, for a job's error message. */
export function damageWords(head: StoreAnswer, { bytes }: Pick<SentObject, "bytes">): string {
  if (head.kind === "answer" && head.bytes !== null && head.bytes < bytes)
    return `the store keeps ${head.bytes} of ${bytes} bytes`;
  if (head.kind === "answer" && head.bytes === null) return "the store does not show what it keeps";
  return "the store keeps other bytes than it was sent";
}

/** An ETag without its quotes and the mark of a weak one, in lower case. */
function etagOf(answer: Extract<StoreAnswer, { kind: "answer" }>): string | null {
  return answer.etag?.replace(/^W\//, "").replaceAll('"', "").toLowerCase() ?? null;
}
