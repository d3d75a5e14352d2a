/**
 * Functions by version: each version is an isolate. The runtime's loader also keeps what it failed
 * to load, and repeats the error. If fetching the code was what failed, the next request tries
 * again under another id.
 */
export class Loading {
  readonly #loader: Pick<WorkerLoader, "get">;
  /** By function: how often fetching the code of its latest version failed. */
  readonly #failures = new Map<string, { version: string; count: number }>();

  constructor(loader: Pick<WorkerLoader, "get">) {
    this.#loader = loader;
  }

  /** @param code is called once, unless it fails. */
  get(name: string, version: string, code: () => Promise<WorkerLoaderWorkerCode>): WorkerStub {
    const failures = this.#failuresOf(name, version);
    return this.#loader.get(`${name}@${version}#${failures}`, async () => {
      try {
        return await code();
      } catch (error) {
        this.#failures.set(name, { version, count: failures + 1 });
        throw error;
      }
    });
  }

  #failuresOf(name: string, version: string): number {
    const failed = this.#failures.get(name);
    return failed?.version === version ? failed.count : 0;
  }
}
