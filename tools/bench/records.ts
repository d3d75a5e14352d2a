/**
 * A realistic mix of trace items, as `tail()` gives them: the same seed gives the same items
 * everywhere. Some 800 B a record on average, much of it in few records: four in five are
 * successful requests with few logs, one in two hundred logs a hundred lines.
 */

const FUNCTIONS = [
  ...["shop-web", "shop-api", "checkout", "payments", "invoices", "inventory", "search", "recommendations", "images"],
  ...["auth", "sessions", "profiles", "newsletter", "webhooks", "reports", "exports", "feature-flags", "geo", "feeds"],
  "admin",
] as const;

const PATHS = [
  "/",
  "/orders/",
  "/products/",
  "/api/v2/carts/",
  "/api/v2/users/",
  "/search?q=",
  "/assets/img/",
  "/feeds/",
];
export const WORDS =
  "order customer cart cached stale fetched payment region replica retry shard updated missing price item".split(" ");
const QUEUES = ["mails", "thumbnails", "index-updates"];
const METHODS = ["reserve", "lookup", "quote", "verifyToken"];
const ERRORS = ["TypeError", "RangeError", "PaymentError", "UpstreamTimeout"];

/** Uniform in [0, 1), from a 32-bit seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A trace item; opaque here. */
export type TraceItem = Record<string, unknown>;

/** Makes trace items, one after the other. */
export class RecordMix {
  readonly #random: () => number;

  constructor(seed = 1) {
    this.#random = seeded(seed);
  }

  /** @param atMs time of the event, since the epoch. */
  next(atMs: number): TraceItem {
    const dice = this.#random();
    if (dice < 0.8) return this.#fetch(atMs, 200, this.#count(4));
    if (dice < 0.87) return this.#fetch(atMs, 404, 1, "warn");
    if (dice < 0.92) return this.#exception(atMs);
    if (dice < 0.925) return this.#fetch(atMs, 200, 100, "debug");
    if (dice < 0.95) return this.#item(atMs, { cron: "*/5 * * * *", scheduledTime: atMs }, this.#logs(atMs, 1, "info"));
    if (dice < 0.975) {
      const event = { queue: this.#pick(QUEUES), batchSize: 1 + this.#count(100) };
      return this.#item(atMs, event, this.#logs(atMs, this.#count(3), "info"));
    }
    return this.#item(atMs, { rpcMethod: this.#pick(METHODS) }, this.#logs(atMs, this.#count(2), "log"));
  }

  #fetch(atMs: number, status: number, logs: number, level = "log"): TraceItem {
    return this.#item(atMs, { request: this.#request(), response: { status } }, this.#logs(atMs, logs, level));
  }

  #exception(atMs: number): TraceItem {
    const name = this.#pick(ERRORS);
    const frames = Array.from(
      { length: 6 + this.#count(5) },
      () => `    at ${this.#pick(WORDS)}${this.#pick(METHODS)} (index.js:${this.#count(4_000)}:${this.#count(120)})`,
    );
    return {
      ...this.#item(atMs, { request: this.#request() }, this.#logs(atMs, 1, "error")),
      exceptions: [{ name, message: `${name}: ${this.#text(4)}\n${frames.join("\n")}`, timestamp: atMs + 3 }],
      outcome: "exception",
    };
  }

  #item(atMs: number, event: object, logs: object[]): TraceItem {
    const wallTime = 1 + this.#count(400);
    return {
      event: event,
      eventTimestamp: atMs,
      logs,
      exceptions: [],
      diagnosticsChannelEvents: [],
      scriptName: this.#pick(FUNCTIONS),
      scriptVersion: { id: this.#uuid() },
      outcome: "ok",
      cpuTime: Math.min(wallTime, this.#count(30)),
      wallTime,
      executionModel: "stateless",
      truncated: false,
      entrypoint: "default",
    };
  }

  #request(): object {
    const path = `${this.#pick(PATHS)}${this.#hex(8)}?utm=${this.#pick(WORDS)}&session=${this.#hex(24)}`;
    return {
      url: `https://${this.#pick(FUNCTIONS)}.example.com${path}`,
      method: this.#random() < 0.8 ? "GET" : "POST",
      headers: { "cf-ray": `${this.#hex(16)}-FRA`, "user-agent": "Mozilla/5.0 (X11; Linux x86_64)" },
      cf: { colo: "FRA", country: "DE" },
    };
  }

  #logs(atMs: number, count: number, level: string): object[] {
    return Array.from({ length: count }, (_, i) => ({
      message:
        this.#random() < 0.5
          ? [`${this.#text(8)} ${this.#hex(12)}`]
          : [
              this.#text(5),
              { id: this.#uuid(), items: this.#count(20), ms: this.#count(300), region: "weur", user: this.#hex(10) },
            ],
      level,
      timestamp: atMs + i,
    }));
  }

  #text(words: number): string {
    return Array.from({ length: words }, () => this.#pick(WORDS)).join(" ");
  }

  #uuid(): string {
    return [8, 4, 4, 4, 12].map((digits) => this.#hex(digits)).join("-");
  }

  #hex(digits: number): string {
    let hex = "";
    while (hex.length < digits) {
      hex += Math.floor(this.#random() * 2 ** 32)
        .toString(16)
        .padStart(8, "0");
    }
    return hex.slice(0, digits);
  }

  /** 0 to `below` - 1. */
  #count(below: number): number {
    return Math.floor(this.#random() * below);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#count(from.length)] as T;
  }
}
