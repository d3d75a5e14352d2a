import { type Answer, Bucket, faultAnswer } from "../support/s3-bucket.ts";
import type { Scheduler } from "./scheduler.ts";

/** What an S3 endpoint does wrong. */
export interface Trouble {
  /** How likely a request is lost on its way; or has its effect, and its answer is lost. */
  lost: number;
  /** How likely it is answered 500 or 503, with its effect or without. */
  failing: number;
  /** How likely a PUT is refused for good. */
  refusing: number;
}

/** Buckets of one S3 endpoint, as `fetch` finds them. It believes any signature. */
export class Stores {
  readonly buckets = new Map<string, Bucket>();
  readonly trouble: Trouble = { lost: 0, failing: 0, refusing: 0 };
  /** Buckets that refuse everything until then. */
  readonly closedUntilMs = new Map<string, number>();
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  bucket(name: string): Bucket {
    const bucket = this.buckets.get(name) ?? new Bucket(name);
    this.buckets.set(name, bucket);
    return bucket;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const body = await bytesOf(init.body);
    return new Promise((resolve, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      const lost = (): void => reject(new Error("Network connection lost."));
      const { random, hasFaults } = this.#scheduler;
      const isSo = (odds: number): boolean => hasFaults && random.chance(odds);
      this.#scheduler.soon(() => {
        if (isSo(this.trouble.lost)) return void this.#scheduler.soon(lost);
        if (init.method === "PUT" && isSo(this.trouble.refusing)) {
          const refusal = faultAnswer({ status: 400, code: "InvalidRequest", message: "refused" });
          return void this.#scheduler.soon(() => resolve(responseOf(refusal, "PUT")));
        }
        const failure = isSo(this.trouble.failing) ? random.pick([500, 503, 503]) : null;
        const answer = failure !== null && random.chance(0.5) ? null : this.#answer(url, init, body);
        if (isSo(this.trouble.lost)) return void this.#scheduler.soon(lost);
        const told = failure ?? answer?.status;
        this.#scheduler.log(() => `${init.method} ${url.replace(/\?.*/, "")}: ${told}`);
        const said = failure === null ? answer : faultAnswer({ status: failure, code: "InternalError", message: "" });
        this.#scheduler.soon(() => resolve(responseOf(said as Answer, init.method)));
      });
    });
  };

  #answer(url: string, { method = "GET", headers }: RequestInit, body: Buffer): Answer {
    const { pathname, searchParams: query } = new URL(url);
    const [, name = "", ...rest] = pathname.split("/");
    const key = rest.map(decodeURIComponent).join("/");
    const { nowMs } = this.#scheduler;
    if (nowMs < (this.closedUntilMs.get(name) ?? 0))
      return faultAnswer({ status: 403, code: "AccessDenied", message: "closed" });
    const sent = Object.fromEntries(new Headers(headers).entries());
    return this.bucket(name).perform({ method, key, query, headers: sent, body }, nowMs);
  }
}

async function bytesOf(body: RequestInit["body"]): Promise<Buffer> {
  if (body === null || body === undefined) return Buffer.alloc(0);
  if (body instanceof Uint8Array) return Buffer.from(body);
  if (body instanceof ReadableStream) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body as ReadableStream<Uint8Array>) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  return Buffer.from(await new Response(body).arrayBuffer());
}

function responseOf({ status, headers, body }: Answer, method = "GET"): Response {
  const bytes = Buffer.from(body as string);
  const isEmpty = method === "HEAD" || status === 204 || bytes.length === 0;
  return new Response(isEmpty ? null : new Uint8Array(bytes), {
    status,
    headers: { ...headers, "content-length": `${bytes.length}` },
  });
}
