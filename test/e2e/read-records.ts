import type { Bucket } from "../../tools/client/bucket.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { ndjson } from "../support/oracle.ts";

/**
 * The records of all objects below a folder of a bucket.
 * @throws if one is not a strict single-member gzip.
 */
export async function recordsBelow(bucket: Bucket, folder: string): Promise<unknown[]> {
  const objects = (await bucket.read(`${folder}/`)).filter(({ key }) => key.endsWith(".log.gz"));
  return objects.flatMap(({ key, bytes }) => {
    const member = readSingleMember(bytes);
    if (!member.ok) throw new Error(`${key}: ${member.reason}`);
    return ndjson(member.raw);
  });
}
