import { createHash } from "node:crypto";
import { dayStamp, type Template } from "../object/keys.ts";

/** The folder of manifests: no script has one of this name. */
export const MANIFESTS = "_logship";

/** Path of a manifest: its last segments are the folder, the job, and day and number. */
export const MANIFEST_PATH = /^(?:(.*)\/)?_logship\/(\d{1,15})\/(\d{8})\.(\d{1,9})\.json$/s;

/** Path of a sketch. */
export const SKETCH_PATH = /^(?:.*\/)?_logship\/\d{1,15}\/sketch\/[^/]+\.sketch$/s;

/** The folder below which all objects of a path are: what comes before its first placeholder. */
export function rootOf({ pieces }: Template): string {
  const [first = ""] = pieces;
  return pieces.length === 1 ? first : first.slice(0, Math.max(0, first.lastIndexOf("/")));
}

/** `20261120.1.json`. @param day since the epoch. @param number from 1. */
export function manifestName(day: number, number: number): string {
  return `${dayStamp(day)}.${number}.json`;
}

/** @param root as {@link rootOf}. */
export function manifestKey(root: string, job: number, name: string): string {
  return `${root === "" ? "" : `${root}/`}${MANIFESTS}/${job}/${name}`;
}

/** @param root as {@link rootOf}. @param sha256 of the file: no other one has its key. */
export function sketchKey(root: string, job: number, { node, day }: { node: number; day: number }, sha256: string) {
  return manifestKey(root, job, `sketch/${dayStamp(day)}.${node}.${sha256.slice(0, 16)}.sketch`);
}

/** Where objects go, as far as it tells places apart. */
interface Place {
  readonly scheme: string;
  readonly endpoint: URL;
  readonly accountId: string | null;
  readonly bucket: string;
}

/** Tells apart the places of two destinations: objects of one place are listed together. */
export function placeMark({ scheme, endpoint, accountId, bucket }: Place, root: string): string {
  const { origin, host, pathname } = endpoint;
  return createHash("sha256")
    .update(JSON.stringify([scheme, origin, host, pathname, accountId, bucket, root]))
    .digest("hex");
}
