/** The platform's REST API. https://developers.cloudflare.com/api/ */
import * as z from "zod";
import { plain } from "../project-files/text.ts";
import { refusalOf, SetupRefused } from "./refusals.ts";

/** Where it is, unless CLOUDFLARE_API_BASE_URL says otherwise, which wrangler respects as well. */
export const PLATFORM_API = "https://api.cloudflare.com/client/v4";

/** In ms. */
const ANSWER_WITHIN_MS = 30_000;

/** On one page of a list. */
const PER_PAGE = 50;

/** The limit is on calls in five minutes: more waits than these, or longer ones, are a refusal. */
const WAITS_MAX = 3;
const WAIT_MAX_S = 330;

const Envelope = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).default([]),
  // Some refusals have none.
  result: z.unknown().optional(),
  result_info: z.object({ total_count: z.number().nullish(), cursor: z.string().nullish() }).nullish(),
});

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface PlatformOptions {
  /** Without a slash at its end. */
  readonly base: string;
  readonly token: string;
  readonly fetch: Fetch;
  /** Waits as long as the platform asks for after too many calls; absent: that is a refusal. */
  readonly pause?: (ms: number) => Promise<void>;
}

export class Platform {
  /** The account of later calls, for messages. */
  account = "";
  readonly #options: PlatformOptions;

  constructor(options: PlatformOptions) {
    this.#options = options;
  }

  /** @returns the result. @throws SetupRefused */
  async call(method: Method, path: string, body?: unknown): Promise<unknown> {
    const { result } = await this.#envelope(method, path, body);
    return result;
  }

  /** The result; null if there is none (404). @throws SetupRefused for any other failure. */
  async find(path: string): Promise<unknown> {
    try {
      return await this.call("GET", path);
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** Deletes; what is not there is as good as deleted. @returns whether it was there. */
  async remove(path: string): Promise<boolean> {
    try {
      await this.call("DELETE", path);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /**
   * All pages of a list: by a cursor or by their number, up to the total, or else up to a page that
   * is not full. A list without pages answers every page with the same, and one may answer with its
   * last page whatever comes after it.
   */
  async list(path: string): Promise<unknown[]> {
    const all: unknown[] = [];
    const begins = new Set<string>();
    let cursor = "";
    for (let page = 1; ; page++) {
      const place = cursor === "" ? `page=${page}` : `cursor=${encodeURIComponent(cursor)}`;
      const query = `${path.includes("?") ? "&" : "?"}${place}&per_page=${PER_PAGE}`;
      const { result, result_info } = await this.#envelope("GET", path + query);
      if (!Array.isArray(result)) throw oddAnswer(`GET ${path}`);
      const items: unknown[] = result;
      const begin = JSON.stringify(items[0]);
      if (items.length === 0 || begins.has(begin)) return all;
      begins.add(begin);
      all.push(...items);
      const next = result_info?.cursor ?? "";
      const total = result_info?.total_count ?? null;
      if (next === "" && (total === null ? items.length !== PER_PAGE : all.length >= total)) return all;
      cursor = next;
    }
  }

  async #envelope(method: Method, path: string, body?: unknown): Promise<z.infer<typeof Envelope>> {
    const call = `${method} ${path.replace(/\?.*/, "")}`;
    const { pause } = this.#options;
    for (let waits = 0; ; waits++) {
      const { status, text, retryAfterS } = await this.#answer(call, method, path, body);
      const envelope = Envelope.safeParse(parsed(text));
      if (envelope.success && envelope.data.success) return envelope.data;
      if (status === 429 && pause !== undefined && retryAfterS <= WAIT_MAX_S && waits < WAITS_MAX) {
        await pause(retryAfterS * 1_000);
        continue;
      }
      const [first] = envelope.success ? envelope.data.errors : [];
      const { code, message } = first ?? { code: 0, message: "no reason given" };
      const answer = { call, status, code, message: plain(message.replaceAll(this.#options.token.trim(), "****")) };
      throw new SetupRefused(refusalOf(answer, this.account));
    }
  }

  /** @returns with `retryAfterS`: infinite where the answer asks for no pause. */
  async #answer(call: string, method: Method, path: string, body: unknown) {
    const { base, token, fetch } = this.#options;
    // As no header can have such a token, the error of `fetch` would show it.
    if (!/^[\x21-\x7e]+$/.test(token.trim())) throw new SetupRefused({ kind: "token_invalid" });
    try {
      const response = await fetch(base + path, {
        method,
        headers: {
          Authorization: `Bearer ${token}`,
          ...(body !== undefined && { "Content-Type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A token goes nowhere else.
        redirect: "error",
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const retryAfter = response.headers.get("retry-after") ?? "";
      const retryAfterS = /^\d+$/.test(retryAfter) ? Number(retryAfter) : Number.POSITIVE_INFINITY;
      return { status: response.status, text: await response.text(), retryAfterS };
    } catch (error) {
      throw new SetupRefused({ kind: "unreachable", call, why: reasonOf(error) });
    }
  }
}

const FORM = "its answer has another form than is known";

/** What Cloudflare answers is not what its API describes. */
export function oddAnswer(call: string): SetupRefused {
  return new SetupRefused({ kind: "answered", answer: { call, status: 200, code: 0, message: FORM } });
}

function isMissing(error: unknown): boolean {
  return error instanceof SetupRefused && error.refusal.kind === "answered" && error.refusal.answer.status === 404;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Why a request got no answer: of fetch's errors the cause says it. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const { code, message } = cause as { code?: string; message?: string };
  return plain(code ?? message ?? String(cause));
}
