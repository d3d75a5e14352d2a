/** As much of the runtime's modules as tests of storage use: objects of the stand-in. */
import { Disk, type Instance, storageOf } from "./storage.ts";

export { DurableObject } from "./cloudflare-workers.ts";

/** What is written is committed once nothing else runs. */
class Alone implements Instance {
  isAlive = true;
  alarmRuns = false;
  readonly storage: ReturnType<typeof storageOf>;
  readonly #disk = new Disk();

  constructor() {
    this.#disk.onDirty = () => setImmediate(() => this.#disk.commit());
    this.storage = storageOf(this.#disk, this);
  }
  async synced(): Promise<void> {
    this.#disk.commit();
  }
}

const objects = new Map<string, Alone>();

/** Of any namespace: an object is its name. */
export const env = { READERS: { getByName: (name: string) => name } };

export function runInDurableObject<T>(name: string, run: (object: null, ctx: Alone) => T): T {
  const object = objects.get(name) ?? new Alone();
  objects.set(name, object);
  return run(null, object);
}
