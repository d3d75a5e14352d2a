/** An invocation of a handler that the platform kills at a chosen call. */

type Bindings = Record<string, unknown>;

/**
 * The environment of one invocation. From the call that kills it on, no call is made or answered:
 * each fails, so that what is left of the handler ends at once and leaves no timer behind.
 * @param kills whether this call is the end.
 * @returns `isDead`: the queue must believe nothing that the handler said.
 */
export function mortal(
  env: Env,
  kills: (binding: string, method: string, args: readonly unknown[]) => boolean,
): { env: Env; isDead(): boolean } {
  let isDead = false;
  const alive = (): void => {
    if (isDead) throw new Error("the invocation was killed");
  };
  const stubOf = (binding: string, stub: object): object =>
    new Proxy(stub, {
      get(_target, method) {
        const call = Reflect.get(stub, method) as unknown;
        if (typeof call !== "function" || typeof method !== "string") return call;
        return async (...args: unknown[]): Promise<unknown> => {
          isDead ||= kills(binding, method, args);
          alive();
          const answer: unknown = await Reflect.apply(call, stub, args);
          alive();
          return answer;
        };
      },
    });
  const bindings: Bindings = { ...(env as unknown as Bindings) };
  for (const [name, binding] of Object.entries(bindings)) {
    if (typeof (binding as { getByName?: unknown } | null)?.getByName !== "function") continue;
    const namespace = binding as DurableObjectNamespace;
    bindings[name] = { getByName: (object: string) => stubOf(name, namespace.getByName(object)) };
  }
  return { env: bindings as unknown as Env, isDead: () => isDead };
}
