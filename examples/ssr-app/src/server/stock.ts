import { DurableObject } from "cloudflare:workers";

const FIRST_PACKETS = 20;

/**
 * How many packets there are of one tea. It is asked by requests, called over RPC, woken by its alarm and watched over web sockets that outlive its sleep:
 * each of these is an invocation of its own.
 */
export class Stock extends DurableObject<Env> {
  /** The number as JSON; or a web socket that is told of each change. */
  override async fetch(request: Request): Promise<Response> {
    const isWatcher = request.headers.get("Upgrade")?.toLowerCase() === "websocket";
    console.log(isWatcher ? "stock watched" : "stock asked");
    if (!isWatcher) return Response.json({ packets: await this.#packets() });
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** @returns false if there are not as many; then nothing is taken. */
  async take(packets: number): Promise<boolean> {
    const isThere = (await this.#packets()) >= packets;
    console.log("stock taken", { packets, isThere });
    if (isThere) await this.#change(-packets);
    return isThere;
  }

  /** @returns how many were added. */
  async add(packets: number): Promise<number> {
    console.log("stock added", { packets });
    await this.#change(packets);
    return packets;
  }

  /** Takes a packet that comes back, with all others that are held, `ms` from now. */
  async hold(ms: number): Promise<boolean> {
    const isThere = (await this.#packets()) >= 1;
    console.log("stock held", { isThere });
    if (!isThere) return false;
    await this.ctx.storage.put("held", (await this.#held()) + 1);
    await this.#change(-1);
    await this.ctx.storage.setAlarm(Date.now() + ms);
    return true;
  }

  override async alarm(): Promise<void> {
    const held = await this.#held();
    console.warn("nobody came for it", { packets: held });
    await this.ctx.storage.delete("held");
    await this.#change(held);
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    console.log("watcher asks", typeof message === "string" ? message.slice(0, 100) : "in bytes");
    socket.send(JSON.stringify({ packets: await this.#packets() }));
  }

  override async webSocketClose(_socket: WebSocket, code: number): Promise<void> {
    console.log("watcher left", { code });
  }

  async #change(packets: number): Promise<void> {
    const now = (await this.#packets()) + packets;
    await this.ctx.storage.put("packets", now);
    for (const socket of this.ctx.getWebSockets()) socket.send(JSON.stringify({ packets: now }));
  }

  async #packets(): Promise<number> {
    return (await this.ctx.storage.get<number>("packets")) ?? FIRST_PACKETS;
  }

  async #held(): Promise<number> {
    return (await this.ctx.storage.get<number>("held")) ?? 0;
  }
}
