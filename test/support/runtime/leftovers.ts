import { reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Objects that were called since, by what calls them again from wherever it is asked. */
const called = new Map<string, () => DurableObjectStub>();

const namespaces = Object.getPrototypeOf(env.CONTROL) as DurableObjectNamespace;
const { getByName } = namespaces;
namespaces.getByName = function (this: DurableObjectNamespace, name, ...rest) {
  const stub = getByName.call(this, name, ...rest);
  called.set(String(stub.id), () => getByName.call(this, name));
  return stub;
};

/**
 * Deletes what objects have stored. `reset()` does so only for those that run: one that was evicted
 * or has died would begin the next test, of any file, with what it had. One that is woken here may
 * be evicted before `reset()`, on a machine that is busy: so it deletes what it has.
 */
export async function deleteLeftovers(): Promise<void> {
  for (const stub of called.values()) await runInDurableObject(stub(), (_object, { storage }) => storage.deleteAll());
  called.clear();
  await reset();
}
