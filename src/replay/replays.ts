import { DurableObject } from "cloudflare:workers";

/** Ships again what was delivered, in the background. */
export class Replays extends DurableObject<Env> {
  /** For a second, independent clock: does what the alarm is for. */
  async drive(): Promise<void> {}
}

/** The replays of the account. */
export function replays(namespace: DurableObjectNamespace<Replays>): DurableObjectStub<Replays> {
  return namespace.getByName("replays");
}
