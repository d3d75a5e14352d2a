import { readFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";

const file = (name: string) => readFileSync(join(import.meta.dirname, "../fixtures/tls", `${name}.pem`));

/** A byte that begins every TLS handshake, and no request of HTTP. */
const HANDSHAKE = 0x16;

/**
 * Servers on 127.0.0.1 behind a certificate that nothing trusts. `silent` hangs up on plain http,
 * as Node does; `polite` answers it with 400 and words, as Go and nginx do.
 * `verbose` has no certificate, and answers with two million bytes of headers.
 */
export async function startTlsServer(): Promise<{
  urls: { silent: string; polite: string; verbose: string };
  close(): void;
}> {
  const secure = createHttps({ key: file("untrusted-key"), cert: file("untrusted") }, (_request, response) => {
    response.end("never read");
  });
  const plain = createHttp((_request, response) => {
    response.writeHead(400, { "content-type": "text/plain" });
    response.end("Client sent an HTTP request to an HTTPS server.\n");
  });
  const [securePort, plainPort] = [await listening(secure), await listening(plain)];
  const polite = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (first) => {
      socket.pause();
      const behind = connect(first[0] === HANDSHAKE ? securePort : plainPort, "127.0.0.1", () => {
        behind.write(first);
        socket.pipe(behind).pipe(socket);
      });
      behind.on("error", () => socket.destroy());
      socket.on("close", () => behind.destroy());
    });
  });
  const politePort = await listening(polite);
  const verbose = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\nX-A: ${"a".repeat(2_000_000)}\r\n\r\n`));
  });
  const verbosePort = await listening(verbose);
  return {
    urls: {
      silent: `https://127.0.0.1:${securePort}`,
      polite: `https://127.0.0.1:${politePort}`,
      verbose: `http://127.0.0.1:${verbosePort}`,
    },
    close: () => {
      for (const server of [secure, plain, polite, verbose]) server.close();
    },
  };
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
