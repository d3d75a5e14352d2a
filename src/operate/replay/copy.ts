import type { OpenDestination } from "../../ship/destinations/destination.ts";
import type { Failure } from "../../ship/destinations/failure.ts";
import type { SourceFault } from "./replay-text.ts";
import type { Piece } from "./rows.ts";
import { letGo, openSource, passedOn, readWhole } from "./source.ts";

/**
 * Objects up to this size are read whole before they are sent, larger ones are passed on as they
 * come, in bytes.
 */
export const WHOLE_MAX_BYTES = 1_000_000;

export type CopyOutcome =
  /** `leaveOut` as in `WriteOutcome`. */
  | { kind: "delivered"; verified: boolean; leaveOut?: number }
  /** Something else stands under its key. */
  | { kind: "key_taken" }
  | { kind: "missing" | "damaged"; words: string }
  /** The target refuses this object itself. */
  | { kind: "refused"; words: string }
  /** `doubtful`: it may be there. */
  | { kind: "failed"; error: Failure; doubtful: boolean };

export interface Target {
  store: Pick<OpenDestination, "write" | "stands">;
  /** What requests to it leave out, as far as is known. */
  leaveOut: number;
}

/**
 * One attempt to bring an object from where it was delivered under another key. However often it
 * runs, and wherever an earlier run broke off, the copy stands there once, and is what was
 * delivered, byte for byte: the expected hash is part of the request, and a source that differs is
 * never sent to its end.
 * @param key the copy's own.
 */
export async function copyObject(
  piece: Piece,
  key: string,
  source: Pick<OpenDestination, "read">,
  target: Target,
): Promise<CopyOutcome> {
  const stands = async (): Promise<boolean> => (await target.store.stands({ ...piece, key })) === "there";
  if (piece.doubtful && (await stands())) return { kind: "delivered", verified: true };
  const outcome = await copy(piece, key, source, target);
  // An earlier attempt may have written the copy: one that stands is never reported missing.
  const isEnd = outcome.kind === "missing" || outcome.kind === "damaged";
  return isEnd && (await stands()) ? { kind: "delivered", verified: true } : outcome;
}

async function copy(
  piece: Piece,
  key: string,
  source: Pick<OpenDestination, "read">,
  { store, leaveOut }: Target,
): Promise<CopyOutcome> {
  const { bytes } = piece;
  const opened = await openSource(source, piece);
  if (!opened.ok) return ofSource(opened.fault, piece.doubtful);
  let body: () => Uint8Array | ReadableStream<Uint8Array>;
  let fault: SourceFault | null = null;
  let first: typeof opened | null = opened;
  if (bytes <= WHOLE_MAX_BYTES) {
    const whole = await readWhole(opened.body, piece);
    if (!(whole instanceof Uint8Array)) return ofSource(whole, piece.doubtful);
    body = () => whole;
  } else {
    body = () => {
      const ready = first;
      first = null;
      const open = async () => ready ?? openSource(source, piece);
      return passedOn(open, piece, (found) => {
        fault = found;
      });
    };
  }
  const outcome = await store.write({ ...piece, key }, body, { doubtful: piece.doubtful, leaveOut });
  if (bytes > WHOLE_MAX_BYTES && first !== null) letGo(opened.body);
  switch (outcome.kind) {
    case "delivered":
    case "key_taken":
      return outcome;
    case "failed": {
      // The body broke off: the target's answer says nothing about the target.
      const found = fault as SourceFault | null;
      if (found !== null) return ofSource(found, piece.doubtful);
      const { error } = outcome;
      if (error.kind === "refused") return { kind: "refused", words: error.words };
      return { kind: "failed", error, doubtful: outcome.mayBeThere ?? error.kind === "unreachable" };
    }
    case "divide":
    case "partly":
      throw new Error("a store takes an object whole");
  }
}

/** What a fault of the source is for its copy. */
export function ofSource(fault: SourceFault, doubtful: boolean): CopyOutcome {
  return fault.kind === "error" ? { kind: "failed", error: fault.error, doubtful } : fault;
}
