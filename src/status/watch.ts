import { DurableObject } from "cloudflare:workers";

/** Looks at everything, remembers since when what is wrong, and tells whoever wants to be told. */
export class Watch extends DurableObject<Env> {
  /** One look. */
  async check(): Promise<void> {}
}

/** The one watch of the account. */
export function watch(namespace: DurableObjectNamespace<Watch>): DurableObjectStub<Watch> {
  return namespace.getByName("watch");
}
