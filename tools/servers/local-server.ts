import { claimPort } from "./ports.ts";
import { type Command, type Readiness, SupervisedProcess } from "./supervised.ts";

/** Starts that are tried when somebody else takes the port between the look and the start. */
const PORT_TRIES = 3;

const READY_WITHIN_MS = 60_000;

/** What all servers here have in common. */
export interface ServerOptions {
  /** Where it listens; the next free port if that one is taken. */
  readonly port?: number;
  /** Folder in which local workers find each other; that of the user by default. */
  readonly registry?: string;
  /** Gets everything that the server and its worker print. */
  readonly logFile?: string;
  readonly onOutput?: (text: string) => void;
  /** A path that is asked before it counts as ready, whatever it answers. Each request that a worker answers is a trace event of it. */
  readonly probe?: string;
  /** How long it may take until it answers, in ms. */
  readonly readyWithinMs?: number;
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal;
}

/** How a kind of server is started. */
export interface ServerKind extends Pick<Readiness, "name" | "line"> {
  /** What it prints if somebody has its port already. */
  readonly portTaken: RegExp;
  readonly firstPort: number;
  readonly command: (port: number) => Command;
}

/** A server on this machine that is ours. It ends with `stop()`, or with the process that started it. */
export class LocalServer {
  /** Without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Settles when the process has ended, however it ended. */
  readonly ended: Promise<string>;
  readonly #process: SupervisedProcess;

  private constructor(process: SupervisedProcess, port: number) {
    this.#process = process;
    this.port = port;
    this.url = localUrl(port);
    this.ended = process.ended;
  }

  /** @throws Error with its own words if it ends early or does not answer in time; nothing is left running then. */
  static async start(
    { name, line, portTaken, firstPort, command }: ServerKind,
    options: ServerOptions,
  ): Promise<LocalServer> {
    const { probe, readyWithinMs: withinMs = READY_WITHIN_MS, signal } = options;
    let from = options.port ?? firstPort;
    for (let tries = 1; ; tries++) {
      const { port, release } = await claimPort(from);
      const process = new SupervisedProcess(command(port));
      try {
        await process.ready({ name, line, url: localUrl(port), probe, withinMs, signal });
        return new LocalServer(process, port);
      } catch (error) {
        await process.stop();
        if (tries >= PORT_TRIES || !portTaken.test(process.output)) throw error;
        from = port + 1;
      } finally {
        release();
      }
    }
  }

  /** The latest of what it printed, without colours. */
  get output(): string {
    return this.#process.output;
  }

  /** The last lines of it. */
  get excerpt(): string {
    return this.#process.excerpt;
  }

  /** Ends it tidily, and all that it started; by force if that takes too long. */
  stop(): Promise<void> {
    return this.#process.stop();
  }

  /** Sends a signal to all of it at once, as a crash of the machine would. */
  async kill(signal: "SIGKILL"): Promise<void> {
    await this.#process.kill(signal);
  }
}

/** Of what listens there. */
export function localUrl(port: number): string {
  return `http://localhost:${port}`;
}
