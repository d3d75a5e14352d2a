import type { Block } from "./blocks.ts";

/** What a message says of its records, so that they need not be read for it. */
export interface MessageFacts {
  /** Of the first and the last event, in ms since the epoch. */
  firstEventMs: number;
  lastEventMs: number;
  /** Records by function, of each part; null: too many to be listed. */
  functions: readonly (readonly FunctionFact[])[] | null;
  /** A record may be above the vendor's limit of text: jobs may get it truncated. */
  isOverLimit: boolean;
}

export interface FunctionFact {
  /** null: the record has no name of a function. */
  scriptName: string | null;
  records: number;
  lastEventMs: number;
}

/** Types of blocks. */
const TIMES = 3;
const FUNCTIONS = 4;

/** Most JSON of the counts by function, in bytes: the head of a message is not compressed. */
export const FUNCTIONS_MAX_BYTES = 2_000;

export function encodeFacts({ firstEventMs, lastEventMs, functions }: MessageFacts): Block[] {
  const times = new Uint8Array(16);
  const view = new DataView(times.buffer);
  view.setBigUint64(0, BigInt(firstEventMs));
  view.setBigUint64(8, BigInt(lastEventMs));
  const blocks: Block[] = [[TIMES, times]];
  if (functions === null) return blocks;
  const rows = functions.map((part) =>
    part.map(({ scriptName, records, lastEventMs: last }) => [scriptName, records, last]),
  );
  const json = new TextEncoder().encode(JSON.stringify(rows));
  if (json.length <= FUNCTIONS_MAX_BYTES) blocks.push([FUNCTIONS, json]);
  return blocks;
}

/**
 * @param parts number of parts of the message.
 * @returns null: it says nothing, or nothing that can be read.
 */
export function decodeFacts(
  blocks: ReadonlyMap<number, Uint8Array>,
  parts: number,
  isOverLimit: boolean,
): MessageFacts | null {
  const times = blocks.get(TIMES);
  if (times?.length !== 16) return null;
  const view = new DataView(times.buffer, times.byteOffset, 16);
  const [firstEventMs, lastEventMs] = [Number(view.getBigUint64(0)), Number(view.getBigUint64(8))];
  if (!Number.isSafeInteger(firstEventMs) || !Number.isSafeInteger(lastEventMs)) return null;
  return { firstEventMs, lastEventMs, functions: functionsIn(blocks.get(FUNCTIONS), parts), isOverLimit };
}

function functionsIn(json: Uint8Array | undefined, parts: number): MessageFacts["functions"] {
  if (json === undefined) return null;
  let rows: unknown;
  try {
    rows = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(json));
  } catch {
    return null;
  }
  if (!Array.isArray(rows) || rows.length !== parts || !rows.every(isPart)) return null;
  return rows.map((part) => part.map(([scriptName, records, lastEventMs]) => ({ scriptName, records, lastEventMs })));
}

type Row = [scriptName: string | null, records: number, lastEventMs: number];

function isPart(value: unknown): value is Row[] {
  return (
    Array.isArray(value) &&
    value.every(
      (row: unknown) =>
        Array.isArray(row) &&
        (row[0] === null || typeof row[0] === "string") &&
        Number.isSafeInteger(row[1]) &&
        Number.isSafeInteger(row[2]),
    )
  );
}
