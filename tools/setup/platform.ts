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

const Envelope = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).default([]),
  result: z.unknown(),
  result_info: z.object({ total_count: z.number().optional(), cursor: z.string().optional() }).nullish(),
});

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface PlatformOptions {
  /** Without a slash at its end. */
  readonly base: string;
  readonly token: string;
  readonly fetch: Fetch;
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

  /** All pages of a list. */
  async list(path: string): Promise<unknown[]> {
    const all: unknown[] = [];
    for (let page = 1; ; page++) {
      const query = `${path.includes("?") ? "&" : "?"}page=${page}&per_page=${PER_PAGE}`;
      const { result, result_info } = await this.#envelope("GET", path + query);
      const items = z.array(z.unknown()).parse(result);
      all.push(...items);
      if (items.length === 0 || all.length >= (result_info?.total_count ?? 0)) return all;
    }
  }

  async #envelope(method: Method, path: string, body?: unknown): Promise<z.infer<typeof Envelope>> {
    const { base, token, fetch } = this.#options;
    const call = `${method} ${path.replace(/\?.*/, "")}`;
    let status: number;
    let text: string;
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
      status = response.status;
      text = await response.text();
    } catch (error) {
      throw new SetupRefused({ kind: "unreachable", call, why: reasonOf(error) });
    }
    const envelope = Envelope.safeParse(parsed(text));
    if (envelope.success && envelope.data.success) return envelope.data;
    const [first] = envelope.success ? envelope.data.errors : [];
    const { code, message } = first ?? { code: 0, message: "no reason given" };
    const answer = { call, status, code, message: plain(message) };
    throw new SetupRefused(refusalOf(answer, this.account));
  }
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
