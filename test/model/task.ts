/** What runs beside others; each `yield` is a point where others run, and where it may die. */
export type Task = Generator<void, void, void>;
export type Step<T> = Generator<void, T, void>;

/**
 * A call failed, or its answer is lost: the caller cannot tell. No `Error`, as it is thrown often
 * and no stack is ever read.
 */
export class Lost {
  what: string;
  constructor(what: string) {
    this.what = what;
  }
}

/** The object that runs this dies of it. */
export class Dies extends Error {
  who: string;
  constructor(who: string) {
    super(`${who} dies`);
    this.who = who;
  }
}

/** The oracle found something wrong. */
export class Fault extends Error {}

/** For a `catch` after which the caller goes on. @throws what is no loss. */
export function expectLost(error: unknown): asserts error is Lost {
  if (!(error instanceof Lost)) throw error;
}
