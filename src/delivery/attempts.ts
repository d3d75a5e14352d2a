import { concat } from "../bytes.ts";
import type { Destination, OpenDestination, Origin, Parsed, WriteOutcome } from "../destinations/destination.ts";
import type { Failure } from "../destinations/failure.ts";
import { openDestination, termsOf } from "../destinations/kinds.ts";
import type { JobConfig } from "../job/config.ts";
import { errorText, log } from "../log.ts";
import { platform } from "../platform.ts";
import { afterAnother, disposition, failureWords } from "./disposition.ts";
import type { Health } from "./health.ts";
import type { LogState } from "./log-state.ts";
import type { Objects } from "./objects.ts";
import type { ObjectRow } from "./rows.ts";
import { streamed } from "./stream.ts";
import { countedAs, endOf, logUpload, type UploadEnd } from "./upload-end.ts";

/** Objects up to this size are sent from memory, larger ones streamed row by row, in bytes. */
const BUFFERED_MAX_BYTES = 2_000_000;

/** What an attempt reads and changes of the log that it is part of. */
export interface AttemptHost {
  /** Where the job's objects go; or why that is unknown, in words. */
  open(job: JobConfig): Parsed<Destination>;
  readonly state: LogState;
  readonly objects: Objects;
  readonly health: Health;
  /**
   * The job was discarded: drops what waits, and the object of this number, which is no longer
   * under way. Called within a transaction.
   */
  discard(number: number): void;
}

/**
 * Part of a log: one attempt to upload one object, and what follows from it. Its steps are public
 * for the tests, which break it at every one.
 */
export class Attempts {
  readonly ctx: DurableObjectState;
  readonly #host: AttemptHost;
  /** Attempts of one destination version share what they find out while they run. */
  #open: { version: number; destination: OpenDestination } | null = null;

  constructor(ctx: DurableObjectState, host: AttemptHost) {
    this.ctx = ctx;
    this.#host = host;
  }

  /**
   * One attempt for one object, and what follows from it. It rejects only if the outcome cannot be
   * stored.
   */
  async uploadOne(object: ObjectRow): Promise<void> {
    const job = this.#host.state.job();
    if (job === null) return;
    const startedMs = platform.now();
    const fail = (error: Failure, mayBeThere: boolean): void =>
      this.settle(object, { kind: "failed", error, mayBeThere }, job, startedMs);
    try {
      const opened = this.#host.open(job);
      if (!opened.ok) return fail({ kind: "unusable", words: opened.why, cause: "configuration" }, false);
      this.settle(object, await this.put(object, opened.value, job), job, startedMs);
    } catch (error) {
      log.error("upload broke", {
        durable_object: "DeliveryLog",
        job: job.id,
        object: object.number,
        error: errorText(error),
      });
      // It may have been sent by then.
      fail({ kind: "busy", words: "internal error", retryAfterS: null, cause: "internal" }, true);
    }
  }

