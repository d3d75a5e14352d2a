import { concat } from "../../base/bytes.ts";
import { errorText, log } from "../../base/logger.ts";
import { platform } from "../../base/platform.ts";
import type { Destination, OpenDestination, Origin, Parsed, Terms, WriteOutcome } from "../destinations/destination.ts";
import type { Failure, FailureCause } from "../destinations/failure.ts";
import { openDestination, termsOf } from "../destinations/kinds.ts";
import type { JobConfig } from "../job/config.ts";
import {
  asMisconfigured,
  asOwnFault,
  failureWords,
  type Standing,
  stepAfter,
  type Wait,
  waitAfter,
} from "./disposition.ts";
import type { Objects } from "./objects.ts";
import { ELSEWHERE_TRIES, type ObjectRow, type Target, targetOf } from "./reader-rows.ts";
import type { ReaderState } from "./reader-state.ts";
import { streamed } from "./stream.ts";
import type { CountedAttempt, Health } from "./upload-health.ts";

/** A part of a divided upload does not park the job before it has failed this often. */
const PART_TRIES = 5;

/** While at most so many objects fail, a test record that is taken shows that they are to blame. */
const FEW = 15;

/** Objects up to this size are sent from memory, larger ones streamed row by row, in bytes. */
const BUFFERED_MAX_BYTES = 2_000_000;

/** What failed by chance so long before an object, in ms, may fail on that by chance. */
const RECENTLY_MS = 3_600_000;

/** What an attempt reads and changes of the reader that it is part of. */
export interface AttemptHost {
  /** Where the job's objects go; or why that is unknown, in words. */
  open(job: JobConfig): Parsed<Destination>;
  /** The same of an object that goes elsewhere. */
  openElsewhere(job: JobConfig, target: Target): Parsed<Destination>;
  readonly state: ReaderState;
  readonly objects: Objects;
  readonly health: Health;
  transaction<T>(change: () => T): T;
  /** Keeps the sketch of an object that was delivered. It never throws. */
  keepSketch(object: ObjectRow): Promise<void>;
  /**
   * The job was discarded: drops what waits, and the object of this number, which is no longer
   * under way. Called within a transaction.
   */
  discard(number: number): void;
}

/**
 * Part of a reader: one attempt to upload one object, and what follows from it. Its steps are
 * public for the tests, which break it at every one.
 */
export class Attempts {
  readonly #host: AttemptHost;
  /** Attempts of one destination version share what they find out while they run. */
  #open: { version: number; destination: OpenDestination } | null = null;

