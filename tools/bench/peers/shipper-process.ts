/** A peer as a process of its own, which ends with this one. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { claimPort } from "../../servers/ports.ts";
import { toolEnv } from "../../servers/supervised.ts";
import { pause } from "../../until.ts";
import { PEER_KEYS, type PeerPlace } from "./configs.ts";

/** Output kept for error messages, in characters. */
const OUTPUT_KEPT = 4_000;

const READY_WITHIN_MS = 30_000;

/** From the request to end to the signal that ends it for certain, in ms. */
const GRACE_MS = 5_000;

/** Where peers look for a free port first. */
const FIRST_PORT = 14_600;

export class ShipperProcess {
  /** It takes POSTs here. */
  readonly url: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #ended: Promise<unknown>;
  #output = "";

  private constructor(child: ChildProcess, url: string, folder: string) {
    this.#child = child;
    this.url = url;
    this.pid = child.pid ?? 0;
    this.#folder = folder;
    const take = (chunk: string): void => {
      this.#output = (this.#output + chunk).slice(-OUTPUT_KEPT);
    };
    child.stdout?.setEncoding("utf8").on("data", take);
    child.stderr?.setEncoding("utf8").on("data", take);
    child.once("error", (error) => take(error.message));
    process.once("exit", this.#kill);
    this.#ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  }

  /**
   * @param config the content of its file, for the place that it gets.
   * @param args of the program, for the path of that file.
   * @throws Error with its output if it does not answer in time.
   */
  static async start(
    binary: string,
    store: string,
    config: (place: PeerPlace) => object,
    args: (file: string) => readonly string[],
  ): Promise<ShipperProcess> {
    const folder = mkdtempSync(join(tmpdir(), "logship-peer-"));
    const { port, release } = await claimPort(FIRST_PORT);
    mkdirSync(join(folder, "data"));
    const file = join(folder, "config.yaml");
    writeFileSync(file, JSON.stringify(config({ port, store, folder: join(folder, "data") }), null, 2));
    const child = spawn(binary, args(file), {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      // No configuration or credentials of the user's own.
      env: toolEnv({
        ...{ HOME: folder, AWS_ACCESS_KEY_ID: PEER_KEYS.id, AWS_SECRET_ACCESS_KEY: PEER_KEYS.secret },
        ...{ AWS_EC2_METADATA_DISABLED: "true" },
      }),
    });
    const started = new ShipperProcess(child, `http://127.0.0.1:${port}/`, folder);
    try {
      await started.#ready();
    } catch (error) {
      await started.stop();
      throw error;
    } finally {
      release();
    }
    return started;
  }

  async #ready(): Promise<void> {
    const deadline = Date.now() + READY_WITHIN_MS;
    for (;;) {
      try {
        await fetch(this.url, { signal: AbortSignal.timeout(2_000) }).then((answer) => answer.arrayBuffer());
        return;
      } catch {
        if (this.#child.exitCode !== null || this.#child.pid === undefined || Date.now() > deadline)
          throw new Error(`${this.#child.spawnfile} does not answer:\n${this.output}`);
      }
      await pause(100);
    }
  }

  /** Its latest output. */
  get output(): string {
    return this.#output.trim() || "(it printed nothing)";
  }

  /** Ends it, by force after a grace period. */
  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    const force = setTimeout(this.#kill, GRACE_MS);
    if (this.#child.pid !== undefined) await this.#ended;
    clearTimeout(force);
    process.removeListener("exit", this.#kill);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  readonly #kill = (): void => {
    this.#child.kill("SIGKILL");
  };
}

/** The path of a program on the PATH; undefined if there is none. */
export function onPath(name: string, path = process.env.PATH ?? ""): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** The number in what a program says of its version; "unknown version" if it says none. */
export function versionIn(text: string): string {
  return /\bv?(\d+\.\d+(?:\.\d+)?(?:[-+][\w.-]+)?)/.exec(text)?.[1] ?? "unknown version";
}

/** @throws if there is no such program. */
export function versionOf(binary: string): string {
  const { error, stdout, stderr } = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  if (error !== undefined) throw new Error(`${binary}: ${error.message}`);
  return versionIn(`${stdout}\n${stderr}`);
}
