import { gzipSync } from "node:zlib";
import * as z from "zod";
import { AccountLedger, COUNT, Job, JobLedger, KnownFunction, ObjectEntry, Replay } from "./api-results.ts";

const Envelope = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })),
  result: z.unknown(),
});

/** How a request of events is sent. */
export interface EventsForm {
  readonly ndjson?: boolean;
  readonly gzip?: boolean;
  /** Under which a repeated request doubles nothing. */
  readonly idempotencyKey?: string;
}

/** Type and text, or bytes, of each module by its name. */
export interface ModuleFiles {
  readonly [name: string]: readonly [type: string, body: string | Uint8Array<ArrayBuffer>];
}

/** What the demo and the tests need of the shipper's API, over real HTTP. */
export class ApiClient {
  /** Of everything that belongs to the account. */
  readonly url: string;
  readonly #account: string;
  readonly #serverUrl: string;
  readonly #token: string;

  constructor(serverUrl: string, { token, account = "local" }: { readonly token: string; readonly account?: string }) {
    this.#serverUrl = serverUrl;
    this.#account = `${serverUrl}/client/v4/accounts/${account}`;
    this.url = `${this.#account}/logship`;
    this.#token = token;
  }

  async createJob(body: Readonly<Record<string, unknown>>): Promise<Job> {
    return Job.parse(await this.#call("POST", "/jobs", { body: JSON.stringify(body), type: "application/json" }));
  }

  /** Changes what the body names. */
  async updateJob(id: number, body: Readonly<Record<string, unknown>>): Promise<Job> {
    return Job.parse(await this.#call("PUT", `/jobs/${id}`, { body: JSON.stringify(body), type: "application/json" }));
  }

  /** @param discard drops what is waiting, counted, instead of delivering it. */
  async deleteJob(id: number, { discard = false }: { readonly discard?: boolean } = {}): Promise<void> {
    await this.#call("DELETE", `/jobs/${id}${discard ? "?discard=true" : ""}`);
  }

  async jobs(): Promise<Job[]> {
    return z.array(Job).parse(await this.#call("GET", "/jobs"));
  }

  async job(id: number): Promise<Job> {
    return Job.parse(await this.#call("GET", `/jobs/${id}`));
  }

  async jobLedger(id: number): Promise<JobLedger> {
    return JobLedger.parse(await this.#call("GET", `/jobs/${id}/ledger`));
  }

  async accountLedger(): Promise<AccountLedger> {
    return AccountLedger.parse(await this.#call("GET", "/ledger"));
  }

  async objects(id: number, after = 0): Promise<ObjectEntry[]> {
    return z.array(ObjectEntry).parse(await this.#call("GET", `/jobs/${id}/objects?after=${after}&limit=1000`));
  }

  /** @returns how many were accepted. */
  async postEvents(
    events: readonly unknown[],
    { ndjson = false, gzip = false, idempotencyKey }: EventsForm = {},
  ): Promise<number> {
    const text = ndjson ? events.map((event) => `${JSON.stringify(event)}\n`).join("") : JSON.stringify(events);
    const result = await this.#call("POST", "/datasets/functions_trace_events/events", {
      body: gzip ? gzipSync(text) : text,
      type: ndjson ? "application/x-ndjson" : "application/json",
      ...(gzip && { encoding: "gzip" }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    });
    return z.object({ accepted: COUNT }).parse(result).accepted;
  }

  /** Uploads a function as the vendor's documents say it: a form of `metadata`, and a file for each module, by its name. */
  async uploadFunction(name: string, metadata: object, files: ModuleFiles): Promise<void> {
    const form = new FormData();
    form.set("metadata", JSON.stringify(metadata));
    for (const [file, [type, body]] of Object.entries(files)) form.set(file, new File([body], file, { type }));
    await this.#call("PUT", `/functions/scripts/${name}`, { body: form }, this.#account);
  }

  async deleteFunction(name: string): Promise<void> {
    await this.#call("DELETE", `/functions/scripts/${name}`, undefined, this.#account);
  }

  /** What is known of a function. */
  async function(name: string): Promise<unknown> {
    return this.#call("GET", `/functions/scripts/${name}`, undefined, this.#account);
  }

  async functions(): Promise<KnownFunction[]> {
    return z.array(KnownFunction).parse(await this.#call("GET", "/functions/scripts", undefined, this.#account));
  }

  /** Switches the logging of a function on or off. */
  async setLogging(name: string, logship: boolean): Promise<void> {
    const sent = { body: JSON.stringify({ logship }), type: "application/json" };
    await this.#call("PATCH", `/functions/scripts/${name}/script-settings`, sent, this.#account);
  }

  /** @param body as the API takes it: `since`, `until`, `destination_conf`. */
  async beginReplay(id: number, body: Readonly<Record<string, unknown>>): Promise<Replay> {
    const sent = { body: JSON.stringify(body), type: "application/json" };
    return Replay.parse(await this.#call("POST", `/jobs/${id}/replay`, sent));
  }

  async replay(id: number, replayId: string): Promise<Replay> {
    return Replay.parse(await this.#call("GET", `/jobs/${id}/replay/${replayId}`));
  }

  async flush(id: number): Promise<void> {
    await this.#call("POST", `/jobs/${id}/flush`);
  }

  /** What the platform does every five minutes; `wrangler dev` does it only when asked. */
  get scheduledUrl(): string {
    return `${this.#serverUrl}/cdn-cgi/handler/scheduled?cron=*/5+*+*+*+*`;
  }

  async triggerScheduled(): Promise<void> {
    const response = await fetch(this.scheduledUrl);
    const text = await response.text();
    if (!response.ok) throw new Error(`GET ${this.scheduledUrl}: HTTP ${response.status} ${text.slice(0, 200)}`);
  }

  /** @throws Error with the API's own words. */
  async #call(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    sent?: {
      readonly body: string | Uint8Array<ArrayBuffer> | FormData;
      /** Not of a form: it has its own. */
      readonly type?: string;
      readonly encoding?: string;
      readonly idempotencyKey?: string;
    },
    base: string = this.url,
  ): Promise<unknown> {
    const response = await fetch(base + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...(sent?.type !== undefined && { "Content-Type": sent.type }),
        ...(sent?.encoding !== undefined && { "Content-Encoding": sent.encoding }),
        ...(sent?.idempotencyKey !== undefined && { "Idempotency-Key": sent.idempotencyKey }),
      },
      ...(sent !== undefined && { body: sent.body }),
    });
    const text = await response.text();
    const envelope = Envelope.safeParse(parseJson(text));
    if (!envelope.success)
      throw new Error(`${method} ${path}: HTTP ${response.status}, not the API's: ${text.slice(0, 200)}`);
    if (envelope.data.success) return envelope.data.result;
    const words = envelope.data.errors.map(({ code, message }) => `${message} (${code})`).join("; ");
    throw new Error(`${method} ${path}: HTTP ${response.status}: ${words}`);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