  constructor(host: AttemptHost) {
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
    let tried = NOT_TRIED;
    const fail = (error: Failure, mayBeThere: boolean): void =>
      this.settle(object, { kind: "failed", error, mayBeThere }, job, startedMs, tried);
    try {
      const target = targetOf(object);
      const opened = target === null ? this.#host.open(job) : this.#host.openElsewhere(job, target);
      if (!opened.ok) return fail({ kind: "unusable", words: opened.why, cause: "configuration" }, false);
      const outcome = await this.put(object, opened.value, job);
      // Before it is settled: that drops its search terms with its bytes.
      const isSearched = target === null && termsOf(opened.value).isReadable;
      if (outcome.kind === "delivered" && isSearched) await this.#host.keepSketch(object);
      tried = await this.#test(object, outcome, opened.value, job);
      this.settle(object, outcome, job, startedMs, tried);
    } catch (error) {
      log.error("upload broke", {
        durable_object: "JobReader",
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
    const target = targetOf(object);
    const open = target === null ? this.#openFor(version, destination) : openDestination(destination, platform);
    const body = (): Uint8Array | ReadableStream<Uint8Array> => {
      if (object.bytes <= BUFFERED_MAX_BYTES) return concat([...objects.pieces(object)]);
      return streamed(object.bytes, objects.pieces(object));
    };
    // Until its answer is stored, the object may be there: what cannot tell a repeat gets one,
    // then.
    if (!termsOf(destination).repeats.once) objects.markSending(object, state);
    const { content_type: contentType, raw_bytes: rawBytes } = object;
    const origin: Origin | null = object.origin === null ? null : JSON.parse(object.origin);
    return open.write({ ...object, contentType, rawBytes, origin }, body, {
      doubtful: object.doubtful !== 0,
      leaveOut: target === null ? state.leftOut() : target.leaveOut,
    });
  }

  /** Sends the test record, where that decides what becomes of an object that failed. */
  async #test(object: ObjectRow, outcome: WriteOutcome, to: Destination, job: JobConfig): Promise<Tried> {
    const { shows } = termsOf(to);
    if (shows === "objects") return NOT_TRIED;
    if (outcome.kind !== "failed" || !this.#host.state.hasJob()) return { test: "none", takesRecords: true };
    const tried: Tried = { test: this.#canShow(object, shows) ? null : "none", takesRecords: true };
    if (stepAfter(this.#standing(object, outcome.error, tried, platform.now())) !== "ask") return tried;
    const open = targetOf(object) === null ? this.#openFor(job.destinationVersion, to) : openDestination(to, platform);
    return { ...tried, test: (await open.probe()) === null ? "taken" : "refused" };
  }

  /**
   * Whether a test record that is taken shows that an object is to blame. Where every record fails
   * and the test passes, as an empty one does, each part would fail, too: so that is believed only
   * while few fail.
   */
  #canShow(object: ObjectRow, shows: Exclude<Terms["shows"], "objects">): boolean {
    // If it is the only part of an upload that still fails, the other parts have passed.
    if (shows === "nothing" && object.records < 2 && object.origin === null) return false;
    const few = shows === "nothing" ? 1 : FEW;
    return this.#host.objects.countFailing(few + 1) <= few;
  }

  #standing(object: ObjectRow, { kind }: Failure, { test, takesRecords }: Tried, nowMs: number): Standing {
    const { state, objects } = this.#host;
    const { attempts, failing_ms: sinceMs, passes } = object;
    const isOwn = targetOf(object) === null;
    const isDivisible = takesRecords && objects.looksDivisible(object);
    const othersPass = isOwn && attempts > 0 && state.requireRow().passes > passes;
    const recentMs = (sinceMs ?? nowMs) - RECENTLY_MS;
    return {
      ...{ failure: kind, tries: attempts + 1, test, failingMs: sinceMs === null ? 0 : nowMs - sinceMs },
      of: !takesRecords ? "object" : isDivisible ? "records" : "record",
      othersPass,
      isSetAsideLast: isOwn && state.wasSetAsideLast(),
      // This reads many rows, so only before something may be set aside: never during an outage.
      othersRecover:
        isOwn && !isDivisible && attempts > 1 && (othersPass || test === "taken") && objects.hasRecovered(recentMs),
    };
  }

  #openFor(version: number, destination: Destination): OpenDestination {
    if (this.#open?.version !== version) this.#open = { version, destination: openDestination(destination, platform) };
    return this.#open.destination;
  }

  /**
   * What follows from an attempt: the object's state, the reader's, and the hour's, all at once;
   * and the attempt's line.
   */
  settle(object: ObjectRow, outcome: WriteOutcome, job: JobConfig, startedMs: number, tried = NOT_TRIED): void {
    const now = platform.now();
    const end = this.#host.transaction((): UploadEnd => {
      const ended = this.#conclude(object, outcome, job, tried, now);
      const counted = countedAs(ended, object, now - startedMs);
      if (counted !== null) this.#host.health.note(counted, now);
      return ended;
    });
    logUpload(end, object, job.id, now - startedMs);
  }

  #conclude(object: ObjectRow, outcome: WriteOutcome, job: JobConfig, tried: Tried, now: number): UploadEnd {
    const { state, objects } = this.#host;
    const current = state.job();
    const target = targetOf(object);
    if (target !== null) {
      const end = this.#concludeElsewhere(object, target, outcome, job, tried, now);
      if (current?.discard && end.outcome !== "delivered") this.#host.discard(object.number);
      return end;
    }
    // The destination has changed meanwhile: a failure of the old one says nothing about the new
    // one; what it took is delivered.
    const moved = current?.destinationVersion !== job.destinationVersion;
    if (outcome.kind === "partly" && !this.#isAllRefused(object, outcome)) {
      const end = this.#takePartly(object, moved ? afterMove(outcome) : outcome, job, now);
      if (current?.discard) this.#host.discard(object.number);
      return end;
    }
    if (current?.discard && outcome.kind !== "delivered") {
      this.#host.discard(object.number);
      return endOf("superseded", outcome);
    }
    if (moved && outcome.kind !== "delivered") return endOf("superseded", outcome);
    if (outcome.kind === "partly") {
      const words = outcome.refused[0]?.words ?? outcome.unnamed?.words ?? "nothing was taken";
      const { mayBeThere = false, said } = outcome;
      const error: Failure = { kind: "refused", words, cause: "not_kept", ...(said !== undefined && { said }) };
      return this.#fail(object, { error, mayBeThere, tried }, now);
    }
    const learned = "leaveOut" in outcome ? outcome.leaveOut : undefined;
    if (learned !== undefined && !moved && learned !== state.leftOut()) state.setLeftOut(learned);
    switch (outcome.kind) {
      case "delivered": {
        const counts = objects.markDelivered(object, outcome.verified, job.destinationVersion, now);
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
        return this.#fail(object, failedOf(outcome, tried), now);
      case "divide":
        return endOf(objects.divide(object, outcome, now) ? "divided" : "superseded", outcome);
    }
  }

  /**
   * Whether a destination refuses every record of one object after another: the fault is in it, or
   * in what is sent there, and not in records.
   */
  #isAllRefused({ records }: ObjectRow, { refused, unnamed, isSent }: TakenPartly): boolean {
    if (!isSent || !this.#host.state.wasSetAsideLast()) return false;
    // A record that is named and alone was found by halves, as the next one may be.
    return unnamed === null ? records > 1 && refused.length === records : refused.length + unnamed.records >= records;
  }

  /** What was taken of an object is delivered; what was not goes on, or is set aside, by itself. */
  #takePartly(object: ObjectRow, outcome: TakenPartly, job: JobConfig, now: number): UploadEnd {
    const { state, objects } = this.#host;
    const { error } = outcome;
    // What is to be sent again waits, whatever it failed on: at once would be without an end.
    const delay = error === null ? null : waitAfter(error, object.attempts + 1, platform.random());
    const parts = objects.takeApart(object, outcome, job.destinationVersion, now);
    if (parts === null) return endOf("superseded", outcome);
    const end = { ...endOf("partly", outcome), delivered: parts.delivered };
    if (error === null || delay === null) return end;
    const words = failureWords(error.words, delay.do, job.rerunOf !== undefined);
    for (const part of parts.waiting) objects.markFailed(part, words, now + delay.delayMs, now, false);
    const failures = objects.countFailing(state.requireRow().failures + 1);
    state.failed(words, now + delay.delayMs, now, failures, delay.do === "park");
    return end;
  }

  /**
   * The same of an object that goes elsewhere: nothing of it changes the state of the reader's
   * uploads.
   */
  #concludeElsewhere(
    object: ObjectRow,
    target: Target,
    outcome: WriteOutcome,
    job: JobConfig,
    tried: Tried,
    now: number,
  ): UploadEnd {
    const { objects } = this.#host;
    const fail = (of: ObjectRow, failed: Failed): UploadEnd => this.#failElsewhere(of, target.host, failed, now);
    const learned = "leaveOut" in outcome ? outcome.leaveOut : undefined;
    if (learned !== undefined) objects.setTarget(object, { ...target, leaveOut: learned });
    switch (outcome.kind) {
      case "delivered": {
        const counts = objects.markDelivered(object, outcome.verified, job.destinationVersion, now);
        return endOf(counts ? "delivered" : "superseded", outcome);
      }
      case "key_taken":
        if (object.attempts + 1 >= ELSEWHERE_TRIES) {
          const words = "the store says of every key that another object stands there";
          return fail(object, { error: { kind: "refused", words, cause: "key_taken" }, mayBeThere: false, tried });
        }
        return endOf(objects.renumber(object, now) ? "key_taken" : "superseded", outcome);
      case "failed":
        return fail(object, failedOf(outcome, tried));
      case "divide":
        return endOf(objects.divide(object, outcome, now) ? "divided" : "superseded", outcome);
      case "partly": {
        const parts = objects.takeApart(object, outcome, job.destinationVersion, now);
        if (parts === null) return endOf("superseded", outcome);
        const { error } = outcome;
        const mayBeThere = false;
        if (error !== null) for (const part of parts.waiting) fail(part, { error, mayBeThere, tried });
        return { ...endOf("partly", outcome), delivered: parts.delivered };
      }
    }
  }

