/** As much of the runtime's modules as tests of storage use: objects of the stand-in. */
import { migrate } from "../../src/base/storage/migrate.ts";
import { TRACE_LOG_STEPS } from "../../src/ship/log/log-migrations.ts";
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

/** An object is its name. */
const namespace = { getByName: (name: string) => name };
export const env = { READERS: namespace, TRACE_LOG: namespace };

export function runInDurableObject<T>(name: string, run: (object: null, ctx: Alone) => T): T {
  const object = objects.get(name) ?? new Alone();
  if (name.startsWith("log ")) migrate(object.storage as unknown as DurableObjectStorage, TRACE_LOG_STEPS);
  objects.set(name, object);
  return run(null, object);
}
