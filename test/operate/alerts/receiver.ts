/** A scripted receiver of the webhook, and a watch with scripted findings. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { Watch, watch } from "../../../src/operate/alerts/watch.ts";
import type { Finding } from "../../../src/operate/status/finding.ts";
import { call } from "../../web/api/harness.ts";
import { verify } from "./verify.ts";

export const URL_OF_RECEIVER = "https://hooks.example.com/T0000/B0000/webhook-part?key=query-part";

export interface Call {
  url: string;
  id: string;
  atS: number;
  body: { type: string; timestamp: string; data: { [name: string]: unknown } };
  headers: Headers;
  raw: string;
  redirect: RequestInit["redirect"];
}

/** How the receiver answers a call. */
export type Answer = number | Response | "refuses" | "hangs" | (() => Response | Promise<Response>);

export interface Receiver {
  /** All calls in order, whatever the answer. */
  readonly calls: Call[];
  /** The answer from now on; 204 at first. */
  answers(answer: Answer | ((call: Call) => Answer)): void;
}

/** Replaces the network. */
export function receiver(): Receiver {
  const calls: Call[] = [];
  let answer: Answer | ((call: Call) => Answer) = 204;
  vi.spyOn(platform, "random").mockReturnValue(0.5);
  vi.spyOn(platform, "fetch").mockImplementation(async (url, init) => {
    const headers = new Headers(init.headers);
    const raw = String(init.body);
    const each: Call = {
      url,
      id: headers.get("webhook-id") ?? "",
      atS: Number(headers.get("webhook-timestamp")),
      body: JSON.parse(raw) as Call["body"],
      headers,
      raw,
      redirect: init.redirect,
    };
    calls.push(each);
    const given: Answer = typeof answer === "function" ? await (answer as (call: Call) => Answer)(each) : answer;
    if (typeof given === "function") return given();
    if (given === "refuses") throw new TypeError(`fetch failed: ${url}`);
    if (given === "hangs") return new Promise<Response>(() => {});
    return typeof given === "number" ? new Response(null, { status: given }) : given;
  });
  return {
    calls,
    answers: (next) => {
      answer = next;
    },
  };
}

/** Scripts the findings of the watch, in every instance. */
export function sees(): {
  now(findings: readonly Finding[], isUnknown?: (finding: Finding) => boolean): void;
  fails(error: Error): void;
} {
  let seen: () => Promise<{ findings: readonly Finding[]; isUnknown(finding: Finding): boolean }> = async () => ({
    findings: [],
    isUnknown: () => false,
  });
  vi.spyOn(Watch.prototype, "see").mockImplementation(() => seen());
  return {
    now: (findings, isUnknown = () => false) => {
      seen = async () => ({ findings, isUnknown });
    },
    fails: (error) => {
      seen = () => Promise.reject(error);
    },
  };
}

export const theWatch = () => watch(env.WATCH);

/** Fires the alarm, if one is set. @returns whether one was. */
export const runWatchAlarm = (): Promise<boolean> => runDurableObjectAlarm(theWatch());

export interface Webhook {
  url: string;
  enabled: boolean;
  secret?: string;
  gone_at: string | null;
  waiting: number;
  delivered: number;
  given_up: number;
  failures: number;
  failing_since: string | null;
  last_answer: string | null;
  [field: string]: unknown;
}

/** Sets the webhook over the API. @returns its secret. */
export async function putWebhook(fields: object = { url: URL_OF_RECEIVER }): Promise<string> {
  const answer = await call<Webhook>("PUT", "/logship/webhook", fields);
  expect([answer.status, answer.body.errors]).toEqual([200, []]);
  return answer.body.result.secret ?? "";
}

export const readWebhook = async (): Promise<Webhook> => (await call<Webhook>("GET", "/logship/webhook")).body.result;

/** Expects each call to be signed with one of these secrets. */
export async function expectSigned(calls: readonly Call[], secret: string): Promise<void> {
  for (const { headers, raw } of calls) expect(await verify(headers, raw, secret)).toBe(true);
}

/** `type job` of each incident that calls tell of. */
export const saidBy = (calls: readonly Call[]): string[] =>
  calls.flatMap(({ body: { type, data } }) =>
    incidentsIn(data).map((each) => `${type.replace("incident.", "")} ${subjectOf(each)}`),
  );

/** Of a call: the first, and those that it lists beside. */
export const incidentsIn = (data: Call["body"]["data"]): Call["body"]["data"][] => [
  data,
  ...((data.also ?? []) as Call["body"]["data"][]),
];

function subjectOf({ subject }: Call["body"]["data"]): string {
  const { id, name } = (subject ?? {}) as { id?: number; name?: string };
  return `${id ?? name ?? "account"}`;
}
