const LEVELS = ["info", "warn", "error"] as const;

/** Lines kept of each test: the last ones. */
const KEPT_MAX = 1_000;

/**
 * Keeps the lines that the code under test logs, and prints them if the test fails. They do not go
 * to the test runner at once: it sends each line on a timer of the object that logged it. If a
 * durable object is aborted before that timer fires, its lines are never sent, and the run hangs.
 */
export class LinesOfTest {
  readonly #print: (() => void)[] = [];

  /**
   * Replaces the console's methods until the end of the file; a test's own spies take precedence.
   */
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
