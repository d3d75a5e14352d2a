import { DurableObject } from "cloudflare:workers";
import { fromBase64, toBase64, utf8Length } from "../../base/bytes.ts";
import {
  LIVE_MESSAGE_MAX_BYTES,
  LIVE_MESSAGES_MAX,
  LIVE_MESSAGES_MS,
  LIVE_SOCKETS_MAX,
  LIVE_SOCKETS_OF_ONE_MAX,
} from "../../base/limits.ts";
import { errorText, log } from "../../base/logger.ts";
import { answered, platform, settled } from "../../base/platform.ts";
import { readExtraFields, readMacKeys } from "../../config.ts";
import { quoted } from "../../formats/query/show.ts";
import { loadOffered } from "../../formats/queue/load-records.ts";
import type { RecordLine } from "../../formats/record/line.ts";
import { packer } from "../../ship/intake/packer.ts";
import type { EarlyPart } from "../../ship/intake/viewers.ts";
import type { OpenMessage } from "../../ship/log/blocks.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { AddedBlock } from "../../ship/log/show-live.ts";
import { traceLog } from "../../ship/log/trace-log.ts";
import { accessRegister } from "../../state/access/register.ts";
import { controlPlane } from "../../state/control/plane.ts";
import { arrivedOf } from "./arrived.ts";
import { FreshOptOuts, recordsOf, unseen } from "./early.ts";
import { CLOSE, filterMessage, helloMessage, readClientMessage } from "./protocol.ts";
import { type ShownParts, ShownStore } from "./shown-parts.ts";
import { Watcher, type WatcherState } from "./watcher.ts";

/**
 * How often sessions are checked and the log is told of viewers, in ms: after signing out, a
 * viewer sees records for a minute at most.
 */
const ROUND_MS = 45_000;
/** How long the log relies on it: two rounds and a margin. */
const WATCHED_MS = 100_000;

/** Deadline of the log and the register, in ms. */
const ANSWER_MS = 3_000;

/** Records that wait for the opt-outs, in UTF-16 units. */
const WAITING_MAX_UNITS = 4 * 1024 * 1024;

/** Concurrent session checks. */
const ASKED_AT_ONCE = 6;

/**
 * Header of {@link Live.fetch}: the hash of the session's id, followed by the admin's proof if
 * there is one, in base64.
 */
export const SESSION_HEADER = "x-live-session";

/** Header of {@link Live.fetch}: the token or member that watches. */
export const HOLDER_HEADER = "x-live-holder";

/** SHA-256. */
const HASH_BYTES = 32;

/** WebSocket.OPEN. */
const OPEN = 1;

/**
 * Sends records to live viewers as they arrive. It holds none: each is sent or dropped. Between
 * records it hibernates (the platform keeps the sockets), and without viewers it is not called.
 */
