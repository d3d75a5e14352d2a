import { WorkerEntrypoint } from "cloudflare:workers";
import { readLocalFunctions } from "../../config.ts";
import { Gatherer } from "../../ship/intake/gather.ts";
import { handleTail } from "../../ship/intake/tail.ts";
import { tailContext } from "../../ship/intake/tail-context.ts";
import { controlPlane } from "../control/plane.ts";
import type { StoredCode } from "../functions/local-types.ts";

/**
 * Separate from that of `tail()`, which local development must not delay. The host says whose
 * events they are, as a function with a service binding does: so their source is `rpc`, too.
 */
const gatherer = new Gatherer("rpc");

/**
 * What the function host (tools/local) calls: it fetches the code of uploaded functions, and hands
 * over their trace events. Only for local development: without LOCAL_FUNCTIONS it gives nothing.
 */
export class LocalFunctions extends WorkerEntrypoint<Env> {
  /** Changes with every upload. null: no such function runs here. */
  async version(name: string): Promise<string | null> {
    return this.#isOn ? controlPlane(this.env.CONTROL).localVersion(String(name)) : null;
  }

  /** The latest upload. null: no such function runs here. */
  async code(name: string): Promise<StoredCode | null> {
    return this.#isOn ? controlPlane(this.env.CONTROL).localFunction(String(name)) : null;
  }

  /**
   * Takes trace events as `tail()` does, and fills in their function, which the local runtime
   * leaves out.
   * @throws Error if LOCAL_FUNCTIONS is not set.
   */
  async traced(name: string, items: readonly object[]): Promise<void> {
    if (!this.#isOn) throw new Error("LOCAL_FUNCTIONS is not set");
    const context = tailContext(this.env, this.ctx, gatherer);
    await handleTail(
      items.map((item) => ({ ...item, scriptName: name })),
      // The shipper does not run in the host: a function of its name is another function.
      { ...context, config: { ...context.config, selfName: null } },
    );
  }

  get #isOn(): boolean {
    const setting = readLocalFunctions(this.env);
    return setting.ok && setting.origin !== null;
  }
}
