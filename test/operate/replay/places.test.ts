import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { destinationPurpose, encrypt, replayPurpose } from "../../../src/formats/secrets/encrypted.ts";
import { placesOf } from "../../../src/operate/replay/places.ts";
import { ACCOUNT } from "../../support/constants.ts";

const config = readConfig(env);
if (!config.ok) throw new Error(config.faults.join("; "));
const { keys } = config.config;

const conf = (bucket: string, path: string, key: string): string =>
  `s3://bucket-${bucket}/${path}?region=auto&endpoint=store.example&access-key-id=${key}&secret-access-key=secret-of-${key}`;
const ofJob = (text: string): string => encrypt(text, destinationPurpose(ACCOUNT), keys);
const ofReplay = (text: string): string => encrypt(text, replayPurpose(ACCOUNT), keys);

/** Bucket, path and key of the source, and of the target. */
function placed(began: string, target: string | null, now: string): unknown {
  const places = placesOf({ source: began, target }, now, env);
  if (!places.ok) return places.why;
  return [places.value.source, places.value.target].map(({ bucket, credentials }) => [
    bucket.replace("bucket-", ""),
    (credentials as { accessKeyId: string }).accessKeyId,
  ]);
}

describe("a replay reads, and writes", () => {
  it("where the job is, with the keys that it has now", () => {
    const places = placed(ofJob(conf("b", "p", "old")), null, ofJob(conf("b", "p", "new")));
    expect(places).toEqual([
      ["b", "new"],
      ["b", "new"],
    ]);
    // A key belongs to a bucket, not to a path in it.
    expect(placed(ofJob(conf("b", "p", "old")), null, ofJob(conf("b", "q", "new")))).toEqual(places);
  });

  it("where the job was, with the keys of then, if it has moved", () => {
    expect(placed(ofJob(conf("b", "p", "old")), null, ofJob(conf("c", "p", "new")))).toEqual([
      ["b", "old"],
      ["b", "old"],
    ]);
  });

  it("to another destination with its own keys alone", () => {
    expect(
      placed(ofJob(conf("b", "p", "old")), ofReplay(conf("t", "p", "target")), ofJob(conf("b", "p", "new"))),
    ).toEqual([
      ["b", "new"],
      ["t", "target"],
    ]);
  });

  it("nothing where no key opens what is sealed, or what was sealed for something else", () => {
    const why = "neither SECRETS_KEY nor SECRETS_KEY_PREVIOUS opens the stored destination";
    const job = ofJob(conf("b", "p", "old"));
    expect(placed("1.x.y", null, job)).toBe(why);
    expect(placed(job, ofJob(conf("t", "p", "target")), job)).toBe(why);
    expect(placed(ofReplay(conf("b", "p", "old")), null, job)).toBe(why);
  });
});
