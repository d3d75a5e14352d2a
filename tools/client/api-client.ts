import { gzipSync } from "node:zlib";
import * as z from "zod";
import { Canary, COUNT, Job, JobLedger, KnownFunction, ObjectEntry, Replay, TraceLog } from "./api-results.ts";

const Envelope = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })),
  result: z.unknown(),
});

/** The form of a request with events. */
export interface EventsForm {
  readonly ndjson?: boolean;
  readonly gzip?: boolean;
  /** A repeated request with the same key adds nothing. */
  readonly idempotencyKey?: string;
}

/** Type and content of each module, by name. */
export interface ModuleFiles {
  readonly [name: string]: readonly [type: string, body: string | Uint8Array<ArrayBuffer>];
}

export interface ApiClientOptions {
  readonly token: string;
  readonly account?: string;
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
}

/** An answer that is no success, with the API's messages. */
export class ApiFailure extends Error {
  override name = "ApiFailure";
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** The shipper's API over HTTP, as far as the commands and the tests need it. */
export class ApiClient {
  /** Base URL of the account's routes. */
  readonly url: string;
  readonly #account: string;
  readonly #serverUrl: string;
  readonly #token: string;
  readonly #fetch: NonNullable<ApiClientOptions["fetch"]>;

  constructor(serverUrl: string, { token, account = "local", fetch = globalThis.fetch }: ApiClientOptions) {
    this.#serverUrl = serverUrl;
    this.#account = `${serverUrl}/client/v4/accounts/${account}`;
    this.url = `${this.#account}/logship`;
    this.#token = token;
    this.#fetch = fetch;
  }

