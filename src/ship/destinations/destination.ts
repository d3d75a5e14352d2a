import type { Platform } from "../../base/platform.ts";
import type { DestinationContext } from "../../config.ts";
import type { AnyField } from "../../formats/record/fields.ts";
import type { Failure, FailureCause } from "./failure.ts";

/**
 * The seam to where objects go: fixed bytes under a fixed key, there or not. A kind is a file that
 * implements {@link DestinationKind} and a line in kinds.ts; nothing outside of it knows its
 * protocol. docs/architecture.md
 */
export interface DestinationKind {
  readonly schemes: readonly string[];
  /** Whether the value of this parameter is known to be harmless: any other is shown as `****`. */
  isShown(parameter: string): boolean;
  /** The last segment of its paths is a secret. */
  readonly hasSecretPath?: boolean;
  /** Where a `destination_conf` leads. Its credentials may be masked or missing. */
  place(parts: ConfParts, context: DestinationContext): Parsed<Place>;
  /** The same, with credentials. The words of a failure never hold a secret. */
  destination(parts: ConfParts, context: DestinationContext): Parsed<Destination>;
  /**
   * Why objects would not land where a place says, for places that nothing is shipped to yet: those
   * of stored jobs go on. null, absent: they would.
   */
  misplaced?(place: Place): string | null;
  /**
   * What would be sent of records, for a preview: its secrets may be masked. null: it is no
   * destination. Absent: records are written as they are.
   */
  plan?(parts: ConfParts, context: DestinationContext, object: PlannedObject, nowMs: number): Plan | null;
  /** What a user should know of a destination that works: what its credentials do not allow. */
  remark?(destination: Destination): string | null;
  /**
   * When its credentials end, in ms since the epoch; null: it is not known, or never. Absent: its
   * credentials never say.
   */
  expiresMs?(destination: Destination): number | null;
  /** What holds of a place, whatever is shipped there. */
  terms(place: Place): Terms;
  /**
   * @param destination made by this kind.
   * @param path where the probes of its writes go.
   */
  open(destination: Destination, path: string, platform: NetworkPlatform): OpenDestination;
}

/**
 * `once`: what is sent again is there once. Otherwise it may be there twice, and `id` says by what
 * the receiver, or a reader, can tell the repeat.
 */
export type Repeats = { once: true } | { once: false; id: string };

/** What a destination promises, and what a job that ships there has to keep to. */
export interface Terms {
  /** What may happen to a record that is sent twice after a lost answer. */
  repeats: Repeats;
  /** Records as the default output writes them: NDJSON, and no text around records. */
  plainRecords: boolean;
  /** Fields that its requests are made of: they have to be among a job's. */
  fields: readonly AnyField[];
  /** The most that one write may hold, before compression; null: whatever a job may. */
  limits: { records: number; bytes: number } | null;
  /** What was written can be read again. */
  isReadable: boolean;
  /**
   * What it takes, and what a probe that it takes shows: it takes objects; or records, and the
   * probe is one; or records, and the probe holds none.
   */
  shows: "objects" | "record" | "nothing";
}

/** An object that is not written yet. */
export interface PlannedObject {
  id: string;
  /** Its records, without what stands around them. */
  lines: readonly string[];
  text: string;
  contentType: string;
}

/** The requests that records would make, and what would not be sent of them. */
export interface Plan {
  requests: PlannedRequest[];
  /** Records by their number. */
  refused: { record: number; words: string }[];
}

export interface PlannedRequest {
  url: string;
  headers: Record<string, string>;
  /** Its body before compression. */
  text: string;
  records: number;
}

/** A `destination_conf`, split at its first `://`, `/` and `?`. Nothing is decoded. */
export interface ConfParts {
  scheme: string;
  /** Between `://` and the path: a bucket, a host. */
  authority: string;
  path: string;
  query: string;
}

/** Where objects go, without the keys to it. Two places with equal fields are one place. */
export interface Place {
  readonly scheme: string;
  /** Base of all requests. */
  readonly endpoint: URL;
  /** Of the account at the service, where the string names one. */
  readonly accountId: string | null;
  /** What holds the objects: a bucket, a container. */
  readonly bucket: string;
  /** `virtual`: the bucket stands before the host of each request; absent: in its path. */
  readonly addressing?: "virtual";
  /** Below the bucket, without slashes at its ends; may hold `{DATE}` anywhere, or be empty. */
  readonly path: string;
}

/** A place, with what it takes to write there. */
export interface Destination extends Place {
  /** Known to its kind alone. */
  readonly credentials: unknown;
}

export type Parsed<T> = { ok: true; value: T } | { ok: false; why: string };

export type NetworkPlatform = Pick<Platform, "fetch" | "now" | "sleep">;

export type Body = ReadableStream<Uint8Array>;

/** An object as it is stored. */
export interface WrittenObject {
  key: string;
  bytes: number;
  /** Hex. */
  sha256: string;
  /** Hex. */
  md5: string;
  contentType: string;
}

/**
 * Records by the objects that they were in first: in order, runs of `count` records from number
 * `from` of the object of this name. Their ids stay what they were there.
 */
