/** vitest's module runner, where the pool keeps it. */
declare const __vitest_mocker__: { moduleRunner: { import(specifier: string, options?: object): Promise<unknown> } };

/** Calls before the network and timers have their turn. */
const CALLS_A_TURN = 64;

const REMEMBERS = Symbol.for("logship: remembers the main module");

/**
 * Caches the worker's main module. The pool imports it again at each call of a durable object or of
 * the worker, and each import asks the Vite server, in another process, whether the module has
 * changed. That takes longer than the call.
 */
export function rememberMainModule(): void {
  const runner = __vitest_mocker__.moduleRunner as typeof __vitest_mocker__.moduleRunner & { [REMEMBERS]?: true };
  if (runner[REMEMBERS]) return;
  const original = runner.import.bind(runner);
  const main = new Map<string, unknown>();
  let calls = 0;
  runner.import = async (specifier, options) => {
    if (!specifier.endsWith("/src/index.ts")) return original(specifier, options);
    if (!main.has(specifier)) main.set(specifier, await original(specifier, options));
    // The runtime serves its network and its timers only when no call is left to do: this lets it.
    // With each call it would take as long as the calls.
    else if (++calls % CALLS_A_TURN === 0) await scheduler.wait(0);
    return main.get(specifier);
  };
  runner[REMEMBERS] = true;
}
