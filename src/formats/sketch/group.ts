import { createHash } from "node:crypto";
import { encodeUtf8, parsedJson } from "../../base/bytes.ts";
import { fieldsIn } from "./identities.ts";
import { numbersIn, packed } from "./pairs.ts";
import { HASHES, partAt } from "./sketch.ts";

/**
 * The sketch of about a hundred objects: for each word of any of them, some bits of its hash and
 * the number of the object. It has segments by the first bits, so that one read tells which of the
 * objects may hold a word; then the identities of each object; then its head.
 */
export interface Shape {
  /** Of a hash, that are known. */
  bits: number;
  /** 2^n. */
  segments: number;
  /** How many objects. */
  members: number;
}

/** Objects that become one: each of them is read for a word until then. */
export const GROUP_OBJECTS = 100;

/** Objects that one may have, and words of all of them together: some 45 MB. */
export const MEMBERS_MAX = 128;
export const GROUP_MAX_WORDS = 30_000_000;

/** A segment has so many words at most, if hashes are spread evenly: 48 kB. */
const WORDS_A_SEGMENT = 32_768;
export const SEGMENTS_MAX = 1_024;

/** Words of a segment with more were chosen to be there. */
const SEGMENT_MAX_WORDS = 16 * WORDS_A_SEGMENT;

/**
 * So many different values of a hash for each word: a word that none of the objects holds seems to
 * be in 0.06 to 0.12 of them, at about 12 bits a word.
 */
const SPARSENESS = 8;

/** Of a hash, at least: in small groups they cost little. */
const BITS_MIN = 20;

/** @param words of all members. @param parts the most that a member has. */
export function shapeOf(members: number, words: number, parts: number): Shape {
  let segments = parts;
  while (segments < SEGMENTS_MAX && words / segments > WORDS_A_SEGMENT) segments *= 2;
  const bits = Math.min(32, Math.max(BITS_MIN, Math.ceil(Math.log2(SPARSENESS * words))));
  return { bits, segments, members };
}

/**
 * The segments of a group, each when it is asked for.
 * @param parts the most that a member has.
 * @param partsAt the hashes of each member in one of so many parts, and maybe some of others.
 * @throws if they are spread so unevenly that no one wrote them by chance.
 */
export function* segmentsOf(
  shape: Shape,
  parts: number,
  partsAt: (part: number) => readonly Uint32Array[],
): Generator<Uint8Array<ArrayBuffer>> {
  const { segments, members } = shape;
  const { shift, mask } = keptOf(shape);
  const each = segments / parts;
  for (let part = 0; part < parts; part++) {
    const words = partsAt(part);
    const ends = new Uint32Array(each + 1);
    const first = part * each;
    for (const hashes of words) {
      for (let i = 0; i < hashes.length; i++) {
        const segment = partAt(hashes[i] as number, segments) - first;
        if (segment >= 0 && segment < each) ends[segment + 1] = (ends[segment + 1] as number) + 1;
      }
    }
    let largest = 0;
    for (let i = 1; i <= each; i++) {
      largest = Math.max(largest, ends[i] as number);
      ends[i] = (ends[i] as number) + (ends[i - 1] as number);
    }
    if (largest > SEGMENT_MAX_WORDS) throw new Error("their words are spread unevenly");
    const values = new Uint32Array(ends[each] as number);
    const next = ends.slice();
    for (const [member, hashes] of words.entries()) {
      for (let i = 0; i < hashes.length; i++) {
        const hash = hashes[i] as number;
        const segment = partAt(hash, segments) - first;
        if (segment < 0 || segment >= each) continue;
        const at = next[segment] as number;
        next[segment] = at + 1;
        values[at] = ((hash >>> shift) & mask) * members + member;
      }
    }
    const spare = new Uint32Array(largest);
    for (let i = 0; i < each; i++) yield packed(sorted(values.subarray(ends[i], ends[i + 1]), spare));
    values.buffer.transfer(0);
    spare.buffer.transfer(0);
  }
}

/** Which bits of a hash stand in a segment. */
function keptOf({ bits, segments }: Shape): { shift: number; mask: number } {
  return { shift: 32 - bits, mask: 2 ** bits / segments - 1 };
}

const DIGIT_BITS = 13;
const DIGITS = 2 ** DIGIT_BITS;

/**
 * Sorts by the digits of numbers, a fifth of the time of `sort()`.
 * @param spare is as large, and may have the result.
 */
function sorted(numbers: Uint32Array, spare: Uint32Array): Uint32Array {
  let from = numbers;
  let to = spare.subarray(0, numbers.length);
  let all = 0;
  for (let i = 0; i < numbers.length; i++) all |= numbers[i] as number;
  for (let shift = 0; shift < 32 && all >>> shift > 0; shift += DIGIT_BITS) {
    const next = new Uint32Array(DIGITS + 1);
    for (let i = 0; i < from.length; i++) {
      const digit = ((from[i] as number) >>> shift) & (DIGITS - 1);
      next[digit + 1] = (next[digit + 1] as number) + 1;
    }
    for (let digit = 1; digit < DIGITS; digit++) next[digit] = (next[digit] as number) + (next[digit - 1] as number);
    for (let i = 0; i < from.length; i++) {
      const number = from[i] as number;
      const digit = (number >>> shift) & (DIGITS - 1);
      const at = next[digit] as number;
      next[digit] = at + 1;
      to[at] = number;
    }
    [from, to] = [to, from];
  }
  return from;
}

