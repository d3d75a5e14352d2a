import { mkdirSync, readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { arePackagesInstalled, installPackages } from "../../tools/example/app.ts";
import { pickPort } from "../../tools/servers/ports.ts";
import { SupervisedProcess, toolEnv } from "../../tools/servers/supervised.ts";
import { until } from "../../tools/until.ts";
import { firstPort } from "../e2e/ports.ts";
import { AZURE_ACCOUNT, accountSas } from "../support/azure-sas.ts";

/** A project of its own: Azurite brings far more packages than everything else together. */
const PROJECT = import.meta.dirname;
const MAIN = join(PROJECT, "node_modules/azurite/dist/src/blob/main.js");

const READY_WITHIN_MS = 60_000;

/** Its records of blobs, which it writes every five seconds. A killed one forgets the rest. */
const DATABASES = ["__azurite_db_blob__.json", "__azurite_db_blob_extent__.json"];
const WRITTEN_WITHIN_MS = 30_000;

/** What a relay does to the connections that it passes on. */
type Manner =
  /** All that both sides say is passed on. */
  | "pass"
  /** Answers are counted, and dropped. */
  | "deaf"
  /** Of each connection, so many bytes are passed on, and then nothing. */
  | { bytes: number };

/**
 * Azurite, the emulator of Azure Blob Storage, on a folder of the test's, behind a relay that loses
 * answers. Use it with `await using`, once it is installed.
 */
export class Azurite implements AsyncDisposable {
  manner: Manner = "pass";
  /** Answers that were dropped, by their status lines. */
  readonly dropped: string[] = [];
  /** Connections of which the rest was held back. */
  cut = 0;
  readonly #folder: string;
  readonly #port: number;
  readonly #relay: Server;
  readonly #sockets = new Set<Socket>();
  #process: SupervisedProcess;

  private constructor(folder: string, port: number, process: SupervisedProcess, relay: Server) {
    this.#folder = folder;
    this.#port = port;
    this.#process = process;
    this.#relay = relay;
  }

  /** Installs its packages, if they are missing. */
  static async install(): Promise<void> {
    if (!arePackagesInstalled(PROJECT)) await installPackages(undefined, PROJECT);
  }

  /** @param folder of its data. */
  static async start(folder: string): Promise<Azurite> {
    mkdirSync(folder, { recursive: true });
    const port = await pickPort(firstPort("azurite"));
    const relay = createServer();
    const azurite = new Azurite(folder, port, await started(folder, port), relay);
    relay.on("connection", (client) => azurite.#join(client));
    await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
    return azurite;
  }

  /** Of the relay. */
  get host(): string {
    const address = this.#relay.address();
    if (address === null || typeof address === "string") throw new Error("the relay does not listen");
    return `127.0.0.1:${address.port}`;
  }

  /** The address of a container, or of a blob, past the relay. */
  url(path: string, sas = accountSas("rwlc", { srt: "sco" })): string {
    return `http://127.0.0.1:${this.#port}/${AZURE_ACCOUNT}/${path}${path.includes("?") ? "&" : "?"}${sas}`;
  }

  async createContainer(name: string): Promise<void> {
    const answer = await fetch(this.url(`${name}?restype=container`), { method: "PUT", headers: VERSION });
    if (answer.status !== 201) throw new Error(`creating a container: ${answer.status} ${await answer.text()}`);
  }

  /** All blobs of a container, read back one by one. */
  async blobs(container: string): Promise<{ key: string; bytes: Uint8Array }[]> {
    const list = await fetch(this.url(`${container}?restype=container&comp=list`), { headers: VERSION });
    const keys = [...(await list.text()).matchAll(/<Name>([^<]+)<\/Name>/g)].map(([, key = ""]) => key);
    return Promise.all(
      keys.map(async (key) => {
        const answer = await fetch(this.url(`${container}/${key}`), { headers: VERSION });
        if (answer.status !== 200) throw new Error(`reading ${key}: ${answer.status}`);
        return { key, bytes: new Uint8Array(await answer.arrayBuffer()) };
      }),
    );
  }

  /** Waits until as many blobs with this in their names would survive its death. */
  async keeps(count: number, part: string): Promise<void> {
    const kept = (): number => {
      const [blobs = "", extents = ""] = DATABASES.map((name) => readFileSync(join(this.#folder, name), "utf8"));
      const names = blobs.match(new RegExp(`"name":"[^"]*${part}[^"]*"`, "g")) ?? [];
      // A blob's bytes are in an extent, whose record is written on its own.
      return extents.includes('"id"') ? names.length : 0;
    };
    await until({
      what: `Azurite to keep ${count} blobs`,
      withinMs: WRITTEN_WITHIN_MS,
      look: async () => kept(),
      enough: (found) => found >= count,
    });
  }

  /** `kill -9`, and every connection breaks. */
  async kill(): Promise<void> {
    await this.#process.kill("SIGKILL");
    for (const socket of this.#sockets) socket.destroy();
  }

  /** On the same folder and port. */
  async restart(): Promise<void> {
    this.#process = await started(this.#folder, this.#port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#relay.close();
    await this.#process.stop();
  }

  #join(client: Socket): void {
    const server = connect(this.#port, "127.0.0.1");
    const { manner } = this;
    let room = typeof manner === "object" ? manner.bytes : Number.POSITIVE_INFINITY;
    client.on("data", (bytes) => {
      server.write(bytes.subarray(0, room));
      if (bytes.length > room) this.cut += 1;
      room = Math.max(0, room - bytes.length);
    });
    server.on("data", (bytes) => {
      if (this.manner === "pass") client.write(bytes);
      else this.dropped.push(bytes.toString("latin1").split("\r\n", 1)[0] ?? "");
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }
}

const VERSION = { "x-ms-version": "2021-12-02" };

async function started(folder: string, port: number): Promise<SupervisedProcess> {
  const options = ["--silent", "--disableTelemetry", "--blobHost", "127.0.0.1", "--blobPort", `${port}`];
  const process_ = new SupervisedProcess({
    argv: [process.execPath, MAIN, ...options, "--location", folder],
    cwd: folder,
    env: toolEnv(),
  });
  const line = /successfully listens on (http:\/\/\S+)/;
  await process_.ready({ name: "Azurite", line, url: `http://127.0.0.1:${port}`, withinMs: READY_WITHIN_MS });
  return process_;
}
