/**
 * Functions by their versions, as the loader keeps them: another version is another isolate. What it could not load it keeps as well, and gives the same error
 * for ever. Where only the way to the code was to blame, the next request asks again, under another id.
 */
export class Loading {
  readonly #loader: Pick<WorkerLoader, "get">;
  /** By function: how often the code of its latest version could not be had. */
  readonly #failures = new Map<string, { version: string; count: number }>();

  constructor(loader: Pick<WorkerLoader, "get">) {
    this.#loader = loader;
  }

  /** @param code is asked once, unless it fails. */
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
