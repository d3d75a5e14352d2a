import { WorkerEntrypoint } from "cloudflare:workers";
import { readLocalFunctions } from "../config.ts";
import { controlPlane } from "../control/plane.ts";
import type { StoredCode } from "../functions/local-types.ts";
import { Gatherer } from "../intake/gather.ts";
import { handleTail } from "../intake/tail.ts";
import { tailContext } from "../intake/tail-context.ts";

/** Apart from those of `tail()`: nothing of what only local development has stands in its way. */
const gatherer = new Gatherer();

/**
 * What the function host (local/) asks: it takes the code of uploaded functions from here, and brings their trace events back. Local development
 * only: where LOCAL_FUNCTIONS is not set, there is nothing to be had.
 */
export class LocalFunctions extends WorkerEntrypoint<Env> {
  /** Changes with every upload. null: no such function runs here. */
  async version(name: string): Promise<string | null> {
    return this.#isOn ? controlPlane(this.env.CONTROL).localVersion(String(name)) : null;
  }

  /** As it was uploaded last. null: no such function runs here. */
  async code(name: string): Promise<StoredCode | null> {
    return this.#isOn ? controlPlane(this.env.CONTROL).localFunction(String(name)) : null;
  }

  /**
   * Takes trace events as `tail()` does. What the runtime does not say locally is filled in: whose they are.
   * @throws Error if no function runs locally.
   */
  async traced(name: string, items: readonly object[]): Promise<void> {
    if (!this.#isOn) throw new Error("LOCAL_FUNCTIONS is not set");
    const context = tailContext(this.env, this.ctx, gatherer);
    await handleTail(
      items.map((item) => ({ ...item, scriptName: name })),
      // The shipper itself never runs in the host: a function that has its name is another one.
      { ...context, config: { ...context.config, selfName: null } },
    );
  }

  get #isOn(): boolean {
    const setting = readLocalFunctions(this.env);
    return setting.ok && setting.origin !== null;
  }
}
