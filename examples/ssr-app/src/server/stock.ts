import { DurableObject } from "cloudflare:workers";

const FIRST_PACKETS = 20;
/** Each change is told to all of them, one after the other, while whoever changes it waits. */
const WATCHERS_MAX = 1_000;

/**
 * How many packets there are of one tea. It is asked by requests, called over RPC, woken by its alarm and watched over web sockets that outlive its sleep:
 * each of these is an invocation of its own. Numbers are read and written without awaiting anything in between, so no other invocation comes between them,
 * and those that belong together are stored together.
 */
export class Stock extends DurableObject<Env> {
  /**
   * The number as JSON; or a web socket that is told of each change. A page of anybody's may open one, and learns what everybody may know: one that acts in a
   * visitor's name, or tells what is theirs, would have to check `Origin` first, as cookies come with it from everywhere.
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

  /** @returns false if there are not as many; then nothing is taken. */
  take(packets: number): boolean {
    const isThere = this.#packets >= packets;
    console.log("stock taken", { packets, isThere });
    if (isThere) this.#change(-packets);
    return isThere;
  }

  /**
   * @param reference of the delivery: one that comes again, as its sender cannot know that it has arrived, is not added again.
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

  /** Takes a packet that comes back `ms` from now, or earlier, together with one that was held before it. */
  async hold(ms: number): Promise<boolean> {
    const isThere = this.#packets >= 1;
    console.log("stock held", { isThere });
    if (!isThere) return false;
    const isFirst = this.#held === 0;
    this.#held += 1;
    this.#change(-1);
    // Only the first one sets the alarm: if each did, packets would never come back while they are asked for.
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
    console.log("watcher asks", typeof message === "string" ? message.slice(0, 100) : "in bytes");
    socket.send(JSON.stringify({ packets: this.#packets }));
  }

  /** The platform itself has answered the close by then. */
  override webSocketClose(_socket: WebSocket, code: number): void {
    console.log("watcher left", { code });
  }

  #change(packets: number): void {
    this.#packets += packets;
    const told = JSON.stringify({ packets: this.#packets });
    for (const socket of this.ctx.getWebSockets()) {
      // One that is closing is still listed, and sending to it throws: an order must not fail because a watcher leaves.
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
