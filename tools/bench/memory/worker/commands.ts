/** What the measured Worker is asked for. */

/** Numbers the requests, so that one that is repeated after a broken connection runs once. */
export const ASK_HEADER = "x-bench-ask";

/** A batch of the queue. */
export interface Consuming {
  messages: number;
  /**
   * Collects garbage before a message is read and before a log is called, so that resident memory
   * is what is held; otherwise the runtime decides.
   */
  collecting: boolean;
}

/** Objects as large as a job allows. */
export interface Stacking {
  job: number;
  objects: number;
}

/** An object, as it was cut. */
export interface CutSize {
  records: number;
  rawBytes: number;
  bytes: number;
}
