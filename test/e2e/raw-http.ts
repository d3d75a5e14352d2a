import { request } from "node:http";
import { connect } from "node:net";

export interface RawAnswer {
  /** null: the connection ended without an answer. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sends the body in chunks, without a Content-Length. */
  readonly chunked?: boolean;
}

const NONE: RawAnswer = { status: null, headers: {}, text: "" };

/**
 * One request over its own connection. It may be answered, or the connection ended, before all of
 * the body is sent. Never throws.
 */
export function ask(
  url: string,
  { method = "GET", headers = {}, body, chunked = false }: RawRequest = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    // Both by name: of a DELETE, Node would send the bytes of a body after a head without any.
    const framing = (bytes: string | Uint8Array) =>
      chunked ? { "transfer-encoding": "chunked" } : { "content-length": `${Buffer.byteLength(bytes)}` };
    const headed = body === undefined ? headers : { ...framing(body), ...headers };
    const sent = request(url, { method, agent: false, headers: headed, maxHeaderSize: 1e6 });
    sent.on("error", () => resolve(NONE));
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("error", () => resolve(NONE));
      response.on("end", () => {
        const { statusCode = 0, headers: given } = response;
        resolve({ status: statusCode, headers: given, text });
      });
    });
    sent.end(body);
  });
}

export interface RawConnection {
  /** What has arrived so far. */
  readonly received: () => string;
  /** Ends the connection at once. */
  readonly hangUp: () => void;
  /**
   * Everything received when it matches, when the other side ends the connection, or when the time
   * is over.
   */
  readonly until: (enough: RegExp, withinMs: number) => Promise<string>;
}

/** Sends raw bytes, which need not be valid HTTP. */
export function sendBytes(url: string, bytes: string): RawConnection {
  let received = "";
  const look = new Set<() => void>();
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  let ended = false;
  const notice = (): void => {
    for (const each of look) each();
  };
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    received += chunk;
    notice();
  });
  const end = (): void => {
    ended = true;
    notice();
  };
  socket.on("error", end).on("close", end).on("end", end);
  return {
    received: () => received,
    hangUp: () => socket.destroy(),
    until: (enough, withinMs) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          look.delete(check);
          resolve(received);
        };
        const check = (): void => {
          if (ended || enough.test(received)) done();
        };
        const timer = setTimeout(done, withinMs);
        look.add(check);
        check();
      }),
  };
}
