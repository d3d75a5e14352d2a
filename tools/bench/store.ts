/** An object store that takes everything, as `fetch` of the simulated platform. */
import type { Scheduler } from "../../test/schedule/scheduler.ts";

export const STORE = "https://store.example";

const SHA256_META = "x-amz-meta-logship-sha256";

/** Until it answers, in ms: assumed. */
const ANSWERS_MS = 50;

export class SimulatedStore {
  readonly #scheduler: Scheduler;
  puts = 0;
  /** HEADs and the like. */
  others = 0;
  /** Answers 503 to requests for these. */
  isDown: (url: string) => boolean = () => false;
  /** Gets each body that is stored. */
  onBody: (url: string, body: Uint8Array) => void = () => {};
  /** What HEAD shows, by URL. */
  readonly #heads = new Map<string, Record<string, string>>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  readonly fetch = async (url: string, { method = "GET", body, headers }: RequestInit): Promise<Response> => {
    // Read to its end: the writer of a stream waits for its reader.
    const bytes = new Uint8Array(await new Response(body ?? null).arrayBuffer());
    await this.#scheduler.sleep(ANSWERS_MS);
    if (this.isDown(url)) return new Response(null, { status: 503 });
    const head = this.#heads.get(url);
    if (method !== "PUT") {
      this.others += 1;
      return new Response(null, head === undefined ? { status: 404 } : { headers: head });
    }
    this.puts += 1;
    if (head !== undefined) return new Response(null, { status: 412 });
    const sha256 = new Headers(headers).get(SHA256_META) ?? "";
    this.#heads.set(url, { "content-length": `${bytes.length}`, [SHA256_META]: sha256 });
    this.onBody(url, bytes);
    return new Response(null);
  };
}