  put(object: ObjectRow, destination: Destination, { destinationVersion: version }: JobConfig): Promise<WriteOutcome> {
    const { state, objects } = this.#host;
    if (this.#open?.version !== version) this.#open = { version, destination: openDestination(destination, platform) };
    const body = (): Uint8Array | ReadableStream<Uint8Array> => {
      if (object.bytes <= BUFFERED_MAX_BYTES) return concat([...objects.pieces(object)]);
      return streamed(object.bytes, objects.pieces(object));
    };
    // Until its answer is stored, the object may be there: what cannot tell a repeat gets one,
    // then.
    if (!termsOf(destination).repeats.once) objects.markSending(object, state);
    const { content_type: contentType, raw_bytes: rawBytes } = object;
    const origin: Origin | null = object.origin === null ? null : JSON.parse(object.origin);
    return this.#open.destination.write({ ...object, contentType, rawBytes, origin }, body, {
      doubtful: object.doubtful !== 0,
      leaveOut: state.leftOut(),
    });
  }

  /**
   * What follows from an attempt: the object's state, the log's, and the hour's, all at once; and
   * the attempt's line.
   */
  settle(object: ObjectRow, outcome: WriteOutcome, job: JobConfig, startedMs: number): void {
    const now = platform.now();
    const end = this.ctx.storage.transactionSync((): UploadEnd => {
      const ended = this.#conclude(object, outcome, job, now);
      const counted = countedAs(ended, object, now - startedMs);
      if (counted !== null) this.#host.health.note(counted, now);
      return ended;
    });
    logUpload(end, object, job.id, now - startedMs);
  }

  #conclude(object: ObjectRow, outcome: WriteOutcome, job: JobConfig, now: number): UploadEnd {
    const { state, objects } = this.#host;
    const current = state.job();
    // The destination has changed meanwhile: a failure of the old one says nothing about the new
    // one; what it took is delivered.
    const moved = current?.destinationVersion !== job.destinationVersion;
    if (outcome.kind === "partly" && !this.#isAllRefused(object, outcome)) {
      const end = this.#takePartly(object, moved ? afterMove(outcome) : outcome, now);
      if (current?.discard) this.#host.discard(object.number);
      return end;
    }
    if (current?.discard && outcome.kind !== "delivered") {
      this.#host.discard(object.number);
      return endOf("superseded", outcome);
    }
    if (moved && outcome.kind !== "delivered") return endOf("superseded", outcome);
    if (outcome.kind === "partly") {
      const words = outcome.refused[0]?.words ?? "nothing was taken";
      return this.#fail(object, { kind: "refused", words, cause: "not_kept" }, false, now);
    }
    const learned = "leaveOut" in outcome ? outcome.leaveOut : undefined;
    if (learned !== undefined && !moved && learned !== state.leftOut()) state.setLeftOut(learned);
    switch (outcome.kind) {
      case "delivered": {
        const counts = objects.markDelivered(object, object.key, outcome.verified, now);
        return endOf(counts ? "delivered" : "superseded", outcome);
      }
      case "key_taken": {
        const counts = objects.renumber(object, now);
        // Once is chance; again, and something is wrong with the store.
        if (object.attempts > 0) {
          const words = "the store says of every key that another object stands there; new keys are being tried";
          state.failed(words, now, now, state.requireRow().failures + 1, false);
        }
        return endOf(counts ? "key_taken" : "superseded", outcome);
      }
      case "failed":
        return this.#fail(object, outcome.error, outcome.mayBeThere ?? outcome.error.kind === "unreachable", now);
      case "divide":
        return endOf(objects.divide(object, outcome, now) ? "divided" : "superseded", outcome);
    }
  }

  /**
   * Whether a destination refuses every record of one object after another: the fault is in it, or
   * in what is sent there, and not in records.
   */
  #isAllRefused({ records }: ObjectRow, { refused, isSent }: TakenPartly): boolean {
    return isSent && records > 1 && refused.length === records && this.#host.state.wasSetAsideLast();
  }

  /** What was taken of an object is delivered; what was not goes on, or is set aside, by itself. */
  #takePartly(object: ObjectRow, outcome: TakenPartly, now: number): UploadEnd {
    const { state, objects } = this.#host;
    // What is to be sent again waits, whatever it failed on: at once would be without an end.
    const error: Failure | null =
      outcome.error?.kind === "refused" ? { ...outcome.error, kind: "busy", retryAfterS: null } : outcome.error;
    const delay = error === null ? null : disposition(error, object.attempts + 1, platform.random());
    const parts = objects.takeApart(object, outcome, now);
    if (parts === null) return endOf("superseded", outcome);
    const end = { ...endOf("partly", outcome), delivered: parts.delivered };
    if (error === null || delay === null || delay.do === "set_aside") return end;
    const words = failureWords(error, delay.do);
    for (const part of parts.waiting) objects.markFailed(part, words, now + delay.delayMs, false);
    const failures = objects.countFailing(state.requireRow().failures + 1);
    state.failed(words, now + delay.delayMs, now, failures, delay.do === "park");
    return end;
  }

  #fail(object: ObjectRow, failure: Failure, mayBeThere: boolean, now: number): UploadEnd {
    const { state, objects } = this.#host;
    const error = state.wasSetAsideLast() ? afterAnother(failure) : failure;
    const random = platform.random();
    const forObject = disposition(error, object.attempts + 1, platform.random());
    const words = failureWords(error, forObject.do);
    const ended = (counts: boolean) => endOf(counts ? forObject.do : "superseded", { kind: "failed", error });
    if (forObject.do === "set_aside") return ended(objects.markSetAside(object, words, now, mayBeThere));
    if (!objects.markFailed(object, words, now + forObject.delayMs, mayBeThere)) return ended(false);
    // One object that keeps failing alone is no outage: the others do not wait for it.
    const failures = objects.countFailing(state.requireRow().failures + 1);
    const forLog = disposition(error, failures, random);
    const resumeMs = forLog.do === "set_aside" ? now : now + forLog.delayMs;
    state.failed(words, resumeMs, now, failures, forLog.do === "park");
    return ended(true);
  }
}

type TakenPartly = Extract<WriteOutcome, { kind: "partly" }>;

/** What the destination before has not taken goes to the new one, which may. */
function afterMove({ again, refused, unnamed }: TakenPartly): TakenPartly {
  const left = [...again, ...refused.map(({ record }) => record)];
  return { kind: "partly", again: left, refused: [], unnamed, error: null, isSent: true };
}
