import { encodeUtf8, fromBase64, toBase64 } from "../../base/bytes.ts";
import type { Signer } from "./signing.ts";

/** What was delivered of a job, of one UTC day; docs/reading.md says where it stands. */
export interface Manifest {
  type: typeof MANIFEST_TYPE;
  version: 1;
  job: number;
  /** `YYYYMMDD`. */
  day: string;
  /** Of this day's manifests, from 1. */
  number: number;
  chain: ChainLink;
  /** ISO 8601. */
  written: string;
  /** Folder below which all objects are; "": the bucket. */
  root: string;
  /** The job's path, with its placeholders. */
  path: string;
  /** `YYYYMMDD`: objects of earlier days may have been delivered before there were manifests. */
  covers_from: string;
  /** `YYYYMMDD`: this day and the next were not over: their objects are listed later. */
  open_from: string;
  /** `YYYYMMDD`, of a deleted job: on this day. Days after it and the next get no manifest. */
  deleted?: string;
  objects: ListedObject[];
  /** Of these objects, and of others of this day. Absent: there are none. */
  sketches?: ListedSketch[];
  /** Of `objects`. */
  sums: { objects: number; records: number; bytes: number };
  deliveries: ListedNode[];
  /** The job's counts when the manifest was written. */
  ledger: Record<string, number>;
}

export const MANIFEST_TYPE = "logship manifest";

/** Where a manifest stands among those of its job at one place. */
export interface ChainLink {
  id: string;
  /** From 1, without a gap. */
  position: number;
  /** The manifest that was written before; null: it is the first one. */
  previous: { name: string; sha256: string } | null;
}

export interface ListedObject {
  shard: number;
  segment: number;
  /** As the API lists it. */
  number: number;
  /**
   * Of its shard and segment: what searches know it by. Absent, like the next two of these, where
   * an earlier release wrote the manifest.
   */
  batch?: number;
  /** Before compression. */
  raw_bytes?: number;
  content_type?: string;
  /** Counts what its shard and segment has delivered, from 1. */
  delivery: number;
  key: string;
  bytes: number;
  sha256: string;
  records: number;
  first_event: string;
  last_event: string;
  delivered: string;
  /** Of a copy that a replay wrote: the number of its object. */
  copy_of?: number;
  /** Absent: it is here. `unknown`: the destination has changed since, and it may be elsewhere. */
  at?: "elsewhere" | "unknown";
}

/** A file by which searches pass over objects; without it they read them. */
export interface ListedSketch {
  key: string;
  bytes: number;
  sha256: string;
  /** Its end, which says where the rest is. */
  head: { bytes: number; sha256: string };
  /** How many it knows. */
  objects: number;
}

/** How far the deliveries of a shard's segment are listed. */
export interface ListedNode {
  shard: number;
  segment: number;
  /** How many there were when this manifest was prepared. */
  delivered: number;
  /** How many are listed in manifests, this one included. */
  listed: number;
}

/** The signed line begins after this, … */
const HEAD = '{"manifest":\n';
/** … and its line feed is signed as well. */
const LINE_FEED = 0x0a;

/**
 * The bytes of a manifest: a JSON document of three lines, of which the second is signed as it
 * stands, so that `sed -n 2p` gives what a signature is about.
 */
export async function encodeManifest(manifest: Manifest, signer: Signer): Promise<Uint8Array<ArrayBuffer>> {
  const line = `${JSON.stringify(manifest)}\n`;
  const signature = await signer.sign(encodeUtf8(line));
  const tail = `,"key_id":"${signer.publicKey.id}","signature":"${toBase64(signature)}"}\n`;
  return encodeUtf8(HEAD + line + tail);
}

export interface SignedManifest {
  /** The exact bytes that are signed. */
  signed: Uint8Array<ArrayBuffer>;
  keyId: string;
  signature: Uint8Array<ArrayBuffer>;
}

/**
 * Takes a manifest's file apart, without reading what it says.
 * @returns null: it is not one, to the byte.
 */
export function splitManifest(file: Uint8Array<ArrayBuffer>): SignedManifest | null {
  const head = encodeUtf8(HEAD);
  if (!head.every((byte, i) => file[i] === byte)) return null;
  const end = file.indexOf(LINE_FEED, head.length);
  if (end === -1) return null;
  const tail = new TextDecoder().decode(file.subarray(end + 1));
  const match = /^,"key_id":"([0-9a-f]{16})","signature":"([A-Za-z0-9+/]{86}==)"\}\n$/.exec(tail);
  if (match === null) return null;
  const [, keyId = "", signature = ""] = match;
  return { signed: file.slice(head.length, end + 1), keyId, signature: fromBase64(signature) };
}
