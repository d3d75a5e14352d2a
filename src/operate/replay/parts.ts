import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { concat } from "../../base/bytes.ts";
import type { Pieces } from "../../base/streams.ts";
import { decoderOf } from "../../formats/object/encoders.ts";
import type { FixedObject, OpenDestination, Terms, WriteOutcome } from "../../ship/destinations/destination.ts";
import type { FailureKind } from "../../ship/destinations/failure.ts";
import { type Standing, stepAfter } from "../../ship/reader/disposition.ts";
import { type CopyOutcome, ofSource } from "./copy.ts";
import type { Piece } from "./rows.ts";
import { contentOf, openSource, SourceError, verify } from "./source.ts";

/** The most that a part holds, where a receiver names no limit of its own. */
const PART = { records: 10_000, bytes: 5_000_000 };

export interface Receiving {
  target: Pick<OpenDestination, "write" | "probe">;
  /** As of its terms. */
  shows: Terms["shows"];
  /** The most that one request of it may hold. */
  limits: { records: number; bytes: number } | null;
  /** Stores how many records of the piece the target has been through, and what it refused. */
  progress(records: number, refused: Refused): void;
}

/**
 * Brings the records of an object to a receiver, part by part in their order, each in one request.
 * It goes on after those that an earlier attempt brought there: where its last answer was lost,
 * that part is sent again, under the same id. The object is read twice: nothing of one that is not
 * what was delivered is sent.
 * @param key names the copy. @param sent records that the target has been through.
 */
export async function sendParts(
  piece: Piece,
  key: string,
  source: Pick<OpenDestination, "read">,
  receiving: Receiving,
): Promise<CopyOutcome> {
  const { limits, progress } = receiving;
  const first = await openSource(source, piece);
  const fault = first.ok ? await verify(first.body, piece) : first.fault;
  if (fault !== null) return ofSource(fault, piece.doubtful);
  const again = await openSource(source, piece);
  if (!again.ok) return ofSource(again.fault, piece.doubtful);
  const refused: Refused = { records: piece.refused, words: piece.refusedWords };
  const most = limits ?? PART;
  const send = new PartSender(key, piece, receiving, refused);
  let number = 0;
  let part: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const line of linesOf(decoderOf(piece.key).decode(contentOf(again.body, piece)))) {
      number += 1;
      if (number <= piece.sent) continue;
      if (part.length > 0 && (part.length >= most.records || bytes + line.length > most.bytes)) {
        const failed = await send.whole(part, number - 1 - part.length);
        if (failed !== null) return failed;
        progress(number - 1, refused);
        part = [];
        bytes = 0;
      }
      part.push(line);
      bytes += line.length;
    }
  } catch (error) {
    if (error instanceof SourceError) return ofSource(error.fault, piece.doubtful);
    if (!(error instanceof Unreadable)) throw error;
    return { kind: "damaged", words: "it does not read as it was written" };
  }
  const failed = part.length === 0 ? null : await send.whole(part, number - part.length);
  if (failed !== null) return failed;
  progress(number, refused);
  if (refused.records === 0) return { kind: "delivered", verified: false };
  return { kind: "refused", words: `${refused.words} (${refused.records} of ${number} records; the others were sent)` };
}

/** An attempt ends with so many records in a row that fail. */
const SUSPECTS_MAX = 100;

/** Records that the target will not take, of all attempts. */
export interface Refused {
  records: number;
  words: string;
}

class PartSender {
  readonly #name: string;
  readonly #piece: Piece;
  readonly #target: Receiving["target"];
  readonly #shows: Receiving["shows"];
  readonly #refused: Refused;
  /** Why records failed alone while a test record passed; nothing else has passed since. */
  #suspects: Extract<CopyOutcome, { kind: "failed" }>[] = [];
  /** Whether any other records passed in this attempt. */
  #hasPassed = false;

  constructor(key: string, piece: Piece, { target, shows }: Pick<Receiving, "target" | "shows">, refused: Refused) {
    this.#name = key.replace(/(?:\.[a-z]+)*$/, "");
    this.#piece = piece;
    this.#target = target;
    this.#shows = shows;
    this.#refused = refused;
  }