  /**
   * It is tried again some times, if that may help, or taken apart, if it is to blame; then it is
   * set aside again.
   */
  #failElsewhere(object: ObjectRow, host: string, failed: Failed, now: number): UploadEnd {
    const { objects } = this.#host;
    const { error, mayBeThere, tried } = failed;
    const step = stepAfter(this.#standing(object, error, tried, now));
    if (step === "divide") return this.#divide(object, failed, now);
    const then = waitAfter(error, object.attempts + 1, platform.random());
    const isAgain = step !== "set_aside" && then.do === "retry" && object.attempts + 1 < ELSEWHERE_TRIES;
    const words = isAgain ? failureWords(error.words, "retry") : failureWords(`${host}: ${error.words}`, "set_aside");
    const counts = isAgain
      ? objects.markFailed(object, words, now + then.delayMs, now, mayBeThere, error.said)
      : objects.markSetAside(object, words, now, mayBeThere, error.said);
    return endOf(counts ? (isAgain ? "retry" : "set_aside") : "superseded", { kind: "failed", error });
  }

  #fail(object: ObjectRow, failed: Failed, now: number): UploadEnd {
    const { state, objects } = this.#host;
    const { mayBeThere, tried } = failed;
    const standing = this.#standing(object, failed.error, tried, now);
    const { isSetAsideLast, othersPass } = standing;
    const asked = isSetAsideLast && !othersPass ? asMisconfigured(failed.error) : failed.error;
    // The job is not parked for a part before the other parts were tried.
    const isTrial = object.origin !== null && standing.tries < PART_TRIES;
    const error = othersPass || isTrial || tried.test === "taken" ? asOwnFault(asked) : asked;
    const end = (counts: boolean, what: UploadEnd["outcome"]) =>
      endOf(counts ? what : "superseded", { kind: "failed", error });
    const step = stepAfter(standing);
    if (step === "divide") return this.#divide(object, { ...failed, error }, now);
    if (step === "set_aside") {
      const words = failureWords(error.words, step);
      return end(objects.markSetAside(object, words, now, mayBeThere, error.said), step);
    }
    const random = platform.random();
    const wait = waitAfter(error, object.attempts + 1, platform.random());
    const words = failureWords(error.words, wait.do, state.requireJob().rerunOf !== undefined);
    if (!objects.markFailed(object, words, now + wait.delayMs, now, mayBeThere, error.said)) return end(false, wait.do);
    // One object that keeps failing alone is not an outage: the others do not wait for it.
    const failures = objects.countFailing(state.requireRow().failures + 1);
    // While others pass, the number of failing objects does not delay them.
    const forUploads = waitAfter(error, othersPass ? 1 : failures, random);
    state.failed(words, now + forUploads.delayMs, now, failures, forUploads.do === "park");
    return end(true, wait.do);
  }

  /** Of an object that is to blame itself, the halves go on. */
  #divide(object: ObjectRow, { error, mayBeThere }: Failed, now: number): UploadEnd {
    const { objects, state } = this.#host;
    const { words: why, said } = error;
    const half = { records: Math.ceil(object.records / 2), bytes: object.raw_bytes, why, mayBeThere };
    const counts = objects.divide(
      { ...object, passes: state.requireRow().passes },
      { ...half, ...(said !== undefined && { said }) },
      now,
    );
    return endOf(counts ? "divided" : "superseded", { kind: "failed", error });
  }
}

