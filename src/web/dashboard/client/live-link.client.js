// The socket of /live: connects again by itself. src/operate/live/protocol.ts has its messages.
// @ts-check
import { visible } from "../parts/record-summary.ts";

/** @typedef {{ [name: string]: unknown }} Json */
/** @typedef {{ record: Json, source?: string, tooLarge?: number }} Arrived */
/**
 * @typedef {{ seen: number, shown: number, filtered: number, dropped: number, paused: number }}
 *   Counts
 */
/** @typedef {{ filter: string, query: string }} Wanted */
/**
 * What becomes of it. `records`: whether they match what is in force. `judged`: the answer to a
 * filter; with faults, the one before stays.
 * @typedef {{
 *   opened(): void,
 *   records(records: Arrived[], number: number, isJudged: boolean): void,
 *   gap(text: string): void,
 *   judged(faults: string[], isNew: boolean): void,
 *   state(text: string, isOpen: boolean): void,
 * }} Heard
 */

const PING_MS = 30_000;
/** How long a socket may take to open, in ms. */
const CONNECT_MS = 10_000;
const BACKOFF_MS = { first: 1000, most: 30_000 };

export const COUNTED = /** @type {const} */ (["seen", "shown", "filtered", "dropped", "paused"]);

/** @returns {Counts} */
const none = () => ({ seen: 0, shown: 0, filtered: 0, dropped: 0, paused: 0 });

export class Link {
  /** In force. @type {Wanted} */
  wanted = { filter: "", query: "" };
  /** The server sends nothing. */
  #isPaused = false;
  /** @type {Heard} */
  #heard;
  /** Counts of earlier sockets, and of this one. */
  #before = none();
  #counts = none();
  /** @type {WebSocket | null} */
  #socket = null;
  #wait = BACKOFF_MS.first;
  /** Why there is no further socket; "": reconnects. */
  #end = "";
  #isOpen = false;
  #told = 0;
  #drawn = 0;
  #heardMs = 0;
  /** When the connection was lost, in ms since the epoch. @type {number | null} */
  #lostMs = null;
  /** Filters without an answer yet, oldest first. @type {Wanted[]} */
  #asked = [];

  constructor(/** @type {Heard} */ heard) {
    this.#heard = heard;
  }

  total(/** @type {keyof Counts} */ name) {
    return this.#before[name] + this.#counts[name];
  }

