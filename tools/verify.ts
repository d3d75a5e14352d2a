/**
 * `npm run verify`: compares a folder or a bucket with its signed manifests; docs/reading.md.
 *
 *     npm run verify -- ./logs --key MCowBQYDK2VwAyEA…
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { plural } from "../src/base/words.ts";
import { type PublicKey, readPublicKey } from "../src/formats/manifest/archive-format.ts";
import { printable } from "./client/show.ts";
import { command, UsageFault } from "./command.ts";
import { userFolder } from "./paths.ts";
import { pause } from "./until.ts";
import { type Archive, folderArchive } from "./verify/archive.ts";
import { dayNumber } from "./verify/chains.ts";
import { readS3Settings, StoreFailure, s3Archive } from "./verify/s3-archive.ts";
import { type Verified, verifyArchive } from "./verify/verify-archive.ts";

const USAGE = `usage: npm run verify -- <folder | s3://bucket/prefix> --key <public key> [options]

Compares a folder or a bucket with its signed manifests.

  --key <key>              the public key, as /.well-known/logship-keys.json shows it, or a PEM file of it;
                           again for each key that signed earlier manifests
  --expired-before <day>   YYYYMMDD: objects and manifests of earlier days may be gone, as by a lifecycle rule
  --until <day>            YYYYMMDD: this day and those before it must be covered
  --head <sha256>          of a manifest that must be there, as you noted it; again for each job
  --addressing-style <style>  virtual: the bucket stands before the host of AWS_ENDPOINT_URL, not in its path

A bucket is read with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and where needed AWS_SESSION_TOKEN,
AWS_REGION and AWS_ENDPOINT_URL.

Exit code 1: something is wrong; 2: it could not be verified.`;

/** What the user asked for cannot be done; the message says why. */
class Refused extends Error {}

function keyOf(given: string): PublicKey {
  const path = resolve(userFolder(process.env), given);
  const isFile = readPublicKey(given) === null && existsSync(path);
  if (!isFile && given.endsWith(".pem")) throw new Refused(`--key: there is no file ${given}`);
  const text = isFile ? readFileSync(path, "utf8") : given;
  const key = readPublicKey(text.replace(/-----[A-Z ]+-----/g, "").replace(/\s+/g, ""));
  if (key === null)
    throw new Refused("--key: base64 of 60 characters, as /.well-known/logship-keys.json has it, or a PEM file");
  return key;
}

function dayOf(name: string, text: string | undefined): string | null {
  if (text === undefined) return null;
  const day = text.replaceAll("-", "");
  if (!/^\d{8}$/.test(day) || Number.isNaN(dayNumber(day))) throw new Refused(`--${name}: a day as YYYYMMDD`);
  return day;
}

function archiveOf(from: string, style: string | undefined): Archive {
  if (style !== undefined && style !== "virtual") throw new Refused("--addressing-style: virtual, or left out");
  if (!from.startsWith("s3://")) {
    const folder = resolve(userFolder(process.env), from);
    if (!existsSync(folder)) throw new Refused(`${from}: there is no such folder`);
    return folderArchive(folder);
  }
  const settings = readS3Settings(from, process.env, style === "virtual");
  if ("missing" in settings) throw new Refused(`missing: ${settings.missing}`);
  return s3Archive(settings, { fetch: (request) => fetch(request), pause });
}

function summary(sum: Verified): string[] {
  return [
    `${plural(sum.objects, "object")} as delivered, ${plural(sum.records, "record")}, ${plural(sum.bytes, "byte")}, in ${plural(sum.manifests, "manifest")}`,
    ...(sum.expired > 0 ? [`${plural(sum.expired, "object")} gone, of days that have expired`] : []),
    ...(sum.sketches > 0 ? [`${plural(sum.sketches, "sketch", "sketches")} as written`] : []),
    ...(sum.lostSketches > 0
      ? [`${plural(sum.lostSketches, "sketch", "sketches")} missing or altered: searches read more, no record is lost`]
      : []),
    ...(sum.open > 0 ? [`${plural(sum.open, "file")} of days that no manifest covers yet`] : []),
    ...(sum.before > 0 ? [`${plural(sum.before, "file")} of days before the first manifest: not checked`] : []),
    ...sum.heads.map(
      ({ job, file, sha256, written, openFrom }) =>
        `job ${job} is covered up to ${openFrom} (exclusive) by ${printable(file)}, written ${printable(written)}, SHA-256 ${sha256}`,
    ),
    sum.findings === 0 ? "nothing is wrong" : plural(sum.findings, "finding"),
  ];
}

const OPTIONS = {
  key: { type: "string", multiple: true },
  "expired-before": { type: "string" },
  until: { type: "string" },
  head: { type: "string", multiple: true, default: [] as string[] },
  "addressing-style": { type: "string" },
} as const;

await command(USAGE, OPTIONS, async ({ values, positionals: [from, ...more] }) => {
  try {
    if (from === undefined || more.length > 0) throw new UsageFault("one folder or bucket is expected");
    if (values.key === undefined) throw new UsageFault("--key is missing");
    if (!values.head.every((head) => /^[0-9a-f]{64}$/.test(head))) throw new Refused("--head: 64 hex digits");
    const options = {
      keys: values.key.map(keyOf),
      expiredBefore: dayOf("expired-before", values["expired-before"]),
      until: dayOf("until", values.until),
      heads: values.head,
      nowMs: Date.now(),
      salt: randomBytes(16),
    };
    const verified = await verifyArchive(archiveOf(from, values["addressing-style"]), options, ({ what, why }) =>
      console.log(`${printable(what)}: ${printable(why)}`),
    );
    for (const line of summary(verified)) console.log(line);
    return verified.findings === 0 ? 0 : 1;
  } catch (error) {
    if (error instanceof UsageFault) throw error;
    const isOurs = error instanceof Refused || error instanceof StoreFailure;
    console.error(isOurs ? error.message : `it could not be verified: ${printable(String(error))}`);
    return 2;
  }
});
