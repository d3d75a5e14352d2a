import { CODE, type ErrorEntry } from "../../base/errors.ts";

/** An answer of the API; `info` is `result_info` of a list. */
export type InnerAnswer<T> =
  | { ok: true; status: number; result: T; info: ListInfo; messages: readonly { code: number; message: string }[] }
  | { ok: false; status: number; errors: readonly ErrorEntry[] };

export interface ListInfo {
  count: number;
  page: number;
  per_page: number;
  total_count: number;
  [more: string]: unknown;
}

/** An error of the API, shown in place of the page. */
export class InnerFailure extends Error {
  readonly status: number;
  readonly errors: readonly ErrorEntry[];

  constructor(status: number, errors: readonly ErrorEntry[]) {
    super(errors[0]?.message ?? `HTTP ${status}`);
    this.status = status;
    this.errors = errors;
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * The API for one signed-in caller, without HTTP: the same routes, checks, permissions and audit.
 */
export class InnerApi {
  readonly #ask: (request: Request) => Promise<Response>;
  readonly #base: string;

  /**
   * @param base the URL before `/logship`, `/functions`, `/tokens` …
   * @param ask answers a request as the caller.
   */
  constructor(base: string, ask: (request: Request) => Promise<Response>) {
    this.#base = base;
    this.#ask = ask;
  }

  /** `result` of a GET. @throws InnerFailure for any other answer than a 2xx. */
  async get<T>(path: string, query: Query = {}): Promise<T> {
    return unwrap(await this.send<T>("GET", path, undefined, query)).result;
  }

  /** A GET of a list, with its `result_info`. @throws InnerFailure */
  async list<T>(path: string, query: Query = {}): Promise<{ items: readonly T[]; info: ListInfo }> {
    const { result, info } = unwrap(await this.send<T[]>("GET", path, undefined, query));
    return { items: result, info };
  }

  /** `result` of a change. @throws InnerFailure */
  async change<T>(method: string, path: string, body?: unknown): Promise<T> {
    return unwrap(await this.send<T>(method, path, body)).result;
  }

  /** Any request; an error is an answer too. */
  async send<T>(method: string, path: string, body?: unknown, query: Query = {}): Promise<InnerAnswer<T>> {
    const response = await this.raw(method, path, body, query);
    const envelope = (await response.json()) as Envelope<T>;
    if (!response.ok) return { ok: false, status: response.status, errors: envelope.errors };
    const info = envelope.result_info ?? { count: 0, page: 1, per_page: 0, total_count: 0 };
    return { ok: true, status: response.status, result: envelope.result, info, messages: envelope.messages };
  }

  /** A file, which no browser renders. @throws InnerFailure */
  async file(path: string): Promise<Response> {
    const response = await this.raw("GET", path, undefined, { download: true });
    if (response.ok) return new Response(response.body, response);
    const { errors } = (await response.json()) as { errors: readonly ErrorEntry[] };
    throw new InnerFailure(response.status, errors);
  }

  /** The plain response. */
  raw(method: string, path: string, body?: unknown, query: Query = {}): Promise<Response> {
    // A path segment `.` or `..` would lead to another route.
    if (path.split("/").some((part) => DOTS.test(part)))
      return Promise.resolve(Response.json({ errors: [NOTHING] }, { status: 404 }));
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, `${value}`);
    const init: RequestInit =
      body === undefined
        ? { method }
        : { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return this.#ask(new Request(url, init));
  }
}

const DOTS = /^(?:\.|%2e){1,2}$/i;

const NOTHING: ErrorEntry = { code: CODE.noRoute, message: "there is nothing with this name" };

interface Envelope<T> {
  result: T;
  result_info?: ListInfo;
  errors: ErrorEntry[];
  messages: { code: number; message: string }[];
}

/** @throws InnerFailure for any other answer than a 2xx. */
export function unwrap<T>(answer: InnerAnswer<T>): Extract<InnerAnswer<T>, { ok: true }> {
  if (answer.ok) return answer;
  throw new InnerFailure(answer.status, answer.errors);
}
