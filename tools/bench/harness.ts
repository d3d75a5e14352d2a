/** The measured Worker, in the runtime, in a process of its own, with that process's CPU clock. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness, type Unstable_Config, unstable_readConfig } from "wrangler";
import { ROOT, SHIPPER_CONFIG } from "../paths.ts";
import { ASK_HEADER } from "./protocol.ts";

const ACCOUNT = "bench";
const TOKEN = "token-of-the-benchmark";

/** Settings of the consumer of the shipper's queue, from wrangler.jsonc. */
export interface ConsumerSettings {
  batchSize: number;
  batchTimeoutMs: number;
}

export interface Harness {
  consumer: ConsumerSettings;
  /** The share of its own invocations that the shipper logs, from wrangler.jsonc. */
  loggedShare: number;
  /** Checks that the Worker answers; call it before every {@link ask}. */
  awake(): Promise<void>;
  /** Asks the worker for something; see tools/bench/worker/index.ts. */
  ask<T>(command: string, argument: unknown): Promise<T>;
  /** Calls the shipper's own API. @throws if it refuses. */
  api<T>(method: string, path: string, body: unknown): Promise<T>;
  close(): Promise<void>;
}

export async function startHarness(): Promise<Harness> {
  // Not needed here; two of them use the network.
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
  process.env.WRANGLER_SEND_METRICS = "false";
  process.env.WRANGLER_WRITE_LOGS = "false";
  const config: Unstable_Config = unstable_readConfig({ config: SHIPPER_CONFIG }, { hideWarnings: true });
  const consumer = config.queues.consumers?.find(({ queue }) => queue === "logship-events");
  if (consumer?.max_batch_size === undefined || consumer.max_batch_timeout === undefined) {
    throw new Error("wrangler.jsonc states no batch size and timeout for logship-events");
  }
  // Outside of the project, or its .dev.vars would be read.
  const root = mkdtempSync(join(tmpdir(), "logship-bench-"));
  const remove = (): void => rmSync(root, { recursive: true, force: true });
  process.once("exit", remove);
  const server = createTestHarness({
    root,
    workers: [
      {
        config: {
          name: "logship-bench",
          main: join(ROOT, "tools/bench/worker/index.ts"),
          compatibility_date: config.compatibility_date,
          compatibility_flags: config.compatibility_flags,
          // Scripts for browsers are texts here.
          rules: config.rules,
          durable_objects: config.durable_objects,
          migrations: config.migrations,
          vars: {
            ACCOUNT_ID: ACCOUNT,
            ADMIN_TOKEN: TOKEN,
            SECRETS_KEY: Buffer.alloc(32, 7).toString("base64"),
            SELF_NAME: "logship",
            // Blocks go within the run, and are counted: by default they do so a day later.
            LOG_KEEP_HOURS: process.env.LOG_KEEP_HOURS ?? "0",
          },
        },
      },
    ],
  });
  const { url } = await server.listen();
  const call = async <T>(path: string, init: Sent): Promise<T> => {
    const { status, text } = await requested(new URL(path, url), init);
    if (status < 200 || status > 299) throw new Error(`${path}: ${status} ${text}`);
    return JSON.parse(text) as T;
  };
  let asked = 0;
  return {
    consumer: { batchSize: consumer.max_batch_size, batchTimeoutMs: consumer.max_batch_timeout * 1_000 },
    loggedShare: loggedShare(config.observability),
    awake: () => awake(url),
    ask: async (command, argument) => {
      asked += 1;
      const sent = { method: "POST", body: JSON.stringify(argument), headers: { [ASK_HEADER]: `${asked}` } };
      for (let tries = 1; ; tries++) {
        try {
          return await call(`/bench/${command}`, sent);
        } catch (error) {
          if (tries === TRIES || !String(error).includes("connection lost")) throw error;
        }
      }
    },
    api: async (method, path, body) => {
      await awake(url);
      const answer = await call<{ result: never }>(`/client/v4/accounts/${ACCOUNT}${path}`, {
        method,
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      });
      return answer.result;
    },
    close: async () => {
      await server.close();
      remove();
    },
  };
}

/** A connection inside the runtime may be lost before the answer: it is asked for again. */
const TRIES = 5;

interface Sent {
  method: string;
  body: string;
  headers?: Record<string, string>;
}

/** A request that may be answered after any time: `fetch` gives up after five minutes. */
function requested(url: URL, { method, body, headers = {} }: Sent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, async (response) => {
      try {
        const pieces: Buffer[] = [];
        for await (const piece of response) pieces.push(piece as Buffer);
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString() });
      } catch (error) {
        reject(error);
      }
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** @see https://developers.cloudflare.com/workers/wrangler/configuration/#observability */
function loggedShare(observability: Unstable_Config["observability"]): number {
  const { enabled = false, head_sampling_rate = 1, logs } = observability ?? {};
  const on = (logs?.enabled ?? enabled) && logs?.invocation_logs !== false;
  return on ? (logs?.head_sampling_rate ?? head_sampling_rate) : 0;
}

/**
 * A connection inside the runtime that was idle during a long computation may be closed, and the
 * first request on it fails. This makes that request: it does nothing and is not measured.
 * @throws if the Worker does not answer at all.
 */
async function awake(url: URL): Promise<void> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(new URL("/bench/ping", url), { method: "POST", body: "null" });
    await response.text();
    if (response.ok) return;
    if (tries === 5) throw new Error(`the worker does not answer: ${response.status}`);
  }
}
