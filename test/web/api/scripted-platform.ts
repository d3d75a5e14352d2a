/** A scripted platform API, and a caller that only it knows. */
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { type Platform, platform } from "../../../src/base/platform.ts";
import { createApp } from "../../../src/web/app.ts";
import { curlForm, FORM_TYPE } from "../../state/functions/forms.ts";
import { ACCOUNT } from "../../support/constants.ts";
import { call, type Settings } from "./harness.ts";

export const SCRIPTS = "/workers/scripts";

export const UPSTREAM_API = "https://api.platform.test/client/v4";

/** The platform's path of scripts. */
export const THEIRS = `${UPSTREAM_API}/accounts/${ACCOUNT}/workers/scripts`;

/** Issued by the platform: unknown to this service. */
export const BEARER = "platform-token-0123456789abcdefghijklmno";

/** A request as the platform received it, to the last byte. */
export interface Asked {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
  redirect: string | undefined;
}

export interface ScriptedApi extends Platform {
  /** All but questions about the bearer. */
  readonly asked: Asked[];
  /** Questions about the bearer: those for the settings of a script with its bindings. */
  readonly judged: Asked[];
  /** Its answer to them. */
  judge: (asked: Asked) => Response | Promise<Response>;
}

/** The platform's answers, one per request; a function may do anything else. */
export type Script = Response | ((init: RequestInit) => Promise<Response>);

export function scriptedApi(...answers: Script[]): ScriptedApi {
  const asked: Asked[] = [];
  const judged: Asked[] = [];
  return {
    ...platform,
    asked,
    judged,
    judge: () => said({ bindings: [] }),
    async fetch(url, init) {
      const { method = "GET", headers, body, redirect } = init;
      const text = body === undefined ? "" : await new Response(body).text();
      const seen = { method, url, headers: Object.fromEntries(new Headers(headers)), body: text, redirect };
      if (method === "GET" && /\/scripts\/[^/]+\/settings$/.test(url)) {
        judged.push(seen);
        return this.judge(seen);
      }
      asked.push(seen);
      const next = answers.shift();
      if (next === undefined) throw new Error("nobody said what the platform answers to this");
      return typeof next === "function" ? next(init) : next;
    },
  };
}

/** The platform's envelope. */
export function said(result: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const success = status < 300;
  const errors = success ? [] : [{ code: 10_001, message: "said by the platform" }];
  return Response.json({ result, success, errors, messages: [] }, { status, headers });
}

export interface Got {
  status: number;
  headers: Headers;
  text: string;
  /** null: not JSON. */
  json: { success: boolean; result: unknown; errors: { code: number; message: string }[] } | null;
}

export interface AskOptions {
  headers?: Record<string, string>;
  settings?: { [name: string]: unknown };
  account?: string;
}

/** One request of a caller that only the platform knows. @param path below the account's. */
export async function askAs(
  world: Platform,
  method: string,
  path: string,
  body?: BodyInit | null,
  { headers = {}, settings = {}, account = ACCOUNT }: AskOptions = {},
): Promise<Got> {
  const url = `http://logship.test/client/v4/accounts/${account}${path}`;
  const init = {
    method,
    headers: { authorization: `Bearer ${BEARER}`, ...headers },
    ...(body !== undefined && { body }),
  };
  const response = await createApp(world).request(url, init, { ...env, UPSTREAM_API, ...settings } as unknown as Env);
  const text = await response.text();
  let json: Got["json"] = null;
  try {
    json = JSON.parse(text) as Got["json"];
  } catch {
    // Stands for null.
  }
  // Every answer has a request id, which is never the same.
  const headersOfAnswer = new Headers(response.headers);
  expect(headersOfAnswer.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  headersOfAnswer.delete("x-request-id");
  return { status: response.status, headers: headersOfAnswer, text, json };
}

export const put = (world: Platform, body: Uint8Array = curlForm(), name = "shop", options = {}): Promise<Got> =>
  askAs(world, "PUT", `/functions/scripts/${name}`, body as Uint8Array<ArrayBuffer>, {
    headers: { "content-type": FORM_TYPE },
    ...options,
  });

export const patch = (world: Platform, body: object, options = {}): Promise<Got> =>
  askAs(world, "PATCH", `${SCRIPTS}/shop/script-settings`, JSON.stringify(body), {
    headers: { "content-type": "application/json" },
    ...options,
  });

/** The settings here, as our own callers see them. */
export const loggingOf = async (name = "shop"): Promise<unknown> =>
  (await call<Settings | null>("GET", `${SCRIPTS}/${name}`)).body.result?.logging ?? "unset";