  async createJob(body: Readonly<Record<string, unknown>>): Promise<Job> {
    return Job.parse(await this.#call("POST", "/jobs", json(body)));
  }

  /** Changes only what the body names. */
  async updateJob(id: number, body: Readonly<Record<string, unknown>>): Promise<Job> {
    return Job.parse(await this.#call("PUT", `/jobs/${id}`, json(body)));
  }

  /** @param discard drops what is waiting, and counts it, instead of delivering it. */
  async deleteJob(id: number, { discard = false }: { readonly discard?: boolean } = {}): Promise<void> {
    await this.#call("DELETE", `/jobs/${id}${discard ? "?discard=true" : ""}`);
  }

  async jobs(): Promise<Job[]> {
    return z.array(Job).parse(await this.#call("GET", "/jobs"));
  }

  async job(id: number): Promise<Job> {
    return Job.parse(await this.#call("GET", `/jobs/${id}`));
  }

  async canary(id: number): Promise<Canary> {
    return Canary.parse(await this.#call("GET", `/jobs/${id}/canary`));
  }

  /** Whether a job ships to this destination, whatever its keys. */
  async isDestinationInUse(destination: string): Promise<boolean> {
    const result = await this.#call("POST", "/validate/destination/exists", json({ destination_conf: destination }));
    return z.object({ exists: z.boolean() }).parse(result).exists;
  }

  async jobLedger(id: number): Promise<JobLedger> {
    return JobLedger.parse(await this.#call("GET", `/jobs/${id}/ledger`));
  }

  async accountLedger(): Promise<TraceLog> {
    return TraceLog.parse(await this.#call("GET", "/ledger"));
  }

  async objects(id: number, after = 0): Promise<ObjectEntry[]> {
    return z.array(ObjectEntry).parse(await this.#call("GET", `/jobs/${id}/objects?after=${after}&limit=1000`));
  }

  /** @returns the number of accepted events. */
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

  /** Uploads a function in the vendor's format: a form of `metadata` and a file for each module. */
  async uploadFunction(name: string, metadata: object, files: ModuleFiles): Promise<void> {
    const form = new FormData();
    form.set("metadata", JSON.stringify(metadata));
    for (const [file, [type, body]] of Object.entries(files)) form.set(file, new File([body], file, { type }));
    await this.#call("PUT", `/functions/scripts/${name}`, { body: form }, this.#account);
  }

  async deleteFunction(name: string): Promise<void> {
    await this.#call("DELETE", `/functions/scripts/${name}`, undefined, this.#account);
  }

  /** A function as the API shows it. */
  async function(name: string): Promise<unknown> {
    return this.#call("GET", `/functions/scripts/${name}`, undefined, this.#account);
  }

  async functions(): Promise<KnownFunction[]> {
    return z.array(KnownFunction).parse(await this.#call("GET", "/functions/scripts", undefined, this.#account));
  }

  /** Switches the logging of a function on or off. */
  async setLogging(name: string, logship: boolean): Promise<void> {
    await this.#call("PATCH", `/functions/scripts/${name}/script-settings`, json({ logship }), this.#account);
  }

  /** @param body as the API takes it: `since`, `until`, `destination_conf`. */
  async beginReplay(id: number, body: Readonly<Record<string, unknown>>): Promise<Replay> {
    return Replay.parse(await this.#call("POST", `/jobs/${id}/replay`, json(body)));
  }

  /** @param body as the API takes it: `since`, `until`, `destination_conf`. */
  async beginRerun(id: number, body: Readonly<Record<string, unknown>>): Promise<Replay> {
    return Replay.parse(await this.#call("POST", `/jobs/${id}/rerun`, json(body)));
  }

  async replay(id: number, replayId: string): Promise<Replay> {
    return Replay.parse(await this.#call("GET", `/jobs/${id}/replay/${replayId}`));
  }

  async flush(id: number): Promise<void> {
    await this.#call("POST", `/jobs/${id}/flush`);
  }

  /** Runs what the platform runs every five minutes; `wrangler dev` does so only on request. */
  get scheduledUrl(): string {
    return `${this.#serverUrl}/cdn-cgi/handler/scheduled?cron=*/5+*+*+*+*`;
  }

  async triggerScheduled(): Promise<void> {
    const response = await fetch(this.scheduledUrl);
    const text = await response.text();
    if (!response.ok) throw new Error(`GET ${this.scheduledUrl}: HTTP ${response.status} ${text.slice(0, 200)}`);
  }

  /** @throws ApiFailure; what fetch throws, if there is no answer. */
  async #call(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    sent?: {
      readonly body: string | Uint8Array<ArrayBuffer> | FormData;
      /** Absent for a form, which has its own. */
      readonly type?: string;
      readonly encoding?: string;
      readonly idempotencyKey?: string;
    },
    base: string = this.url,
  ): Promise<unknown> {
    const response = await this.#fetch(base + path, {
      method,
      headers: {
        Authorization: `Bearer ${this.#token}`,
        // A server that closes an idle connection may do so just as the next request is sent on it,
        // and one with events must not be repeated.
        Connection: "close",
        ...(sent?.type !== undefined && { "Content-Type": sent.type }),
        ...(sent?.encoding !== undefined && { "Content-Encoding": sent.encoding }),
        ...(sent?.idempotencyKey !== undefined && { "Idempotency-Key": sent.idempotencyKey }),
      },
      ...(sent !== undefined && { body: sent.body }),
    });
    const text = await response.text();
    const envelope = Envelope.safeParse(parseJson(text));
    if (!envelope.success)
      throw new ApiFailure(
        `${method} ${path}: HTTP ${response.status}, not the API's: ${text.slice(0, 200)}`,
        response.status,
      );
    if (envelope.data.success) return envelope.data.result;
    const words = envelope.data.errors.map(({ code, message }) => `${message} (${code})`).join("; ");
    throw new ApiFailure(`${method} ${path}: HTTP ${response.status}: ${words}`, response.status);
  }
}

function json(body: object): { body: string; type: string } {
  return { body: JSON.stringify(body), type: "application/json" };
}

/** undefined: it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