export type Origin = readonly (readonly [name: string, from: number, count: number])[];

/** An object as it is sent. */
export interface FixedObject extends WrittenObject {
  records: number;
  /** Of an object that another one was divided into; null: its records are its own. */
  origin?: Origin | null;
  /** Before compression. */
  rawBytes: number;
}

/**
 * A destination that requests can be sent to, for as long as its string and its path are the same.
 * No method throws, follows a redirect or tries again:
 * failures are data, and the caller decides.
 */
export interface OpenDestination {
  /**
   * One attempt to bring an object's bytes under its key. However often it runs, and wherever an
   * earlier attempt broke off, the object ends up there once, and whole.
   * @param body gives the bytes from their start; called each time they are sent: once, twice where
   *   they are sent over a damaged object, and again for each manner in which the store may take
   *   them, of which a kind has a few.
   * @param options.doubtful an earlier attempt ended without an answer.
   * @param options.leaveOut as the last outcome said, kept by the caller; 0: nothing is known yet.
   */
  write(
    object: FixedObject,
    body: () => Uint8Array | Body,
    options: { doubtful: boolean; leaveOut: number },
  ): Promise<WriteOutcome>;
  /**
   * Whether exactly this object stands under its key. `unknown`: the store does not show it, or
   * does not answer.
   */
  stands(object: WrittenObject): Promise<"there" | "not_there" | "unknown">;
  /** Writes a small object over the one under its key, and does not look whether it is there. */
  overwrite(object: Omit<WrittenObject, "md5">, body: Uint8Array): Promise<Failure | null>;
  /**
   * Asks for an object. A kind that cannot be read back refuses every key. The caller reads the
   * body to its end or cancels it, and bounds the time.
   * @param range a part of it alone; a store that knows no ranges gives it whole.
   */
  read(key: string, range?: ByteRange): Promise<ReadAnswer>;
  /**
   * Writes the small object that shows the destination to be writable. @returns what is wrong, in
   * words; null: it is written.
   */
  probe(): Promise<string | null>;
  /**
   * Asks what a user should know of a destination that was probed, and its string does not say;
   * null: nothing. Absent: there is nothing to ask.
   */
  remark?(): Promise<string | null>;
  /**
   * Writes the token of an ownership challenge, and nothing else, under a key. @returns as
   * {@link probe}.
   */
  challenge(key: string, token: string): Promise<string | null>;
}

/** Bytes of an object, at least one. */
export interface ByteRange {
  from: number;
  bytes: number;
}

export type WriteOutcome =
  /**
   * `verified`: the store has named or shown the object, and not only said that it took it.
   * `leaveOut`: what requests to the store have to go without, where that was found out now: a sum
   * of bits below 256 that its kind alone knows.
   */
  | { kind: "delivered"; verified: boolean; leaveOut?: number }
  /** Another object stands under the key. */
  | { kind: "key_taken" }
  /**
   * `leaveOut` as above. `mayBeThere`: whether it may have been taken all the same; absent: that of
   * no answer.
   */
  | { kind: "failed"; error: Failure; leaveOut?: number; mayBeThere?: boolean }
  /**
   * Nothing was taken: it goes on as several objects, of at most so many records and bytes before
   * compression each. `why`: of what was refused together; null: it exceeds what one write may
   * hold. `mayBeThere`: some of it may have been taken all the same; absent: it was not.
   */
  | { kind: "divide"; records: number; bytes: number; why: string | null; mayBeThere?: boolean; said?: string }
  /** All was taken but what this says. */
  | ({ kind: "partly" } & Leftover);

/** What a destination has not taken of an object; its records are numbered from 0. */
export interface Leftover {
  /** false: nothing was sent, as some records are known to be refused. */
  isSent: boolean;
  /** To be sent again. */
  again: readonly number[];
  /** Why not now; null: they were not sent yet. */
  error: Failure | null;
  /** What is to be sent again may be there; absent: it is not. */
  mayBeThere?: boolean;
  /** These are refused for good. */
  refused: readonly { record: number; words: string }[];
  /** It refuses that many more, and does not say which. */
  unnamed: { records: number; words: string } | null;
  /** As of a Failure. */
  said?: string;
}

export type ReadAnswer =
  | {
      ok: true;
      body: Body;
      /** As the store says; null: it does not. */
      bytes: number | null;
      /** The checksum that was stored beside the object; null: none is shown. */
      sha256: string | null;
    }
  | Unread;

/** Why there is no body. */
export interface Unread {
  ok: false;
  /**
   * `gone`: no object under the key. `no_bucket`: nothing is known of any object. `forbidden`: not
   * with these credentials. `empty`: a success without a body. `redirected`: to elsewhere, which is
   * never followed. `busy`: not now. `unreachable`: no answer.
   */
  why: "gone" | "no_bucket" | "forbidden" | "empty" | "redirected" | "busy" | "unreachable" | "refused";
  /** Status and code. */
  words: string;
  retryAfterS: number | null;
  cause: FailureCause;
}
