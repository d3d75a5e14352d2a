import type { Platform } from "../../base/platform.ts";
import type { Pieces } from "../../base/streams.ts";
import type { CompiledQuery } from "../../formats/query/compile-query.ts";
import { Identities, type RecordId } from "../../formats/sketch/identities.ts";
import { ReadFault } from "../../ship/destinations/read-object.ts";
import type { Identified } from "./identify.ts";
import { type Match, type Scanned, scan } from "./scan.ts";
import type { Source } from "./source.ts";

/** How long one object may take, in ms: its store may send a byte now and then. */
const OBJECT_MS = 60_000;

export interface Read {
  query: CompiledQuery;
  /** Fields of records that are looked at; null: any. */
  fields: ReadonlySet<string> | null;
  /** What tells which records it has; null: it is not known. */
  known: Identified | null;
  /** The client is gone: nothing more is read. */
  signal: AbortSignal;
  platform: Pick<Platform, "now">;
  /** Is told what comes from where it is stored, in bytes. */
  read(bytes: number): void;
  /** @param record which one it is; "": it is not known. */
  found(match: Match, record: RecordId | ""): void;
}

/** Reads all of an object. @throws ReadFault, also if its lines are other records than expected. */
export async function readSource(
  source: Source,
  { query, fields, known, signal, platform, read, found }: Read,
): Promise<Scanned & { identities: Identities | null }> {
  const untilMs = platform.now() + OBJECT_MS;
  let told = source.isHeld ? null : ((await known?.load()) ?? null);
  const take = (ofHeld: Uint8Array | null): void => {
    told = ofHeld;
  };
  const content = await source.open(
    (bytes) => {
      read(bytes);
      if (signal.aborted) throw new ReadFault("silent", "the answer is not wanted any more");
      if (platform.now() > untilMs) throw new ReadFault("silent", "it takes too long to read");
    },
    { fields, ...(source.isHeld && known !== null && { identities: take }) },
  );
  const identities = known && told && Identities.read(told, source.number === null ? null : source.records);
  if (known !== null && identities === null) throw new ReadFault("damaged", "which records it has cannot be read");
  const scanned = await scan(whileWanted(content, signal), query, (match) => {
    if (identities === null) found(match, "");
    // Of more lines than that, it is found out below.
    else if (match.line <= identities.records) found(match, identities.at(match.line));
  });
  if (identities !== null && scanned.records !== identities.records && !signal.aborted)
    throw new ReadFault("damaged", "it has other records than its sketch says");
  return { ...scanned, identities };
}

async function* whileWanted(content: Pieces, signal: AbortSignal): Pieces {
  try {
    for await (const piece of content) {
      if (signal.aborted) return;
      yield piece;
    }
  } finally {
    content.return().catch(() => {});
  }
}