export class Live extends DurableObject<Env> {
  /** A cache: the state is attached to the sockets. */
  readonly #watchers = new WeakMap<WebSocket, Watcher>();
  readonly #heard = new WeakMap<WebSocket, { sinceMs: number; messages: number }>();
  /** Until when the log expects viewers, in ms since the epoch. */
  #watchedUntilMs = 0;
  readonly #shown: ShownStore;
  readonly #optOuts: FreshOptOuts;
  #waitingUnits = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Answered by the platform, without waking the object.
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    this.#shown = new ShownStore(ctx, platform);
    this.#optOuts = new FreshOptOuts(
      { configSince: (state) => controlPlane(env.CONTROL).configSince(state) },
      platform,
    );
  }

  /**
   * Takes the socket of a checked session. Beyond the limit it is accepted and closed: scripts in
   * browsers cannot read the reason of an HTTP refusal.
   */
  override async fetch(request: Request): Promise<Response> {
    const session = fromBase64(request.headers.get(SESSION_HEADER) ?? "");
    const { 0: client, 1: server } = new WebSocketPair();
    const holder = request.headers.get(HOLDER_HEADER) ?? "";
    const full = this.#fullFor(holder);
    if (full !== null) {
      server.accept();
      server.close(CLOSE.full, full);
      return new Response(null, { status: 101, webSocket: client });
    }
    const watcher = Watcher.newcomer(session, holder, this.#parts().next(platform.now()));
    this.ctx.acceptWebSocket(server);
    this.#watchers.set(server, watcher);
    keep(server, watcher);
    server.send(helloMessage());
    if (this.#watchedUntilMs < platform.now() + ROUND_MS) await this.#announce();
    if ((await this.ctx.storage.getAlarm()) === null) await this.#nextRound();
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Sends what is new in a block of the log to all viewers, each what it has not seen early. */
  async added({ shard, n, ids }: AddedBlock): Promise<void> {
    if (this.#open().length === 0) return;
    // Before the log is asked: from here on, nothing of it is shown early.
    const turns = this.#parts().counted(ids, platform.now());
    this.#shown.changed();
    const lacks = (socket: WebSocket): boolean =>
      [...turns.values()].some((turn) => turn <= this.#watcherOf(socket).since);
    if (!this.#open().some(lacks)) return;
    const asked = traceLog(this.env.TRACE_LOG, shard).records(n - 1, 1) as Promise<{ messages: OpenMessage[] }>;
    const { messages } = await answered("the log", ANSWER_MS, asked);
    const keys = readMacKeys(this.env);
    const loaded = messages.map((message) => loadOffered(message, keys));
    const parts = loaded.flatMap((each) => (typeof each === "string" ? [] : each));
    // Where the block is gone, the log answers with a later one, which is shown by itself.
    const arrived = arrivedOf(parts.filter(({ message }) => turns.has(message.id)));
    for (const socket of this.#open()) {
      const fresh = unseen(arrived, turns, this.#watcherOf(socket).since);
      this.#offer(socket, fresh.records, fresh.leftOut);
    }
  }

  /**
   * Sends records that the queue has taken to all viewers, before the consumer brings them: none of
   * a function whose logging is off, so nothing if the opt-outs are not known.
   * @param parts none: only the question.
   * @returns whether there are viewers.
   */
  async showEarly(parts: readonly EarlyPart[]): Promise<boolean> {
    if (this.#open().length === 0) return false;
    const units = parts.reduce((sum, { entries }) => entries.reduce((all, { length }) => all + length, sum), 0);
    if (parts.length === 0 || this.#waitingUnits + units > WAITING_MAX_UNITS) return true;
    this.#waitingUnits += units;
    const optOuts = await this.#optOuts.get();
    this.#waitingUnits -= units;
    // The consumer may have brought them meanwhile: from here on, nothing waits.
    const open = this.#open();
    if (optOuts === null || open.length === 0) return open.length > 0;
    const records = this.#parts()
      .takeEarly(recordsOf(parts, optOuts), platform.now())
      .flatMap((part) => part.records);
    this.#shown.changed();
    for (const socket of open) this.#offer(socket, records, 0);
    return true;
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    const fault = this.#take(socket, message);
    if (fault !== null) close(socket, ...fault);
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    // Reserved codes (1005, 1006, 1015) must not be sent.
    close(socket, code >= 3000 || code === 1000 ? code : 1000, "");
  }

  override webSocketError(socket: WebSocket): void {
    close(socket, 1011, "");
  }

  /**
   * Closes the sockets of ended sessions, and tells the log of viewers. Never throws: the
   * platform drops an alarm after six failed tries.
   */
  override async alarm(): Promise<void> {
    try {
      await this.#endOver();
      await this.#announce();
      if (this.#open().length > 0) await this.#nextRound();
      else this.#shown.forget();
    } catch (error) {
      log.error("a round of checks of live viewers failed", { error: errorText(error) });
      await this.#nextRound();
    }
  }

  /** @returns why to close the socket; null: not at all. */
  #take(socket: WebSocket, message: string | ArrayBuffer): [code: number, reason: string] | null {
    if (typeof message !== "string") return [CLOSE.invalid, "messages are JSON text"];
    if (message.length > LIVE_MESSAGE_MAX_BYTES || utf8Length(message) > LIVE_MESSAGE_MAX_BYTES)
      return [CLOSE.tooLarge, `a message has at most ${LIVE_MESSAGE_MAX_BYTES} bytes`];
    if (this.#isFlood(socket))
      return [CLOSE.flood, `at most ${LIVE_MESSAGES_MAX} messages in ${LIVE_MESSAGES_MS / 1000} s`];
    const said = readClientMessage(message);
    if (said === null) return [CLOSE.invalid, "no such message"];
    const watcher = this.#watcherOf(socket);
    switch (said.type) {
      case "filter": {
        const { filter, text } = said;
        const query = said.query || (text && quoted(text));
        send(socket, filterMessage(watcher.want({ filter, query }, readExtraFields(this.env) ?? [])));
        break;
      }
      case "pause":
        watcher.pause();
        break;
      case "resume":
        send(socket, watcher.resume());
        break;
      case "drawn": {
        const answer = watcher.drawn(said.number);
        if (answer === false) return [CLOSE.invalid, "a message of that number was not sent"];
        send(socket, answer);
      }
    }
    keep(socket, watcher);
    return null;
  }

  #offer(socket: WebSocket, records: readonly (RecordLine | null)[], leftOut: number): void {
    if (records.length + leftOut === 0) return;
    const watcher = this.#watcherOf(socket);
    send(socket, watcher.offer(records, leftOut));
    keep(socket, watcher);
  }

  #parts(): ShownParts {
    return this.#shown.parts(() => this.#open().map((socket) => this.#watcherOf(socket).since));
  }

  #isFlood(socket: WebSocket): boolean {
    const now = platform.now();
    const heard = this.#heard.get(socket);
    if (heard === undefined || Math.abs(now - heard.sinceMs) >= LIVE_MESSAGES_MS) {
      this.#heard.set(socket, { sinceMs: now, messages: 1 });
      return false;
    }
    heard.messages += 1;
    return heard.messages > LIVE_MESSAGES_MAX;
  }

  /** Why no other viewer is accepted; null: one is. */
  #fullFor(holder: string): string | null {
    const open = this.#open();
    if (open.length >= LIVE_SOCKETS_MAX) return `${LIVE_SOCKETS_MAX} are watching already`;
    const own = open.filter((socket) => this.#watcherOf(socket).holder === holder);
    return own.length < LIVE_SOCKETS_OF_ONE_MAX ? null : `you are watching ${own.length} times already`;
  }

  #open(): WebSocket[] {
    return this.ctx.getWebSockets().filter(({ readyState }) => readyState === OPEN);
  }

  #watcherOf(socket: WebSocket): Watcher {
    const known = this.#watchers.get(socket);
    if (known !== undefined) return known;
    const watcher = Watcher.awoken(socket.deserializeAttachment() as WatcherState);
    this.#watchers.set(socket, watcher);
    return watcher;
  }

  /**
   * Tells the log whether there are viewers. If that fails, nothing is shown until the next
   * round.
   */
  async #announce(): Promise<void> {
    const until = this.#open().length > 0 ? platform.now() + WATCHED_MS : 0;
    if (until > 0) this.ctx.waitUntil(this.#tellPacker());
    try {
      const told = new LogShards(this.env).each((shard) => shard.watchedUntil(until));
      await answered("the log", ANSWER_MS, told);
      this.#watchedUntilMs = until;
      // A viewer that joined meanwhile relied on the earlier announcement.
      if (until === 0 && this.#open().length > 0) await this.#announce();
    } catch (error) {
      this.#watchedUntilMs = 0;
      log.error("the log could not be told of live viewers", { error: errorText(error) });
    }
  }

  /** Then it shows records early. When it is alone, it notices by itself. */
  async #tellPacker(): Promise<void> {
    try {
      await answered("the packer", ANSWER_MS, packer(this.env.PACKER).watched());
    } catch (error) {
      log.warn("the packer could not be told of live viewers", { error: errorText(error) });
    }
  }

  async #nextRound(): Promise<void> {
    await this.ctx.storage.setAlarm(platform.now() + ROUND_MS);
  }

  /** Closes sockets whose session cannot be checked, too: they reconnect, and are checked then. */
  async #endOver(): Promise<void> {
    const bySession = new Map<string, WebSocket[]>();
    for (const socket of this.#open()) {
      const session = toBase64(this.#watcherOf(socket).session);
      bySession.set(session, [...(bySession.get(session) ?? []), socket]);
    }
    const sessions = [...bySession];
    const answers = await settled(sessions, ASKED_AT_ONCE, ([session]) =>
      answered(
        "the access register",
        ANSWER_MS,
        accessRegister(this.env.ACCESS).sessionOf(...partsOf(fromBase64(session))),
      ),
    );
    for (const [i, [, sockets]] of sessions.entries()) {
      const answer = answers[i];
      const known = answer?.status === "fulfilled" ? answer.value.session?.known : undefined;
      for (const socket of sockets) {
        if (answer?.status !== "fulfilled") close(socket, CLOSE.unknown, "your session could not be checked");
        else if (known === undefined) close(socket, CLOSE.session, "you are signed out");
        else if (known !== "admin" && !known.permissions.includes("logs:read"))
          close(socket, CLOSE.permission, "this needs the permission logs:read");
      }
    }
  }
}

/**
 * The session's hash, and the admin's proof of the handshake. A changed ADMIN_TOKEN is a new
 * deployment, which ends all sockets.
 */
function partsOf(session: Uint8Array): [hash: Uint8Array, proof: Uint8Array | null] {
  return [session.slice(0, HASH_BYTES), session.length > HASH_BYTES ? session.slice(HASH_BYTES) : null];
}

/** Attached to the socket, the state survives hibernation. */
function keep(socket: WebSocket, watcher: Watcher): void {
  socket.serializeAttachment(watcher.state);
}

function send(socket: WebSocket, message: string | null): void {
  if (message === null) return;
  try {
    socket.send(message);
  } catch {
    // It is closed already.
  }
}

function close(socket: WebSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // It is closed already.
  }
}

/** The one object of the account. */
export function live(namespace: DurableObjectNamespace<Live>): DurableObjectStub<Live> {
  return namespace.getByName("live");
}
