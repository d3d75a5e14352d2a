import type { Destination, Terms } from "../destination.ts";
import type { FormField } from "../destination-form.ts";
import type { Failure } from "../failure.ts";

/**
 * A receiver takes the records of an object in one HTTP request, and cannot be read back. A kind of
 * receiver is a file of this folder, with one of these, and a line in kinds.ts; kind.ts makes a
 * destination of it.
 */
export interface Receiver {
  readonly scheme: string;
  /** Whether an address of its scheme is its own; absent: every one that is of no other. */
  isAt?(host: string, path: string): boolean;
  /** Its name for people. */
  readonly name: string;
  /**
   * Parameters of its string besides `header_<Name>`; what is no `own` one goes into the address of
   * its requests as it is. "any": whatever there is.
   */
  readonly parameters?: "any" | readonly string[];
  /** Of these, those that are for us: no request has them. */
  readonly own?: readonly string[];
  /** Of these, those whose values are secrets. */
  readonly secret?: readonly string[];
  /** Where there may be any: those whose values are known to be no secrets. */
  readonly harmless?: readonly string[];
  /** Of these, those that say what holds the records: they are part of its place. */
  readonly holder?: readonly string[];
  /** The end of its path is a secret. */
  readonly hasSecretPath?: true;
  /** As in `Repeats`: by what a repeat is told. */
  readonly id: string;
  /**
   * true: what it has, and gets again with the same id, is there once. So a body that it refused
   * while it took some of it may be sent again in halves.
   */
  readonly tellsRepeats?: true;
  /**
   * What a job that ships there keeps to. Its limits are those of an object as it is cut, so that
   * one body holds it: those of the body, less what its form adds.
   */
  readonly takes: Pick<Terms, "plainRecords" | "fields" | "limits">;
  /**
   * @returns in words what is wrong with these parameters, header names and path; null: nothing.
   */
  fault?(options: Options): string | null;
  /** How records are put into a body; absent: an object is sent as it is, gzip of NDJSON. */
  form?(options: Options): BodyForm;
  /** The path of requests, where it is not the one of the string. */
  requestPath?(path: string): string;
  /** Headers and parameters that a request has besides its own. @param id of the object. */
  request?(options: Options, id: string): { headers?: Record<string, string>; query?: Record<string, string> };
  /**
   * What an answer means. Never throws: the answer is a stranger's. @param count of the entries
   * sent.
   */
  judge(answer: ReceiverAnswer, count: number): Verdict;
  /** What a form asks for; absent: its URL. */
  readonly asks?: ReceiverAsks;
  /**
   * The line of a record that shows whether it can be written to, in NDJSON, absent: that of
   * `testLine`; or the body of a request that does so without a record.
   */
  readonly probe?: { line: string } | { body: string };
  /** What it is asked once it takes records; absent: nothing. */
  readonly asksBack?: {
    /** Parameters of a request that changes nothing. */
    query(options: Options): Record<string, string>;
    /**
     * What its answer tells a user. Never throws: it is a stranger's.
     * @param answer null: there was none.
     */
    remark(answer: ReceiverAnswer | null): string;
  };
}

/**
 * What a form asks for: form.ts makes the fields. Parameters that have none get one of their name;
 * headers that have none are lines of one for all.
 */
export interface ReceiverAsks {
  /** The name that people look for; absent: the receiver's. */
  readonly name?: string;
  /** What it takes, in one line; backticks mark code. */
  readonly about: string;
  /** What a new string is made from, if more than its scheme: path and parameters. */
  readonly start?: string;
  readonly fields: readonly FormField[];
}

/** A receiver, with what its requests are made of. */
export interface ReceiverDestination extends Destination {
  readonly credentials: {
    /** Without what a request adds. */
    url: string;
    options: Options;
  };
}

/** What a string says, decoded. */
export interface Options {
  path: string;
  /** Parameters by name. */
  parameters: ReadonlyMap<string, string>;
  /** Headers by name in lower case. */
  headers: ReadonlyMap<string, string>;
}

/** A body: groups of entries. All texts but those of entries are constants of the form. Pure. */
export interface BodyForm {
  readonly contentType: string;
  readonly frame: { open: string; betweenGroups: string; between: string; closeGroup: string; close: string };
  readonly limits: FormLimits;
  /**
   * An entry. @param id of the record: that of its object, and its number in it, from 0; the same
   * in every attempt.
   */
  entry(record: SentRecord, id: string): Entry;
}

export type Entry =
  /**
   * `group`: how the group begins that it belongs to; "": there is one group without a text.
   * `bytes`: what counts against the limit of an entry, in UTF-8; absent: its text.
   */
  | { group: string; text: string; bytes?: number }
  /** The receiver would not keep all of the record: in words, what it has and what it takes. */
  | { refused: string };

/** A record as it is written: its chosen fields, in NDJSON, and what that says. */
export interface SentRecord {
  readonly line: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** In ms since the epoch. */
  readonly timeMs: number;
}

export interface FormLimits {
  /** Entries of one body. */
  records: number;
  /** Of a body before compression, in UTF-8. */
  bytes: number;
  /** Of one entry, in UTF-8. */
  entryBytes: number;
  /** Older records are not taken, or dropped in silence; in ms. null: none is too old. */
  maxAgeMs: number | null;
  /** Nor are records of a time so far ahead, in ms; absent: of any. */
  maxAheadMs?: number;
}

/** An answer, as far as anything may follow from it. */
export interface ReceiverAnswer {
  status: number;
  headers: Headers;
  /** The beginning of its body, at most 2 MiB, as text too; and whether that is all of it. */
  bytes: Uint8Array;
  text: string;
  isWhole: boolean;
  /** From `Retry-After`. */
  retryAfterS: number | null;
  /** When it came, in ms since the epoch. */
  atMs: number;
}

export type Verdict =
  | { kind: "taken" }
  /**
   * `mayBeThere`: some or all of it may have been taken. `entry`: the one that it was refused for,
   * where the answer names it; those before it may have been taken.
   */
  | { kind: "failed"; error: Failure; mayBeThere: boolean; entry?: number }
  /** Entries by their place in the body. `mayBeThere`: of those that are sent again. */
  | {
      kind: "partly";
      again: readonly number[];
      error: Failure | null;
      refused: readonly { entry: number; words: string }[];
      unnamed: { records: number; words: string } | null;
      mayBeThere?: boolean;
      /** As of a Failure. */
      said?: string;
    };
