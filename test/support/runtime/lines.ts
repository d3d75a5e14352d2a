/** The levels of src/log.ts. */
const LEVELS = ["info", "warn", "error"] as const;

/** So many lines of a test are kept, the last ones. */
const KEPT_MAX = 1_000;

/**
 * Keeps the lines that a test's code logs, and prints them if it fails. Nothing goes to the test runner before: it sends what is logged from where it is
 * logged, on a timer; in a durable object that is aborted before that timer fires, the lines are never sent, and the run waits for them for ever.
 */
export class LinesOfTest {
  readonly #print: (() => void)[] = [];

  /** Takes its place until the end of the file; spies of tests go before it. */
  constructor(target: Pick<Console, (typeof LEVELS)[number]>) {
    for (const level of LEVELS) {
      const original = target[level].bind(target);
      target[level] = (...args: unknown[]): void => {
        this.#print.push(() => original(...args));
        if (this.#print.length > KEPT_MAX) this.#print.shift();
      };
    }
  }

  forget(): void {
    this.#print.length = 0;
  }

  print(): void {
    for (const print of this.#print.splice(0)) print();
  }
}
