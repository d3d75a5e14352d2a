/** vitest's module runner, where the pool keeps it. */
declare const __vitest_mocker__: { moduleRunner: { import(specifier: string): Promise<unknown> } };

const WRAPPED = Symbol.for("logship: the main module is remembered");

/**
 * Remembers the worker's main module. The pool imports it anew for each call of a durable object and of the worker, and each import
 * asks the Vite server, in another process, whether the module has changed: that took more time than the calls themselves.
 */
export function rememberMainModule(): void {
  const runner = __vitest_mocker__.moduleRunner as typeof __vitest_mocker__.moduleRunner & { [WRAPPED]?: true };
  if (runner[WRAPPED]) return;
  const original = runner.import.bind(runner);
  const main = new Map<string, Promise<unknown>>();
  runner.import = (specifier) => {
    if (!specifier.endsWith("/src/index.ts")) return original(specifier);
    const known = main.get(specifier) ?? original(specifier);
    main.set(specifier, known);
    return known;
  };
  runner[WRAPPED] = true;
}
