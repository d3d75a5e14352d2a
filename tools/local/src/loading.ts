/**
 * What the runtime says, in place of any words of the function, when its isolate is gone: aborted
 * by itself (`abortIsolate`), for one. Every later request to that isolate ends the same way.
 */
const ISOLATE_GONE = /^internal error; reference = /;

/**
 * Functions by version: each version is an isolate. The runtime's loader keeps what it failed to
 * load, and isolates that ended, and repeats the error. If fetching the code was what failed, or
 * the isolate has ended, the next request tries again under another id.
 */
export class Loading {
  readonly #loader: Pick<WorkerLoader, "get">;
  /** By function: how often its latest version has to be loaded anew. */
  readonly #failures = new Map<string, { version: string; count: number }>();

  constructor(loader: Pick<WorkerLoader, "get">) {
    this.#loader = loader;
  }

  /**
   * Asks a function.
   * @param code is called once, unless it fails or the isolate ends.
   * @throws what the function throws, or `code`.
   */
  async ask<T>(
    { name, version, code }: { name: string; version: string; code: () => Promise<WorkerLoaderWorkerCode> },
    question: (stub: WorkerStub) => Promise<T>,
  ): Promise<T> {
    const failures = this.#failuresOf(name, version);
    const failed = (): void => {
      this.#failures.set(name, { version, count: failures + 1 });
    };
    const stub = this.#loader.get(`${name}@${version}#${failures}`, async () => {
      try {
        return await code();
      } catch (error) {
        failed();
        throw error;
      }
    });
    try {
      return await question(stub);
    } catch (error) {
      const isLatest = this.#failuresOf(name, version) === failures;
      if (isLatest && error instanceof Error && ISOLATE_GONE.test(error.message)) failed();
      throw error;
    }
  }

  #failuresOf(name: string, version: string): number {
    const failed = this.#failures.get(name);
    return failed?.version === version ? failed.count : 0;
  }
}