  /** A part, and what follows from records that failed alone. As {@link part}. */
  async whole(lines: readonly Uint8Array[], from: number): Promise<CopyOutcome | null> {
    const failed = await this.part(lines, from);
    if (failed !== null) return failed;
    const [first, second] = this.#suspects;
    // Where nothing passes but a test record, the fault is not theirs.
    if (first !== undefined && second !== undefined && !this.#hasPassed) return first;
    this.#refuseSuspects();
    return null;
  }

  #refuseSuspects(): void {
    for (const { error } of this.#suspects.splice(0)) this.#refuse(1, error.words);
  }

  /**
   * Sends lines, divided where they are too much for one request. @param from number of the first,
   * which names the part. @returns why it has to be tried again; null: the target has been through
   * them.
   */
  async part(lines: readonly Uint8Array[], from: number, tries = 0): Promise<CopyOutcome | null> {
    const outcome = await this.#write(lines, from, tries);
    switch (outcome.kind) {
      case "delivered":
        this.#hasPassed = true;
        this.#refuseSuspects();
        return null;
      case "divide":
        if (lines.length < 2) return this.#refuse(1, outcome.why ?? "too much for one request");
        return this.#halves(lines, from, tries);
      case "partly": {
        for (const { words } of outcome.refused) this.#refuse(1, words);
        if (outcome.unnamed !== null) this.#refuse(outcome.unnamed.records, outcome.unnamed.words);
        if (outcome.error !== null) return { kind: "failed", error: outcome.error, doubtful: true };
        const again = outcome.again.flatMap((number) => lines[number] ?? []);
        return again.length === 0 ? null : this.part(again, from, tries + 1);
      }
      case "failed": {
        const { error, mayBeThere: doubtful = true } = outcome;
        if (error.kind === "refused") return this.#refuse(lines.length, error.words);
        const failed = { kind: "failed", error, doubtful } as const;
        if (!(await this.#isToBlame(error.kind))) return failed;
        if (lines.length > 1) return this.#halves(lines, from, tries);
        return this.#suspects.push(failed) > SUSPECTS_MAX ? failed : null;
      }
      case "key_taken":
        throw new Error("a receiver has no keys");
    }
  }

  async #halves(lines: readonly Uint8Array[], from: number, tries: number): Promise<CopyOutcome | null> {
    const half = Math.ceil(lines.length / 2);
    return (
      (await this.part(lines.slice(0, half), from, tries)) ?? (await this.part(lines.slice(half), from + half, tries))
    );
  }

  /**
   * Whether a failure is that of the lines, as of an upload that fails alone. What is found in one
   * attempt is not looked for again: the test record goes with each failure.
   */
  async #isToBlame(failure: FailureKind["kind"]): Promise<boolean> {
    const standing: Omit<Standing, "test"> = {
      ...{ failure, tries: this.#piece.attempts + 1, failingMs: 0, of: "records", othersPass: false },
      ...{ isSetAsideLast: false, othersRecover: false },
    };
    if (this.#shows !== "record" || stepAfter({ ...standing, test: null }) !== "ask") return false;
    const test = (await this.#target.probe()) === null ? "taken" : "refused";
    return stepAfter({ ...standing, test }) === "divide";
  }

  #refuse(records: number, words: string): null {
    this.#refused.records += records;
    this.#refused.words ||= words;
    return null;
  }

  #write(lines: readonly Uint8Array[], from: number, tries: number): Promise<WriteOutcome> {
    const raw = concat(lines);
    const body = new Uint8Array(gzipSync(raw));
    const hash = (name: string): string => createHash(name).update(body).digest("hex");
    const object: FixedObject = {
      // With how many there are: an id never names other records.
      key: `${this.#name}-${from}-${lines.length}${tries === 0 ? "" : `-${tries}`}.log.gz`,
      bytes: body.length,
      sha256: hash("sha256"),
      md5: hash("md5"),
      contentType: decoderOf(this.#piece.key).linesType(this.#piece.contentType),
      records: lines.length,
      rawBytes: raw.length,
    };
    return this.#target.write(object, () => body, { doubtful: this.#piece.doubtful, leaveOut: 0 });
  }
}

/** An object whose bytes are those that were delivered, and no content. */
class Unreadable extends Error {}

/** Lines with their ends. @throws Unreadable; SourceError */
async function* linesOf(pieces: Pieces): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array[] = [];
  const next = () =>
    pieces.next().catch((error: unknown) => {
      throw error instanceof SourceError ? error : new Unreadable();
    });
  try {
    for (let read = await next(); !read.done; read = await next()) {
      const piece = read.value;
      let from = 0;
      for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, from)) {
        yield concat([...rest, piece.subarray(from, at + 1)]);
        rest = [];
        from = at + 1;
      }
      if (from < piece.length) rest.push(piece.slice(from));
    }
    if (rest.length > 0) yield concat(rest);
  } finally {
    pieces.return().catch(() => {});
  }
}
