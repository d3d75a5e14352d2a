import type { ReceiverAnswer } from "../../../src/ship/destinations/receiver/receiver.ts";

/** An answer of a receiver, as its kind judges it. @param given `body`: as it is sent. */
export function receiverAnswer(given: {
  status: number;
  body?: string | Uint8Array;
  headers?: Record<string, string>;
}): ReceiverAnswer {
  const { status, body = "", headers = {} } = given;
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const text = new TextDecoder().decode(bytes);
  return { status, headers: new Headers(headers), bytes, text, isWhole: true, retryAfterS: null, atMs: 0 };
}
