const AT_ONCE = Symbol.for("logship: timers at once");

/**
 * Hands timers that have a delay to the runtime at once. The pool's `setTimeout` first takes a
 * stack trace to see who calls, which matters to it only where there is no delay. Each call of the
 * code under test has a deadline, so that was a thirtieth of all time.
 */
export function setTimersAtOnce(): void {
  const ofPool = globalThis.setTimeout as typeof setTimeout & { [AT_ONCE]?: true };
  if (ofPool[AT_ONCE]) return;
  const { setTimeout: native } = Object.getPrototypeOf(globalThis) as typeof globalThis;
  const atOnce = ((...args: Parameters<typeof setTimeout>) =>
    (args[1] ? native : ofPool).apply(globalThis, args)) as typeof setTimeout & { [AT_ONCE]?: true };
  atOnce[AT_ONCE] = true;
  globalThis.setTimeout = atOnce;
}
