/** A live viewer in the runtime, through the app, with a session's cookie. */
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import type { TraceRecord } from "../../../src/formats/record/fields.ts";
import { Live } from "../../../src/operate/live/live.ts";
import { traceLog } from "../../../src/ship/log/trace-log.ts";
import { createApp } from "../../../src/web/app.ts";
import { LIVE_SOCKET_PATH } from "../../../src/web/dashboard/live-socket.ts";
import { open } from "../../ship/log/shard.ts";
import { untilPasses } from "../../support/until.ts";
import { ORIGIN, Visitor } from "../../web/dashboard/support.ts";

export type Counts = { seen: number; shown: number; filtered: number; dropped: number; paused: number };

export interface Said {
  type: "hello" | "filter" | "records";
  faults?: string[];
  number?: number;
  counts?: Counts;
  records?: { record: Partial<TraceRecord>; tooLarge?: number }[];
}

/** Headers of a browser that opens a socket from the dashboard. */
export const HANDSHAKE = { upgrade: "websocket", origin: ORIGIN, "sec-fetch-site": "same-origin" } as const;

export async function knock(headers: Record<string, string>): Promise<Response> {
  return createApp(platform).request(ORIGIN + LIVE_SOCKET_PATH, { headers }, env as unknown as Env);
}

/** A socket, and all that it received. */
export class Viewing {
  readonly socket: WebSocket;
  readonly said: Said[] = [];
  /** Code and reason; null: it is open. */
  closed: [code: number, reason: string] | null = null;
  #wake = (): void => {};

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => {
      this.said.push(JSON.parse(String(data)) as Said);
      this.#wake();
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = [code, reason];
      this.#wake();
    });
    socket.accept();
  }

  static async open(visitor?: Visitor): Promise<Viewing> {
    const { cookie } = visitor ?? (await Visitor.signedIn());
    const answer = await knock({ ...HANDSHAKE, cookie: cookie ?? "" });
    expect(answer.status).toBe(101);
    if (answer.webSocket === null) throw new Error("no socket");
    return new Viewing(answer.webSocket);
  }

  say(message: object | string): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The next message of a kind that was not returned yet. */
  async next(type: Said["type"]): Promise<Said> {
    for (;;) {
      const at = this.said.findIndex((each) => each.type === type);
      if (at !== -1) return this.said.splice(at, 1)[0] as Said;
      if (this.closed !== null) throw new Error(`closed: ${this.closed.join(" ")}`);
      await this.#something();
    }
  }

  async end(): Promise<[code: number, reason: string]> {
    while (this.closed === null) await this.#something();
    return this.closed;
  }

  /** Sends a message, and waits until all earlier ones are handled. */
  async heard(): Promise<void> {
    this.say({ type: "filter", filter: "{" });
    await this.next("filter");
  }

  #something(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** The log takes messages while a page is open. Resolves when live viewers have what is new. */
export async function taken(...messages: ArrayBuffer[]): Promise<void> {
  const added = vi.spyOn(Live.prototype, "added");
  const ended = (): number => added.mock.settledResults.filter(({ type }) => type !== "incomplete").length;
  const before = ended();
  await traceLog(env.TRACE_LOG, 0).append(open(messages));
  await untilPasses(() => expect(ended()).toBeGreaterThan(before), 1);
}

export const outcomes = ({ records = [] }: Said): (string | undefined)[] => records.map(({ record }) => record.Outcome);
