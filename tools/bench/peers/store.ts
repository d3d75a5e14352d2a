/** An S3 endpoint that takes every PUT, keeps the bodies, and verifies no signature. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzip } from "node:zlib";
import { linesOf } from "./records.ts";

/** Objects that a shipper writes to try a destination; logship's has this day. */
const TRIAL = "/00010101/";

export class Store {
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => request.socket.destroy());
  });
  #objects: Buffer[] = [];
  /** What HEAD says of an object, by path. */
  readonly #heads = new Map<string, OutgoingHttpHeaders>();
  /** Lines of all objects since the last {@link take}. */
  lines = 0;
  /** When the last object was there whole, by `performance.now()`. */
  lastMs = 0;

  /** @returns its URL, without a slash at the end. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** All objects since the last call. */
  take(): Buffer[] {
    const taken = this.#objects;
    this.#objects = [];
    this.lines = 0;
    return taken;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "", headers } = request;
    const [path = ""] = url.split("?", 1);
    const sent = await buffer(request);
    if (method === "HEAD") {
      const head = this.#heads.get(path);
      return void response.writeHead(head === undefined ? 404 : 200, head).end();
    }
    if (method !== "PUT") return void response.writeHead(501).end();
    const body = "x-amz-decoded-content-length" in headers ? unchunked(sent) : sent;
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    const meta = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
    this.#heads.set(path, { ...Object.fromEntries(meta), etag, "content-length": body.length });
    if (!path.includes(TRIAL)) {
      this.#objects.push(body);
      this.lastMs = performance.now();
      gunzip(body, (_error, content) => {
        this.lines += content === undefined ? 0 : linesOf(content).length;
      });
    }
    response.writeHead(200, { etag }).end();
  }
}

/**
 * The content of a body in `aws-chunked` coding.
 * @throws if a chunk has no size.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html
 */
export function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = body.indexOf("\r\n", at);
    const size = end === -1 ? Number.NaN : Number.parseInt(body.toString("latin1", at, end), 16);
    if (Number.isNaN(size)) throw new Error("a chunk without a size");
    if (size === 0) return Buffer.concat(chunks);
    chunks.push(body.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
