import { DurableObject } from "cloudflare:workers";

/** How long an item is held, in ms; longer in a real shop. */
const HELD_MS = 500;

interface Held {
  readonly item: string;
  /** Id of the request. */
  readonly event: string;
}

/**
 * An item held for a visitor until its alarm. Calls and alarms of a durable object are trace events
 * of the function.
 */
export class Reservation extends DurableObject {
  async hold(item: string, event: string): Promise<void> {
    console.log("item held", { item, event });
    await this.ctx.storage.put<Held>("held", { item, event });
    await this.ctx.storage.setAlarm(Date.now() + HELD_MS);
  }

  override async alarm(): Promise<void> {
    console.warn("nobody came for it", await this.ctx.storage.get<Held>("held"));
    await this.ctx.storage.deleteAll();
  }
}
