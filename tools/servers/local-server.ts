import { claimPort } from "./ports.ts";
import { type Command, type Readiness, SupervisedProcess } from "./supervised.ts";

/** Attempts if another process takes the port between the check and the start. */
const PORT_TRIES = 3;

const READY_WITHIN_MS = 60_000;

/** Options of all servers. */
export interface ServerOptions {
  /** The first port tried; if taken, the next free one. */
  readonly port?: number;
  /** Folder in which local workers find each other; that of this checkout by default. */
  readonly registry?: string;
  /** Gets all output of the server and its worker. */
  readonly logFile?: string;
  readonly onOutput?: (text: string) => void;
  /**
   * A path to request before it counts as ready; any answer will do. Each request to a worker is a
   * trace event.
   */
  readonly probe?: string;
  /** Deadline of its first answer, in ms. */
  readonly readyWithinMs?: number;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
}

/** How a kind of server is started. */
export interface ServerKind extends Pick<Readiness, "name" | "line"> {
  /** What it prints if its port is taken. */
  readonly portTaken: RegExp;
  readonly firstPort: number;
  readonly command: (port: number) => Command;
}

/** A server on this machine. It ends with `stop()`, or with the process that started it. */
export class LocalServer extends SupervisedProcess {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;

  private constructor(command: Command, port: number) {
    super(command);
    this.port = port;
    this.url = localUrl(port);
  }

  /**
   * @throws Error with its output if it ends early or does not answer in time; nothing is left
   *   running then.
   */
  static async start(
    { name, line, portTaken, firstPort, command }: ServerKind,
    options: ServerOptions,
  ): Promise<LocalServer> {
    const { probe, readyWithinMs: withinMs = READY_WITHIN_MS, signal } = options;
    let from = options.port ?? firstPort;
    for (let tries = 1; ; tries++) {
      const { port, release } = await claimPort(from);
      const server = new LocalServer(command(port), port);
      try {
        await server.ready({ name, line, url: server.url, probe, withinMs, signal });
        return server;
      } catch (error) {
        await server.stop();
        if (tries >= PORT_TRIES || !portTaken.test(server.output)) throw error;
        from = port + 1;
      } finally {
        release();
      }
    }
  }
}

/** URL of a server on this port. */
export function localUrl(port: number): string {
  return `http://localhost:${port}`;
}
