import { DurableObject } from "cloudflare:workers";

const FIRST_PACKETS = 20;
/** Sockets at most: each change is sent to all of them while its caller waits. */
const WATCHERS_MAX = 1_000;
/** Messages of one socket: each makes an event. */
const MESSAGES_MAX = 20;

/**
 * The number of packets of one tea. Requests, RPC calls, its alarm and hibernating WebSockets each
 * are invocations of their own. Numbers are read and written without an await in between, so no
 * other invocation interferes, and related numbers are stored together.
 */
export class Stock extends DurableObject<Env> {
  /**
   * The number as JSON, or a WebSocket that gets each change. Pages of any origin may open one, as
   * the number is public. A socket with private data would have to check `Origin` first, as cookies
   * come with it from every page.
   */
  override fetch(request: Request): Response {
    const isWatcher = request.headers.get("Upgrade")?.toLowerCase() === "websocket";
    console.log(isWatcher ? "stock watched" : "stock asked");
    if (!isWatcher) return Response.json({ packets: this.#packets });
    if (this.ctx.getWebSockets().length >= WATCHERS_MAX) return new Response("too many watchers\n", { status: 503 });
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** @returns false if there are fewer; then nothing is taken. */
  take(packets: number): boolean {
    const isThere = this.#packets >= packets;
    console.log("stock taken", { packets, isThere });
    if (isThere) this.#change(-packets);
    return isThere;
  }

  /**
   * @param reference of the delivery: a repeated one is not added again.
   * @returns how many were added, now or before.
   */
  add(packets: number, reference: string): number {
    const key = `added:${reference}`;
    const before = this.ctx.storage.kv.get<number>(key);
    if (before !== undefined) {
      console.log("stock added before", { reference });
      return before;
    }
    console.log("stock added", { packets });
    this.ctx.storage.kv.put(key, packets);
    this.#change(packets);
    return packets;
  }

  /** Holds a packet that returns in `ms`, or earlier with one that was held before. */
  async hold(ms: number): Promise<boolean> {
    const isThere = this.#packets >= 1;
    console.log("stock held", { isThere });
    if (!isThere) return false;
    const isFirst = this.#held === 0;
    this.#held += 1;
    this.#change(-1);
    // Only the first sets the alarm; otherwise a steady demand would postpone it without end.
    if (isFirst) await this.ctx.storage.setAlarm(Date.now() + ms);
    return true;
  }

  override alarm(): void {
    const held = this.#held;
    console.warn("nobody came for it", { packets: held });
    this.#held = 0;
    this.#change(held);
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    const messages = ((socket.deserializeAttachment() as number | null) ?? 0) + 1;
    if (messages > MESSAGES_MAX) {
      socket.close(1008, "too many messages");
      return;
    }
    // Kept while the object sleeps.
    socket.serializeAttachment(messages);
    console.log("watcher asks", typeof message === "string" ? message.slice(0, 100) : "in bytes");
    socket.send(JSON.stringify({ packets: this.#packets }));
  }

  /** The runtime has already answered the close. */
  override webSocketClose(_socket: WebSocket, code: number): void {
    console.log("watcher left", { code });
  }

  #change(packets: number): void {
    this.#packets += packets;
    const told = JSON.stringify({ packets: this.#packets });
    for (const socket of this.ctx.getWebSockets()) {
      // A closing socket is still listed, and sending to it throws: an order must not fail for
      // that.
      if (socket.readyState === WebSocket.OPEN) socket.send(told);
    }
  }

  get #packets(): number {
    return this.ctx.storage.kv.get<number>("packets") ?? FIRST_PACKETS;
  }

  set #packets(packets: number) {
    this.ctx.storage.kv.put("packets", packets);
  }

  get #held(): number {
    return this.ctx.storage.kv.get<number>("held") ?? 0;
  }

  set #held(packets: number) {
    this.ctx.storage.kv.put("held", packets);
  }
}
