/**
 * An S3 endpoint that keeps no bodies unless it is told to: it checks the announced length and
 * SHA-256 of every PUT, and keeps what HEAD has to show. It can read as slowly as a store under
 * load. A POST is of a receiver, and is taken.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
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

const SHA256_META = "x-amz-meta-logship-sha256";

/** Only bodies beyond this size count: smaller ones are probes. */
const OBJECT_MIN_BYTES = 1_000_000;

const MEGABYTE = 1_000_000;

export class Sink {
  manner: Manner = FAST;
  /** A stall is over: no byte was read meanwhile. */
  onStalled = (): void => {};
  /** The last byte of an object was read; the answer follows. */
  onReceived = (): void => {};
  /** Bodies are kept from now on, and GET gives them. */
  isKeeping = false;
  /** What was wrong with bodies. */
  readonly faults: string[] = [];
  /** The most bodies that were under way at once, since the last reset. */
  mostAtOnce = 0;
  #atOnce = 0;
  /** What is stored, by path: the headers that tell one body from another. */
  readonly #stored = new Map<string, Record<string, string | number>>();
  readonly #bodies = new Map<string, Buffer>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      this.faults.push(String(error));
      request.socket.destroy();
    });
  });

  /** @returns its endpoint. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path = "" } = request;
    if (method === "HEAD") {
      const headers = this.#stored.get(path);
      return void response.writeHead(headers === undefined ? 404 : 200, headers).end();
    }
    if (method === "GET") {
      const body = this.#bodies.get(path);
      return void response.writeHead(body === undefined ? 404 : 200, this.#stored.get(path)).end(body);
    }
    if (method === "POST") return this.#receive(request, response);
    if (method !== "PUT") return void response.writeHead(405).end();
    const announced = Number(request.headers["content-length"]);
    const isObject = announced >= OBJECT_MIN_BYTES;
    // Probes are answered as any store does, at once.
    const { status, ...reading } = isObject ? this.manner : FAST;
    this.#atOnce += isObject ? 1 : 0;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    try {
      const { bytes, sha256, body } = await this.#read(request, reading);
      const fault =
        bytes !== announced ? "length" : sha256 !== request.headers["x-amz-content-sha256"] ? "checksum" : null;
      if (fault !== null) {
        this.faults.push(`a body of another ${fault} than announced`);
        return void response.writeHead(400).end();
      }
      if (isObject) this.onReceived();
      if (status === 200) {
        this.#stored.set(path, { "content-length": bytes, [SHA256_META]: sha256 });
        if (this.isKeeping) this.#bodies.set(path, body);
      }
      response.writeHead(status).end();
    } finally {
      this.#atOnce -= isObject ? 1 : 0;
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    try {
      await this.#read(request, FAST);
      // Loki's success; the other one is OTLP's.
      if (request.url?.includes("/loki/")) response.writeHead(204).end();
      else response.writeHead(200, { "content-type": "application/json" }).end("{}");
    } finally {
      this.#atOnce -= 1;
    }
  }

  async #read(
    request: IncomingMessage,
    { restMs, stall }: Omit<Manner, "status">,
  ): Promise<{ bytes: number; sha256: string; body: Buffer }> {
    const kept: Buffer[] = [];
    const hash = createHash("sha256");
    let bytes = 0;
    let restAt = MEGABYTE;
    let stallAt = stall?.atBytes ?? Number.POSITIVE_INFINITY;
    // While this waits, the stream reads no more than it had already requested.
    for await (const chunk of request as AsyncIterable<Buffer>) {
      hash.update(chunk);
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
    return { bytes, sha256: hash.digest("hex"), body: Buffer.concat(kept) };
  }
}
