/** A job whose deliveries are listed in manifests, and what a stranger makes of its bucket. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { type Manifest, splitManifest } from "../../../src/formats/manifest/manifest.ts";
import { SKETCH_PATH } from "../../../src/formats/manifest/place.ts";
import { type Signer, signerOf } from "../../../src/formats/manifest/signing.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import type { ManifestHost } from "../../../src/ship/reader/manifests.ts";
import { type Verified, type VerifyOptions, verifyArchive } from "../../../tools/verify/verify-archive.ts";
import type { BucketControl } from "../../support/s3-control.ts";

/** A signer whose key is this byte, repeated. */
export function signerWith(byte: number): Promise<Signer> {
  return signerOf(new Uint8Array(32).fill(byte));
}

/** From now on, all logs sign with this key, until `vi.restoreAllMocks()`. */
export function signWith(byte: number): void {
  vi.spyOn(JobReader.prototype, "isSigned").mockReturnValue(true);
  vi.spyOn(JobReader.prototype, "signer").mockImplementation(
    () => signerWith(byte) as ReturnType<ManifestHost["signer"]>,
  );
}

/** Waits for the manifests that are under way, if any are. */
export function listed(jobId: number): Promise<void> {
  return runInDurableObject(nodeAt(env.READERS, jobId, 0), async (log) => {
    await log.manifests.running;
  });
}

/** The manifests of a bucket, in the order of their writing. */
export async function manifestsIn(control: BucketControl): Promise<(Manifest & { key: string })[]> {
  const found: (Manifest & { key: string })[] = [];
  for (const { key, bytes } of await control.contents()) {
    if (!key.includes("_logship/") || SKETCH_PATH.test(key)) continue;
    const split = splitManifest(bytes);
    if (split === null) throw new Error(`${key} is no manifest`);
    found.push({ ...(JSON.parse(new TextDecoder().decode(split.signed)) as Manifest), key });
  }
  return found.sort((a, b) => a.chain.position - b.chain.position);
}

/** Each object that manifests list, and in which. */
export async function listedIn(control: BucketControl): Promise<Record<string, string>> {
  const where: Record<string, string> = {};
  for (const { key, objects } of await manifestsIn(control))
    for (const object of objects) {
      if (where[object.key] !== undefined) throw new Error(`${object.key} is listed twice`);
      where[object.key] = key;
    }
  return where;
}

/** What `npm run verify` says of a bucket. */
export async function verified(
  control: BucketControl,
  nowMs: number,
  options: Partial<VerifyOptions> = {},
): Promise<Verified & { said: string[] }> {
  const files = new Map((await control.contents()).map(({ key, bytes }) => [key, bytes]));
  const said: string[] = [];
  const sum = await verifyArchive(
    {
      prefix: "",
      async *list() {
        for (const path of files.keys()) yield { path };
      },
      read: async (path) => {
        const bytes = files.get(path);
        return bytes === undefined
          ? null
          : (async function* () {
              yield bytes;
            })();
      },
    },
    {
      keys: [(await signerWith(1)).publicKey],
      ...{ expiredBefore: null, until: null, heads: [], nowMs, salt: new Uint8Array(16) },
      ...options,
    },
    ({ what, why }) => said.push(`${what}: ${why}`),
  );
  return { ...sum, said };
}