  connect() {
    if (this.#socket !== null || this.#end !== "") return;
    for (const name of COUNTED) this.#before[name] += this.#counts[name];
    [this.#counts, this.#told, this.#drawn] = [none(), 0, 0];
    const url = new URL("/live/socket", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#heardMs = Date.now();
    socket.addEventListener("message", ({ data }) => socket === this.#socket && this.#take(String(data)));
    socket.addEventListener("close", ({ code, reason }) => socket === this.#socket && this.#closed(code, reason));
    this.#showState();
  }

  /** @param {string} why shown until {@link connect}. */
  disconnect(why) {
    const socket = this.#socket;
    if (this.#isOpen) this.#lostMs = Date.now();
    [this.#socket, this.#isOpen] = [null, false];
    socket?.close(1000);
    this.#heard.state(why, false);
  }

  want(/** @type {Wanted} */ wanted) {
    // Without a socket, the last one is asked for when it opens.
    if (!this.#isOpen) this.#asked = [];
    this.#asked.push(wanted);
    this.#say({ type: "filter", ...wanted });
  }

  pause(/** @type {boolean} */ isPaused) {
    if (this.#isPaused !== isPaused) this.#say({ type: isPaused ? "pause" : "resume" });
    this.#isPaused = isPaused;
  }

  /** All messages of this socket up to this number are on the screen, or kept. */
  drawn(/** @type {number} */ number) {
    this.#drawn = Math.max(this.#drawn, number);
  }

  tell() {
    if (this.#drawn > this.#told) this.#say({ type: "drawn", number: this.#drawn });
    this.#told = this.#drawn;
  }

  ping() {
    // A dead connection does not report itself, nor one that never opens.
    const silentMs = Date.now() - this.#heardMs;
    if (this.#socket !== null && silentMs > (this.#isOpen ? 2.5 * PING_MS : CONNECT_MS)) {
      this.#socket.close();
      this.#closed(1006, "");
    } else if (this.#isOpen && silentMs > PING_MS) this.#socket?.send("ping");
  }

  #say(/** @type {object} */ message) {
    if (this.#isOpen) this.#socket?.send(JSON.stringify(message));
  }

  #showState() {
    const words = this.#isOpen ? "Connected" : this.#socket !== null ? "Connecting…" : "Disconnected. Reconnecting…";
    this.#heard.state(this.#end || words, this.#isOpen);
  }

  #take(/** @type {string} */ data) {
    this.#heardMs = Date.now();
    if (data === "pong") return;
    const message = JSON.parse(data);
    if (message.type === "hello") {
      [this.#isOpen, this.#wait] = [true, BACKOFF_MS.first];
      if (this.#lostMs !== null) {
        const seconds = Math.max(1, Math.round((Date.now() - this.#lostMs) / 1000));
        this.#heard.gap(`Disconnected for ${seconds.toLocaleString("en")} s: records of that time may be missing`);
        this.#lostMs = null;
      }
      const wanted = this.#asked.pop() ?? this.wanted;
      if (wanted !== this.wanted || wanted.filter !== "" || wanted.query !== "") this.want({ ...wanted });
      if (this.#isPaused) this.#say({ type: "pause" });
      this.#showState();
      this.#heard.opened();
    }
    if (message.type === "filter") this.#judged(message.faults);
    if (message.type !== "records") return;
    const [before, now] = [this.#counts, message.counts];
    this.#counts = now;
    if (now.dropped > before.dropped)
      this.#heard.gap(`${(now.dropped - before.dropped).toLocaleString("en")} skipped (too fast)`);
    if (now.paused > before.paused)
      this.#heard.gap(`${(now.paused - before.paused).toLocaleString("en")} missed while paused`);
    this.#heard.records(message.records, message.number, this.#asked.length === 0);
  }

  #judged(/** @type {string[]} */ faults) {
    const asked = this.#asked.shift();
    if (asked === undefined) return;
    const isNew = asked.filter !== this.wanted.filter || asked.query !== this.wanted.query;
    // What the server does not take at the start leaves it without any.
    if (faults.length === 0 || !isNew) this.wanted = faults.length === 0 ? asked : { filter: "", query: "" };
    this.#heard.judged(faults, isNew);
  }

  async #closed(/** @type {number} */ code, /** @type {string} */ reason) {
    const wasOpen = this.#isOpen;
    if (wasOpen) this.#lostMs = Date.now();
    [this.#socket, this.#isOpen] = [null, false];
    if (code === 4401) this.#end = "Signed out. Sign in again to continue.";
    else if (code === 4403) this.#end = "You can no longer see records: this needs the permission logs:read.";
    else if (!wasOpen && code < 4000) await this.#askWhy();
    const wait = code === 4429 ? BACKOFF_MS.most : this.#wait * (0.75 + Math.random() / 2);
    this.#wait = Math.min(BACKOFF_MS.most, this.#wait * 2);
    if (this.#end === "") setTimeout(() => this.connect(), wait);
    this.#showState();
    if (this.#end === "" && reason !== "") this.#heard.state(`Disconnected: ${visible(reason)}. Reconnecting…`, false);
  }

  /** A browser does not say why a socket was rejected. */
  async #askWhy() {
    try {
      const { status } = await fetch("/live/socket", { signal: AbortSignal.timeout(CONNECT_MS) });
      if (status === 401) this.#end = "Signed out. Sign in again to continue.";
      if (status === 403) this.#end = "You cannot see records: this needs the permission logs:read.";
    } catch {
      // Offline: retried.
    }
  }
}