/** What was found out of a destination after a failure, while nothing was settled. */
interface Tried {
  test: Standing["test"];
  /** It takes records, not objects. */
  takesRecords: boolean;
}

const NOT_TRIED: Tried = { test: "none", takesRecords: false };

interface Failed {
  error: Failure;
  mayBeThere: boolean;
  tried: Tried;
}

function failedOf({ error, mayBeThere }: Extract<WriteOutcome, { kind: "failed" }>, tried: Tried): Failed {
  return { error, mayBeThere: mayBeThere ?? error.kind === "unreachable", tried };
}

type TakenPartly = Extract<WriteOutcome, { kind: "partly" }>;

/**
 * What the destination before has not taken goes to the new one, which may: it may be the same one,
 * with another key.
 */
function afterMove({ again, refused, unnamed, mayBeThere = false }: TakenPartly): TakenPartly {
  const left = [...again, ...refused.map(({ record }) => record)];
  return { kind: "partly", again: left, refused: [], unnamed, error: null, isSent: true, mayBeThere };
}

/** How one attempt ended; docs/recovery.md says what each means. */
interface UploadEnd {
  /**
   * `superseded`: the job was moved or discarded meanwhile, or the object was no longer waiting.
   * Nothing changes, nothing is counted.
   */
  outcome: "delivered" | "partly" | "divided" | "key_taken" | "superseded" | "set_aside" | Wait["do"];
  verified?: boolean;
  /** Of an object that was taken partly: the records that were. */
  delivered?: number;
  /** What it failed on. */
  cause?: FailureCause;
  /** In words; of the store's own text, status and code alone. */
  why?: string;
}

