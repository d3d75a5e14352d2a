import { randomBytes } from "node:crypto";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { startFunctionHost } from "../../tools/servers/function-host.ts";
import type { LocalServer } from "../../tools/servers/local-server.ts";
import { until } from "../../tools/until.ts";
import type { IsolatedShipper } from "./shipper.ts";

const FOUND_WITHIN_MS = 60_000;

/**
 * The host of the functions that are uploaded to this shipper.
 * @param port the one that the shipper is configured with.
 */
export async function startHostOf({ folder }: IsolatedShipper, port: number): Promise<LocalServer> {
  const host = await startFunctionHost({
    port,
    persistTo: join(folder, "host-state"),
    registry: join(folder, "registry"),
    logFile: join(folder, "host.log"),
    probe: "/",
  });
  try {
    if (host.port !== port) throw new Error(`port ${port}, which the shipper was told, is taken`);
    await until({
      what: "the function host to find logship",
      withinMs: FOUND_WITHIN_MS,
      look: async () => host.output,
      enough: (output) => /logship\S* .*\[connected\]/.test(output),
    });
    return host;
  } catch (error) {
    await host.stop();
    throw error;
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * One request to a port of this machine under any host name. It uses no resolver: these differ from
 * machine to machine.
 */
export function ask(
  port: number,
  host: string,
  path: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    // A connection of its own: one that is kept may be closed by a host that reloads.
    const to = { host: "127.0.0.1", port, path, method, headers: { ...headers, Host: host }, agent: false };
    const asked = request(to, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      answer.on("error", reject);
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** Opens a web socket under a host name. @returns the first message of at most 125 bytes. */
export function firstMessage(port: number, host: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      Host: host,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    };
    const asked = request({ host: "127.0.0.1", port, path, headers });
    asked.on("error", reject);
    asked.on("response", ({ statusCode }: IncomingMessage) => reject(new Error(`no web socket: HTTP ${statusCode}`)));
    asked.on("upgrade", (_answer, socket, head) => {
      let bytes = head;
      const look = (): void => {
        // RFC 6455, 5.2: two bytes of header, then the text; a server does not mask.
        const length = bytes[1] ?? Number.POSITIVE_INFINITY;
        if (bytes.length < 2 + length) return;
        socket.destroy();
        resolve(bytes.subarray(2, 2 + length).toString());
      };
      socket.on("error", reject);
      socket.on("data", (chunk: Buffer) => {
        bytes = Buffer.concat([bytes, chunk]);
        look();
      });
      look();
    });
    asked.end();
  });
}
