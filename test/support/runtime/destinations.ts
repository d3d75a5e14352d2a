/** Destinations of tests: a bucket or a receiver of the scripted endpoint, and what one kept. */
import { inject } from "vitest";
import type { DialectName } from "../receiver.ts";
import { type BucketControl, bucketControl } from "../s3-control.ts";
import { destinationConf } from "./api.ts";
import { freshBucket } from "./pipeline.ts";

export interface Bucket {
  readonly name: string;
  readonly control: BucketControl;
}

/** Checks that no id was ever sent with other bytes than the first time. */
export async function changed(control: BucketControl): Promise<string[]> {
  const first = new Map<string, string>();
  return (await control.requests()).flatMap(({ key, headers }) => {
    const sha256 = headers["content-sha256"];
    if (sha256 === undefined || key.includes("/test-")) return [];
    const before = first.get(key) ?? sha256;
    first.set(key, before);
    return before === sha256 ? [] : [`${key} was sent with other bytes`];
  });
}

/** What a receiver kept, request by request. */
export async function received(control: BucketControl): Promise<{ key: string; bytes: Uint8Array }[]> {
  const kept: { key: string; bytes: Uint8Array }[] = [];
  for (const { key, version } of await control.puts()) {
    const bytes = await control.object(key, version);
    if (bytes !== undefined) kept.push({ key: `${key} (${version})`, bytes });
  }
  return kept;
}

/** The path of a bucket in which a test looks for objects. */
export const WHERE = "logs/{DATE}";

/** Receivers that take no record twice. */
export const TELLS_REPEATS: ReadonlySet<DialectName> = new Set(["elastic"]);

/** A destination of a test's own. @param path of a bucket. */
export function freshDestination(
  receiver: DialectName | null,
  whereIn: (bucket: string) => string,
  ofBucket: typeof destinationConf = destinationConf,
): { bucket: Bucket; conf: string } {
  if (receiver === null) {
    const bucket = freshBucket();
    return { bucket, conf: ofBucket(bucket.name, whereIn(bucket.name)) };
  }
  const url = inject("s3Url");
  const name = `receiver-${receiver}-${crypto.randomUUID()}`;
  const at = receiver === "datadog" ? "api/v2/logs" : "in";
  const headers = `header_X-Receiver=${name}&header_Authorization=Bearer%20x&header_DD-API-KEY=x`;
  const conf = `${receiver}://${new URL(url).host}/${at}?tls=off&${headers}`;
  return { bucket: { name, control: bucketControl(url, name) }, conf };
}