function endOf(outcome: UploadEnd["outcome"], of: WriteOutcome): UploadEnd {
  switch (of.kind) {
    case "delivered":
      return { outcome, verified: of.verified };
    case "key_taken":
      return { outcome, cause: "key_taken", why: "another object stands under the key" };
    case "failed":
      return { outcome, cause: of.error.cause, why: of.error.words };
    case "divide":
      return { outcome, ...(of.why !== null && { why: of.why }) };
    case "partly": {
      const why = of.error?.words ?? of.refused[0]?.words ?? of.unnamed?.words;
      return { outcome, ...(of.error !== null && { cause: of.error.cause }), ...(why !== undefined && { why }) };
    }
  }
}

/** What an attempt counts as in its hour; null: nothing. */
function countedAs(
  { outcome, delivered = 0, cause }: UploadEnd,
  { records, bytes, raw_bytes }: Pick<ObjectRow, "records" | "bytes" | "raw_bytes">,
  ms: number,
): CountedAttempt | null {
  switch (outcome) {
    case "delivered":
      return { end: "ok", records, bytes, rawBytes: raw_bytes, ms };
    case "partly":
      if (delivered > 0) {
        const share = (of: number): number => Math.round((of * delivered) / records);
        return { end: "ok", records: delivered, bytes: share(bytes), rawBytes: share(raw_bytes), ms };
      }
      return cause === undefined ? null : { end: "retried", cause };
    case "key_taken":
    case "retry":
      return { end: "retried", cause: cause ?? "internal" };
    case "park":
    case "set_aside":
      return { end: "failed", cause: cause ?? "internal" };
    // Its objects are counted as they end.
    case "divided":
    case "superseded":
      return null;
  }
}

/** The log line of an attempt. @param ms how long it took. */
function logUpload(
  { outcome, verified, cause, why }: UploadEnd,
  { number, key, bytes, records, attempts }: Pick<ObjectRow, "number" | "key" | "bytes" | "records" | "attempts">,
  job: number,
  ms: number,
): void {
  const level = outcome === "delivered" || outcome === "divided" || outcome === "superseded" ? "info" : "warn";
  log[level]("upload", {
    job,
    object: number,
    key,
    outcome,
    ...(verified !== undefined && { verified }),
    ...(cause !== undefined && { status: cause }),
    bytes,
    records,
    attempt: attempts + 1,
    ms,
    ...(why !== undefined && { why }),
  });
}
