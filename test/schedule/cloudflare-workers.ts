/** As much of the runtime's own module as the source uses. */
export class DurableObject<E = unknown> {
  readonly ctx: unknown;
  readonly env: E;
  constructor(ctx: unknown, env: E) {
    this.ctx = ctx;
    this.env = env;
  }
}

export class WorkerEntrypoint<E = unknown> extends DurableObject<E> {}

/** What runs goes on as long as its life does. */
export function waitUntil(promise: Promise<unknown>): void {
  promise.catch(() => {});
}
