/** Reads one manifest of an archive, and says what is wrong with it. */
import { createHash } from "node:crypto";
import * as z from "zod";
import {
  isSignedBy,
  MANIFEST_PATH,
  MANIFEST_TYPE,
  type PublicKey,
  splitManifest,
} from "../../src/formats/manifest/archive-format.ts";
import type { Archive } from "./archive.ts";

/** A manifest is 1.5 MB at most, but for one with a single, very long key. */
const READ_MAX_BYTES = 4_000_000;

const Count = z.number().int().nonnegative();
const Day = z.string().regex(/^\d{8}$/);
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const Listed = z.object({
  shard: Count,
  segment: Count,
  key: z.string(),
  bytes: Count,
  sha256: Sha256,
  records: Count,
  at: z.enum(["elsewhere", "unknown"]).optional(),
});
export type Listed = z.infer<typeof Listed>;

const Body = z.object({
  type: z.literal(MANIFEST_TYPE),
  version: z.literal(1),
  job: Count,
  day: Day,
  number: Count,
  chain: z.object({
    id: z.string(),
    position: z.number().int().positive(),
    previous: z.object({ name: z.string().regex(/^\d{8}\.\d{1,9}\.json$/), sha256: Sha256 }).nullable(),
  }),
  written: z.string(),
  root: z.string(),
  path: z.string(),
  covers_from: Day,
  open_from: Day,
  deleted: Day.optional(),
  objects: z.array(Listed),
  sketches: z.array(z.object({ key: z.string(), bytes: Count, sha256: Sha256 })).optional(),
  sums: z.object({ objects: Count, records: Count, bytes: Count }),
  deliveries: z.array(z.object({ shard: Count, segment: Count, delivered: Count, listed: Count })),
});

export interface ReadManifest extends z.infer<typeof Body> {
  /** Its file in the archive, and the folder that `root` is there. */
  file: string;
  base: string;
  sha256: string;
}

export type ManifestRead = { ok: true; manifest: ReadManifest; misplaced: string | null } | { ok: false; why: string };

/** Where a manifest stands, by its path; null: it is no path of a manifest. */
export function placedAt(path: string): { base: string; job: number; day: string; name: string } | null {
  const match = MANIFEST_PATH.exec(path);
  if (match === null) return null;
  const [, base = "", job = "", day = "", number = ""] = match;
  return { base, job: Number(job), day, name: `${day}.${number}.json` };
}

export async function readManifest(
  archive: Archive,
  file: string,
  keys: ReadonlyMap<string, PublicKey>,
): Promise<ManifestRead> {
  const bytes = await wholeOf(archive, file);
  if (bytes === null) return { ok: false, why: "it cannot be read, or is larger than any manifest" };
  const split = splitManifest(bytes);
  if (split === null) return { ok: false, why: "it is not a manifest any more: it was edited, or cut off" };
  const key = keys.get(split.keyId);
  if (key === undefined) return { ok: false, why: `it is signed with a key that was not given: ${split.keyId}` };
  if (!(await isSignedBy(key, split.signed, split.signature)))
    return { ok: false, why: "its signature does not fit: it was edited, or signed with another key" };
  const body = Body.safeParse(parsed(split.signed));
  if (!body.success) return { ok: false, why: "it was written by a later version: verify with that one" };
  const placed = placedAt(file) ?? { base: "", job: -1, name: "" };
  const { job, day, number } = body.data;
  const name = `${day}.${number}.json`;
  const isPlaced = placed.job === job && placed.name === name;
  return {
    ok: true,
    manifest: {
      ...body.data,
      file,
      base: placed.base,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    },
    misplaced: isPlaced ? null : `it is the manifest ${name} of job ${job}`,
  };
}

async function wholeOf(archive: Archive, file: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of (await archive.read(file)) ?? []) {
    bytes += piece.length;
    if (bytes > READ_MAX_BYTES) return null;
    pieces.push(piece);
  }
  return bytes === 0 ? null : new Uint8Array(Buffer.concat(pieces));
}

function parsed(line: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(line));
  } catch {
    return null;
  }
}
