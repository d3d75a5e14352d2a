import { platform } from "../../../src/base/platform.ts";
import type { SealKey } from "../../../src/formats/queue/seal.ts";
import { Basket, type Group, messagesOf } from "../../../src/ship/intake/basket.ts";
import { type HandedPart, PACK_MS, readPart } from "../../../src/ship/intake/packer.ts";
import { clock } from "./clock.ts";
import { countRequest } from "./meter.ts";
import type { Timers } from "./timers.ts";

/** Until the queue has a message, in ms: assumed. */
const QUEUE_MS = 100;

/**
 * Plays the packer with what it is made of, by the simulated clock: the class itself waits for real
 * timers.
 */
export class PlayedPacker {
  readonly #basket = new Basket();
  readonly #sent = new Map<Group, Promise<void>>();
  readonly #timers: Timers;
  readonly #seal: SealKey | undefined;
  readonly #send: (body: Uint8Array) => void;
  #waiting = 0;
  #sinceMs = 0;
  #counts = { parts: 0, packed: 0, packingS: 0 };

  constructor(timers: Timers, seal: SealKey | undefined, send: (body: Uint8Array) => void) {
    this.#timers = timers;
    this.#seal = seal;
    this.#send = send;
  }

  /** @returns the number of parts in the message. */
  async pack(handed: HandedPart): Promise<number> {
    countRequest("Packer");
    this.#counts.parts += 1;
    const seal = this.#seal;
    const part = readPart(handed, seal === undefined ? [] : [seal]);
    if (part === null) throw new Error("a part that the packer does not take");
    if (this.#waiting === 0) this.#sinceMs = clock.nowMs;
    this.#waiting += 1;
    const { group, isNew } = this.#basket.add(part, platform.now());
    if (isNew) this.#sent.set(group, this.#ship(group));
    await this.#sent.get(group);
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#counts.packingS += (clock.nowMs - this.#sinceMs) / 1_000;
    return group.parts.length;
  }

  /** The counts since the last call. */
  take(): { parts: number; packed: number; packingS: number } {
    const counts = this.#counts;
    this.#counts = { parts: 0, packed: 0, packingS: 0 };
    return counts;
  }

  async #ship(group: Group): Promise<void> {
    await Promise.race([this.#timers.after(PACK_MS), group.closed]);
    this.#basket.close(group);
    const messages = messagesOf(group.parts, this.#seal).map(({ message }) => message.body);
    const rawBytes = group.parts.reduce((sum, { raw }) => sum + raw.length, 0);
    this.#basket.learn(
      rawBytes,
      messages.reduce((sum, { length }) => sum + length, 0),
    );
    await this.#timers.after(QUEUE_MS);
    this.#counts.packed += messages.length;
    for (const body of messages) this.#send(body);
    this.#sent.delete(group);
  }
}