/** Which members, a bit each, may hold a word. A member whose bit is 0 certainly does not. */
export function membersIn(segment: Uint8Array, shape: Shape, hash: number): bigint {
  const { shift, mask } = keptOf(shape);
  const from = ((hash >>> shift) & mask) * shape.members;
  const found = numbersIn(segment, from, from + shape.members);
  return found.reduce((bits, number) => bits | (1n << BigInt(number - from)), 0n);
}

/** The members whose bits are 0. */
export function membersOut(members: readonly string[], held: bigint): string[] {
  return members.filter((_, i) => (held & (1n << BigInt(i))) === 0n);
}

/** Tells the bytes of an object from all others: what a sketch says is of these bytes alone. */
export function markOf({ sha256 }: { sha256: string }): string {
  return sha256.slice(0, 16);
}

/** Hex digits of a segment's length, of its checksum, and of both in a head. */
const LENGTH_DIGITS = 8;
const SUM_DIGITS = 16;
const ENTRY_DIGITS = LENGTH_DIGITS + SUM_DIGITS;

/** Tells a segment from all others, and from what became of it. */
export function sumOf(segment: Uint8Array): string {
  return createHash("sha256").update(segment).digest("hex").slice(0, SUM_DIGITS);
}

/** What a head says of a segment. */
export function entryOf(segment: Uint8Array): string {
  return segment.length.toString(16).padStart(LENGTH_DIGITS, "0") + sumOf(segment);
}

/** The end of a group's file: what its members are, and where its segments. */
export interface Head {
  type: typeof HEAD_TYPE;
  version: 1;
  hashes: typeof HASHES;
  bits: number;
  /** The {@link markOf} of each object. */
  members: readonly string[];
  /** The {@link entryOf} each segment, joined: so a head takes little memory. */
  segments: string;
  /**
   * The same of the identities of each object, after what is written of its records, in hex digits.
   * Absent: none are known.
   */
  identities?: string;
}

const HEAD_TYPE = "logship sketch";

export function encodeHead(of: Pick<Head, "bits" | "members" | "segments" | "identities">): Uint8Array<ArrayBuffer> {
  const head: Head = { type: HEAD_TYPE, version: 1, hashes: HASHES, ...of };
  return encodeUtf8(`${JSON.stringify(head)}\n`);
}

/**
 * @param bytes whose checksum is known, or that were never elsewhere.
 * @returns null: it is of another version, or its words are.
 */
export function readHead(bytes: Uint8Array): Head | null {
  const head = parsedJson(new TextDecoder().decode(bytes)) as Head | null;
  return head?.type === HEAD_TYPE && head.version === 1 && head.hashes === HASHES ? head : null;
}

export function shapeIn({ bits, members, segments }: Head): Shape {
  return { bits, members: members.length, segments: segments.length / ENTRY_DIGITS };
}

/** A part of the file of a group. */
export interface Section {
  from: number;
  bytes: number;
  sum: string;
}

/** A segment that is looked up. */
export interface Segment extends Section {
  hashes: readonly number[];
}

/** What {@link Head} says of the identities of an object. @param identities none: empty. */
export function identityEntryOf(identities: Uint8Array): string {
  const fields = fieldsIn(identities) ?? 0;
  return fields.toString(16).padStart(FIELD_DIGITS, "0") + entryOf(identities);
}

const FIELD_DIGITS = 8;

/** Where the identities of members are, by their marks, and what is written of their records. */
export function identitiesIn({ members, segments, identities = "" }: Head): Map<string, Section & { fields: number }> {
  const found = new Map<string, Section & { fields: number }>();
  let from = 0;
  for (let at = 0; at < segments.length; at += ENTRY_DIGITS) from += sectionAt(segments, at, 0).bytes;
  for (const [i, mark] of members.entries()) {
    const at = i * (FIELD_DIGITS + ENTRY_DIGITS);
    const section = sectionAt(identities, at + FIELD_DIGITS, from);
    // None: without digits, it is not a number.
    if (!(section.bytes > 0)) continue;
    found.set(mark, { ...section, fields: Number.parseInt(identities.slice(at, at + FIELD_DIGITS), 16) });
    from += section.bytes;
  }
  return found;
}

function sectionAt(entries: string, at: number, from: number): Section {
  const bytes = Number.parseInt(entries.slice(at, at + LENGTH_DIGITS), 16);
  return { from, bytes, sum: entries.slice(at + LENGTH_DIGITS, at + ENTRY_DIGITS) };
}

/** The segments in which these hashes are, in order. */
export function segmentsFor(head: Head, hashes: readonly number[]): Segment[] {
  const count = shapeIn(head).segments;
  const looked = Map.groupBy(hashes, (hash) => partAt(hash, count));
  const found: Segment[] = [];
  let from = 0;
  for (let i = 0; i < count; i++) {
    const section = sectionAt(head.segments, i * ENTRY_DIGITS, from);
    const those = looked.get(i);
    if (those !== undefined) found.push({ ...section, hashes: those });
    from += section.bytes;
  }
  return found;
}
