/** Sends the records of a round. */
import { Agent, type IncomingMessage, request } from "node:http";
import { pause } from "../../until.ts";

/** Requests under way at once. */
const CLIENTS = 4;

/** For one request with its repeats, in ms. */
const REQUEST_MS = 60_000;

const RETRY_MS = 200;

type Wait = (ms: number) => Promise<void>;

export interface Target {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/**
 * Sends the bodies in order, a few at a time, on connections of their own: one that was idle since
 * the round before may be closed by the time that a request is on it.
 * @throws if one is not taken in time.
 */
export async function postAll(bodies: readonly Buffer[], target: Target, wait: Wait = pause): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const waiting = [...bodies];
  const client = async (): Promise<void> => {
    for (let body = waiting.shift(); body !== undefined; body = waiting.shift()) await post(body, target, agent, wait);
  };
  try {
    await Promise.all(Array.from({ length: CLIENTS }, client));
  } finally {
    agent.destroy();
  }
}

/** Repeats what a shipper under load asks to repeat: nothing of such a request was taken. */
async function post(body: Buffer, target: Target, agent: Agent, wait: Wait): Promise<void> {
  const signal = AbortSignal.timeout(REQUEST_MS);
  for (;;) {
    const { status, text } = await answerTo(body, target, agent, signal);
    if (status >= 200 && status < 300) return;
    if (status !== 429 && status !== 503) throw new Error(`${status} ${text.slice(0, 300)}`);
    await wait(RETRY_MS);
  }
}

async function answerTo(
  body: Buffer,
  { url, headers }: Target,
  agent: Agent,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: "POST", agent, signal, headers: { ...headers, "content-length": body.length } })
      .once("response", resolve)
      .once("error", reject)
      .end(body);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() };
}
