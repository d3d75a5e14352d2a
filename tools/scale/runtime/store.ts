/** An object store that takes everything, as `platform.fetch`. */

const SHA256_META = "x-amz-meta-logship-sha256";

export class SimulatedStore {
  puts = 0;
  others = 0;
  bytes = 0;
  /** Requests under way. */
  waiting = 0;
  /** Bodies are kept, by URL. */
  keeps = true;
  /** Answers 503 to requests for these. */
  isDown: (url: string) => boolean = () => false;
  readonly objects = new Map<string, Uint8Array>();
  readonly #headers = new Map<string, Headers>();

  fetch = async (url: string, { method = "GET", body, headers }: RequestInit): Promise<Response> => {
    this.waiting += 1;
    try {
      if (this.isDown(url)) return new Response(null, { status: 503 });
      if (method === "PUT") return await this.#put(url, body, new Headers(headers));
      this.others += 1;
      const shown = this.#headers.get(url);
      return new Response(null, shown === undefined ? { status: 404 } : { headers: shown });
    } finally {
      this.waiting -= 1;
    }
  };

  async #put(url: string, body: RequestInit["body"], headers: Headers): Promise<Response> {
    this.puts += 1;
    // Read to its end: the writer of a stream waits for its reader.
    const bytes = new Uint8Array(await new Response(body ?? null).arrayBuffer());
    this.bytes += bytes.length;
    if (this.#headers.has(url)) return new Response(null, { status: 412 });
    const sha256 = headers.get(SHA256_META) ?? "";
    this.#headers.set(url, new Headers({ "content-length": `${bytes.length}`, [SHA256_META]: sha256 }));
    if (this.keeps) this.objects.set(url, bytes);
    return new Response(null);
  }
}
