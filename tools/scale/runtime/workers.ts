/** The module `cloudflare:workers`, as far as src uses it. */

export class DurableObject {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

export class WorkerEntrypoint extends DurableObject {}

export const env = {};

/** It must not fail: there is no invocation here that would report it. */
export function waitUntil(promise: Promise<unknown>): void {
  promise.catch((error: unknown) => {
    throw error;
  });
}
