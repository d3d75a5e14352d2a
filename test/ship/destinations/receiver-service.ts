/** What fixtures of receivers are made of: receivers.ts. */
import { gunzipSync } from "node:zlib";

/**
 * What a receiver has taken, in memory. It is strict: what its service would not take, it refuses.
 */
export interface ReceiverService {
  /**
   * Answers as its service does. Of a record whose text has {@link POISON} it says that it is bad.
   */
  fetch(url: string, init: RequestInit): Promise<Response>;
  /**
   * The marks of the records that it stored, in order; of a service that tells repeats: once each.
   */
  taken(): string[];
}

export interface ReceiverFixture {
  /** Its secrets are {@link SECRETS}, or one of them. */
  conf: string;
  /** @param nowMs its time, since the epoch; absent: the one of the contract suite. */
  service(nowMs?: number): ReceiverService;
  /** It tells a record that it has from one that it has not. */
  tellsRepeats: boolean;
  /**
   * A record that it takes for itself alone never exceeds this, in bytes of NDJSON; null: none is
   * too long.
   */
  recordBytes: number | null;
  /** Statuses below 500 after which it may have taken some of a body. */
  partialAt?: readonly number[];
}

/**
 * The value of `Logs[0].Message[0]`: what a test knows a record by. Where records are texts within
 * JSON, its quotes are escaped.
 */
export const MARK = /"mark-[0-9a-z-]+\\?"/g;
/** Stands in the text of a record that a receiver refuses. */
export const POISON = "poison";

export interface Asked {
  url: URL;
  headers: Headers;
  /** The body, inflated. */
  text: string;
}

/** What was sent. @throws if it is no gzip of UTF-8, or its length is not what its head says. */
export async function asked(url: string, { headers, body }: RequestInit): Promise<Asked> {
  const packed = new Uint8Array(await new Response(body).arrayBuffer());
  const given = new Headers(headers);
  if (given.get("content-encoding") !== "gzip") throw new Error("the body is no gzip");
  if (given.get("content-length") !== `${packed.length}`) throw new Error("the length is another one");
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(gunzipSync(packed));
  return { url: new URL(url), headers: given, text };
}

export function marksIn(text: string): string[] {
  return (text.match(MARK) ?? []).map((mark) => mark.replace(/^"|\\?"$/g, ""));
}
