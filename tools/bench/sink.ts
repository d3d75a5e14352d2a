/**
 * An S3 endpoint that verifies no signature and keeps no bodies unless it is told to: it checks the
 * announced length and SHA-256 of every PUT, and keeps what HEAD has to show. It can read as slowly
 * as a store under load.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** How it reads bodies, and its answer to valid ones. */
export interface Manner {
  status: 200 | 503;
  /** Pause after every MB, in ms. */
  restMs: number;
  /** Stops reading for a while once so much of a body has come. */
  stall: { atBytes: number; forMs: number } | null;
}

export const FAST: Manner = { status: 200, restMs: 0, stall: null };

/** Tests of a destination have this day: they are answered as any store does, at once. */
const TEST = "/00010101/";

const MEGABYTE = 1_000_000;

export class Sink {
  manner: Manner = FAST;
  /** A stall is over: no byte was read meanwhile. */
  onStalled = (): void => {};
  /** Bodies are kept from now on, and GET gives them. */
  isKeeping = false;
  /** Those that were kept, by path, with when they were there whole, by `performance.now()`. */
  readonly kept = new Map<string, { body: Buffer; atMs: number }>();
  /** What was wrong with bodies. */
  readonly faults: string[] = [];
  /** The most bodies that were under way at once, since the last reset. */
  mostAtOnce = 0;
  #atOnce = 0;
  /** What HEAD shows, by path. */
  readonly #heads = new Map<string, OutgoingHttpHeaders>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      this.faults.push(String(error));
      request.socket.destroy();
    });
  });

  /** @returns its endpoint. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "", headers } = request;
    const [path = ""] = url.split("?", 1);
    const head = this.#heads.get(path);
    if (method === "HEAD" || method === "GET")
      return void response.writeHead(head === undefined ? 404 : 200, head).end(this.kept.get(path)?.body);
    if (method !== "PUT") return void response.writeHead(501).end();
    const isTest = path.includes(TEST);
    const { status, ...reading } = isTest ? FAST : this.manner;
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    const { bytes, sha256, md5, body } = await this.#read(request, reading).finally(() => {
      this.#atOnce -= 1;
    });
    const announced = headers["x-amz-content-sha256"] as string | undefined;
    const isWhole = bytes === Number(headers["content-length"] ?? bytes);
    // Other clients announce a stream, or nothing.
    if (!isWhole || (/^[0-9a-f]{64}$/.test(announced ?? "") && announced !== sha256)) {
      this.faults.push("a body of another length or checksum than announced");
      return void response.writeHead(400).end();
    }
    const etag = `"${md5}"`;
    if (status === 200) {
      const meta = Object.entries(headers).filter(([name]) => name.startsWith("x-amz-meta-"));
      this.#heads.set(path, { ...Object.fromEntries(meta), etag, "content-length": bytes });
      if (this.isKeeping && !isTest) this.kept.set(path, { body, atMs: performance.now() });
    }
    response.writeHead(status, { etag }).end();
  }

  async #read(request: IncomingMessage, { restMs, stall }: Omit<Manner, "status">) {
    const kept: Buffer[] = [];
    const [sha256, md5] = [createHash("sha256"), createHash("md5")];
    let bytes = 0;
    let restAt = MEGABYTE;
    let stallAt = stall?.atBytes ?? Number.POSITIVE_INFINITY;
    // While this waits, the stream reads no more than it had already requested.
    for await (const chunk of request as AsyncIterable<Buffer>) {
      sha256.update(chunk);
      md5.update(chunk);
      if (this.isKeeping) kept.push(chunk);
      bytes += chunk.length;
      if (restMs > 0 && bytes >= restAt) {
        restAt = bytes + MEGABYTE;
        await pause(restMs);
      }
      if (bytes >= stallAt) {
        stallAt = Number.POSITIVE_INFINITY;
        await pause(stall?.forMs ?? 0);
        this.onStalled();
      }
    }
    return { bytes, sha256: sha256.digest("hex"), md5: md5.digest("hex"), body: Buffer.concat(kept) };
  }
}
