/** An invocation of a handler that the platform kills at a chosen call. */

type Bindings = Record<string, unknown>;

/**
 * The environment of one invocation. When it is killed, no call of it is answered any more, and no
 * later one is made.
 * @param kills whether this call is the end.
 * @param death rejects then.
 */
export function mortal(
  env: Env,
  kills: (binding: string, method: string, args: readonly unknown[]) => boolean,
): { env: Env; death: Promise<never> } {
  const { promise: death, reject } = Promise.withResolvers<never>();
  death.catch(() => {});
  let isDead = false;
  const never = new Promise<never>(() => {});
  const stubOf = (binding: string, stub: object): object =>
    new Proxy(stub, {
      get(_target, method) {
        const call = Reflect.get(stub, method) as unknown;
        if (typeof call !== "function" || typeof method !== "string") return call;
        return async (...args: unknown[]): Promise<unknown> => {
          if (!isDead && kills(binding, method, args)) {
            isDead = true;
            reject(new Error("the invocation was killed"));
          }
          if (isDead) return never;
          const answer: unknown = await Reflect.apply(call, stub, args);
          return isDead ? never : answer;
        };
      },
    });
  const bindings: Bindings = { ...(env as unknown as Bindings) };
  for (const [name, binding] of Object.entries(bindings)) {
    if (typeof (binding as { getByName?: unknown } | null)?.getByName !== "function") continue;
    const namespace = binding as DurableObjectNamespace;
    bindings[name] = { getByName: (object: string) => stubOf(name, namespace.getByName(object)) };
  }
  return { env: bindings as unknown as Env, death };
}
