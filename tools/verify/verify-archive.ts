/** Compares an archive with its manifests. docs/reading.md says what that proves. */
import { createHash } from "node:crypto";
import {
  dayStamp,
  fillOf,
  leadsTo,
  type PublicKey,
  SKETCH_PATH,
  stampedMs,
} from "../../src/formats/manifest/archive-format.ts";
import type { Archive } from "./archive.ts";
import { chainFindings, chainsOf, dayNumber, type Finding, type Link, placeFindings } from "./chains.ts";
import { type Listed, placedAt, type ReadManifest, readManifest } from "./read-manifest.ts";

export interface VerifyOptions {
  readonly keys: readonly PublicKey[];
  /** `YYYYMMDD`; what is of earlier days may be missing. */
  readonly expiredBefore: string | null;
  /** `YYYYMMDD`; this day and all before it have to be listed. */
  readonly until: string | null;
  /** SHA-256 of a manifest that has to be there. */
  readonly heads: readonly string[];
  readonly nowMs: number;
  /** Of the names that are listed: random. */
  readonly salt: Uint8Array;
}

export interface Verified {
  findings: number;
  manifests: number;
  /** That are as they were delivered, and their sum. */
  objects: number;
  records: number;
  bytes: number;
  /** Missing, of days that have expired. */
  expired: number;
  /** Files that only searches read: as they were written; and missing or altered, which is told. */
  sketches: number;
  lostSketches: number;
  /** Not listed: of days that are not over, or from before there were manifests. */
  open: number;
  before: number;
  /** Of each job: its newest manifest, and the first day that it does not cover. */
  heads: { job: number; file: string; sha256: string; written: string; openFrom: string }[];
}

/** Files that are read side by side. */
const AT_ONCE = 8;

/** Of these, more are counted and not named. */
const UNLISTED_NAMED = 100;

/** What is wrong with so many objects is remembered, to say where their bytes are now. */
const TRACED = 10_000;

/** Tests of a destination, and canaries: they hold no records. */
const NO_RECORDS = /^(test(-[^/]*)?\.txt\.gz|ownership-challenge-[^/]*\.txt|[^/]*\.(canary\.gz|parquet\.canary))$/;

const DAY_MS = 86_400_000;

/** @param tell is told each finding at once, and names it. */
export async function verifyArchive(
  archive: Archive,
  options: VerifyOptions,
  tell: (finding: Finding) => void,
): Promise<Verified> {
  return new Verification(archive, options, tell).run();
}

class Verification {
  readonly #archive: Archive;
  readonly #options: VerifyOptions;
  readonly #tell: (finding: Finding) => void;
  /** {@link #fingerprint} of what is listed, and of its folders: paths would take far more. */
  readonly #listed = new Set<string>();
  readonly #folders = new Set<string>();
  readonly #links: Link[] = [];
  /** Manifests, by folder and SHA-256. */
  readonly #seen = new Set<string>();
  /** Manifests that are none any more, and their days: what they listed is unknown. */
  readonly #broken = new Set<string>();
  readonly #brokenDays = new Set<string>();
  /** By the SHA-256 that was delivered: what does not have these bytes any more. */
  readonly #lost = new Map<string, string>();
  /** Those that have other bytes now, by what these are. */
  readonly #altered: { path: string; sha256: string; why: string }[] = [];
  readonly #sum: Verified = {
    ...{ findings: 0, manifests: 0, objects: 0, records: 0, bytes: 0, expired: 0, open: 0, before: 0 },
    ...{ sketches: 0, lostSketches: 0 },
    heads: [],
  };

  constructor(archive: Archive, options: VerifyOptions, tell: (finding: Finding) => void) {
    this.#archive = archive;
    this.#options = options;
    this.#tell = tell;
  }

  async run(): Promise<Verified> {
    const files: string[] = [];
    for await (const { path } of this.#archive.list()) if (placedAt(path) !== null) files.push(path);
    if (files.length === 0) this.#found("_logship", "there is no manifest: nothing is proven");
    const keys = new Map(this.#options.keys.map((key) => [key.id, key]));
    for (const file of files.sort()) await this.#checkManifest(file, keys);
    this.#tellAltered();
    this.#checkChains();
    await this.#checkUnlisted();
    return this.#sum;
  }

  /** 16 bytes in base64, with a salt: no file can be named to have those of another one. */
  #fingerprint(path: string): string {
    return createHash("sha256").update(this.#options.salt).update(path).digest("base64").slice(0, 22);
  }

  #found(what: string, why: string): void {
    this.#sum.findings += 1;
    this.#tell({ what, why });
  }

  async #checkManifest(file: string, keys: ReadonlyMap<string, PublicKey>): Promise<void> {
    const read = await readManifest(this.#archive, file, keys);
    if (!read.ok) {
      this.#broken.add(file);
      this.#brokenDays.add(placedAt(file)?.day ?? "");
      return this.#found(file, read.why);
    }
    const { manifest, misplaced } = read;
    if (misplaced !== null) this.#found(file, misplaced);
    // A copy says nothing new.
    const bytes = `${manifest.base}/${manifest.sha256}`;
    if (this.#seen.has(bytes)) return;
    this.#seen.add(bytes);
    this.#sum.manifests += 1;
    this.#links.push(linkOf(manifest));
    const sums = { objects: 0, records: 0, bytes: 0 };
    for (const { records, bytes } of manifest.objects) {
      sums.objects += 1;
      sums.records += records;
      sums.bytes += bytes;
    }
    if (JSON.stringify(sums) !== JSON.stringify(manifest.sums))
      this.#found(file, "its sums are not those of its objects");
    const queue = manifest.objects.values();
    const work = async (): Promise<void> => {
      for (const object of queue) await this.#checkObject(object, manifest);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    for (const { key, sha256 } of manifest.sketches ?? []) await this.#checkSketch(key, sha256, manifest);
  }

  /** No record is lost with one: that it is gone or altered is no finding. */
  async #checkSketch(key: string, sha256: string, { root, base, day }: ReadManifest): Promise<void> {
    const path = pathOf(key, root, base) ?? key;
    const fingerprint = this.#fingerprint(path);
    // A later manifest of its day names it again.
    if (this.#listed.has(fingerprint)) return;
    this.#listed.add(fingerprint);
    const { expiredBefore } = this.#options;
    const found = await this.#hashOf(path);
    if (found === sha256) this.#sum.sketches += 1;
    else if (found !== null || expiredBefore === null || day >= expiredBefore) {
      this.#sum.lostSketches += 1;
      const what = found === null ? "missing" : "altered";
      this.#tell({ what: path, why: `a sketch is ${what}: searches read more, and no record is lost` });
    }
  }

  /** Of a file, hex; null: there is none. */
  async #hashOf(path: string): Promise<string | null> {
    const pieces = await this.#archive.read(path);
    if (pieces === null) return null;
    const hash = createHash("sha256");
    for await (const piece of pieces) hash.update(piece);
    return hash.digest("hex");
  }

  async #checkObject(object: Listed, { file, base, root, day }: ReadManifest): Promise<void> {
    const path = pathOf(object.key, root, base);
    if (path === null) {
      if (object.at === undefined) this.#found(file, `it lists ${object.key}, which is not below its root`);
      return;
    }
    this.#listed.add(this.#fingerprint(path));
    this.#folders.add(this.#fingerprint(folderOf(path)));
    const pieces = await this.#archive.read(path);
    if (pieces === null) {
      if (object.at !== undefined) return;
      if (this.#options.expiredBefore !== null && day < this.#options.expiredBefore) this.#sum.expired += 1;
      else this.#lose(path, object.sha256, null, "missing");
      return;
    }
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const piece of pieces) {
      hash.update(piece);
      bytes += piece.length;
    }
    const sha256 = hash.digest("hex");
    if (sha256 !== object.sha256) {
      const size = bytes === object.bytes ? "" : `: it has ${bytes} bytes instead of ${object.bytes}`;
      return this.#lose(path, object.sha256, sha256, `altered${size}`);
    }
    this.#sum.objects += 1;
    this.#sum.records += object.records;
    this.#sum.bytes += bytes;
  }

  /** What is missing or altered is told with where its bytes are, once that may be known. */
  #lose(path: string, sha256: string, now: string | null, why: string): void {
    if (this.#lost.size < TRACED) this.#lost.set(sha256, path);
    if (now === null || this.#altered.length >= TRACED) this.#found(path, why);
    else this.#altered.push({ path, sha256: now, why });
  }

  #tellAltered(): void {
    for (const { path, sha256, why } of this.#altered) {
      const from = this.#lost.get(sha256);
      this.#found(path, from === undefined ? why : `${why}; it has the bytes of ${from}`);
    }
  }

  #checkChains(): void {
    const { expiredBefore, until, heads } = this.#options;
    const newest = new Map<string, Link>();
    const chains = chainsOf(this.#links);
    for (const { what, why } of placeFindings(chains, this.#archive.prefix)) this.#found(what, why);
    for (const chain of chains) {
      for (const { what, why } of chainFindings(chain, { expiredBefore, broken: this.#broken })) {
        this.#brokenDays.add(placedAt(what)?.day ?? "");
        this.#found(what, why);
      }
      const last = chain.at(-1);
      if (last === undefined) continue;
      const of = JSON.stringify([last.base, last.job]);
      const known = newest.get(of);
      if (known === undefined || known.written < last.written) newest.set(of, last);
    }
    for (const { job, file, sha256, written, openFrom, deleted } of newest.values()) {
      this.#sum.heads.push({ job, file, sha256, written, openFrom });
      if (until !== null && openFrom <= until && (deleted === null || openFrom <= deleted))
        this.#found(file, `it is the newest of job ${job}: manifests of ${openFrom} to ${until} are missing`);
    }
    for (const head of heads.filter((each) => !this.#links.some(({ sha256 }) => sha256 === each)))
      this.#found(`the manifest with the SHA-256 ${head}`, "missing");
  }

  async #checkUnlisted(): Promise<void> {
    const places = [...Map.groupBy(this.#links, ({ base }) => base)].map(([base, links]) => new PlaceOf(base, links));
    const inBroken = new Map<string, number>();
    let unnamed = 0;
    for await (const { path } of this.#archive.list()) {
      if (placedAt(path) !== null || this.#listed.has(this.#fingerprint(path))) continue;
      const name = path.slice(path.lastIndexOf("/") + 1);
      if (NO_RECORDS.test(name)) continue;
      const judged = places
        .filter(({ base }) => isBelow(path, base))
        .map((place) =>
          place.judge(path, name, this.#folders.has(this.#fingerprint(folderOf(path))), this.#options.nowMs),
        );
      // Roots may lie in one another: what one job may have put there is not added.
      const is = judged.find(({ kind }) => kind !== "added") ?? judged[0];
      if (is === undefined) continue;
      if (is.kind !== "added") {
        this.#sum[is.kind] += 1;
        continue;
      }
      const moved = await this.#movedFrom(path);
      if (moved !== null) this.#found(path, `in no manifest; it has the bytes of ${moved}`);
      // Its manifest is still to be written, or is gone; it holds no records.
      else if (SKETCH_PATH.test(path)) continue;
      else if (this.#brokenDays.has(is.day)) inBroken.set(is.day, (inBroken.get(is.day) ?? 0) + 1);
      else if (++unnamed <= UNLISTED_NAMED)
        this.#found(path, "in no manifest: it was added, or delivered within the last hour");
    }
    if (unnamed > UNLISTED_NAMED) this.#found(`${unnamed - UNLISTED_NAMED} more files`, "in no manifest");
    for (const [day, count] of inBroken)
      this.#found(
        `${count} files of ${day}`,
        "in no manifest that can be read; they may have been listed in one that is missing or edited",
      );
  }

  /** Which lost object a file has the bytes of; null: none. */
  async #movedFrom(path: string): Promise<string | null> {
    if (this.#lost.size === 0) return null;
    return this.#lost.get((await this.#hashOf(path)) ?? "") ?? null;
  }
}

/** What files may stand below the root of some jobs besides those that are listed. */
class PlaceOf {
  readonly base: string;
  readonly #paths: ReadonlySet<string>;
  readonly #root: string;
  /** The newest manifest of each job here. */
  readonly #newest: readonly Link[];
  readonly #coversFrom: string;
  readonly #gaps: readonly (readonly [from: string, to: string])[];

  constructor(base: string, links: readonly Link[]) {
    this.base = base;
    this.#paths = new Set(links.map(({ path }) => path));
    const byOpenFrom = links.toSorted((a, b) => (a.openFrom < b.openFrom ? -1 : 1));
    this.#newest = [...new Map(byOpenFrom.map((link) => [link.job, link])).values()];
    // There is one key for all jobs: since the first one has manifests, every one has them.
    this.#coversFrom = links.map(({ coversFrom }) => coversFrom).sort()[0] ?? "";
    this.#gaps = gapsOf(links);
    this.#root = links[0]?.root ?? "";
  }

  /**
   * Why a file may not be listed; `added`: it should be.
   * @param name the end of its path.
   * @param isBesideListed its folder has objects that are listed.
   */
  judge(
    path: string,
    name: string,
    isBesideListed: boolean,
    nowMs: number,
  ): { kind: "open" | "before" } | { kind: "added"; day: string } {
    const firstMs = stampedMs(name);
    if (firstMs === null) return { kind: "added", day: "" };
    const dayNumber = Math.floor(firstMs / DAY_MS);
    const day = dayStamp(dayNumber);
    const isOpen =
      firstMs < nowMs + 2 * DAY_MS &&
      this.#newest.some(({ openFrom, deleted }) => day >= openFrom && (deleted === null || day <= dayAfter(deleted)));
    const folder = folderOf(path);
    const below = this.base === "" ? folder : folder.slice(this.base.length + 1);
    const key = [this.#root, below].filter((part) => part !== "").join("/");
    const fill = fillOf(dayNumber, firstMs, "");
    // A file in the folder of another day is read with that one, whatever its name.
    const isInPlace = [...this.#paths].some((template) => leadsTo(template, fill, key));
    if (isOpen && isInPlace) return { kind: "open" };
    if (day < this.#coversFrom && (isInPlace || !isBesideListed)) return { kind: "before" };
    if (isInPlace && this.#gaps.some(([from, to]) => day >= from && day <= to)) return { kind: "before" };
    return { kind: "added", day };
  }
}

/**
 * Of jobs that moved away and came back, days of which a part is listed where they were meanwhile:
 * from the end of a chain to the beginning of the next one, at the latest.
 */
function gapsOf(links: readonly Link[]): (readonly [from: string, to: string])[] {
  const gaps: (readonly [from: string, to: string])[] = [];
  const ends = new Map<number, { id: string; openFrom: string }>();
  for (const { job, chain, openFrom, written } of links.toSorted((a, b) => (a.written < b.written ? -1 : 1))) {
    const end = ends.get(job);
    if (end !== undefined && end.id !== chain.id)
      gaps.push([end.openFrom, dayAfter(written.slice(0, 10).replaceAll("-", ""))]);
    ends.set(job, { id: chain.id, openFrom });
  }
  return gaps;
}

/** @param day `YYYYMMDD`. Events of the next day are taken as well, as clocks differ. */
function dayAfter(day: string): string {
  return dayStamp(dayNumber(day) + 1);
}

function isBelow(path: string, base: string): boolean {
  return base === "" || path.startsWith(`${base}/`);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function linkOf(manifest: ReadManifest): Link {
  const { file, base, job, day, number, sha256, chain, path, root, written, deleted, deliveries, objects } = manifest;
  const counts: Record<string, number> = {};
  for (const { shard, segment } of objects) counts[`${shard}/${segment}`] = (counts[`${shard}/${segment}`] ?? 0) + 1;
  return {
    ...{ file, base, job, sha256, chain, path, root, written, deliveries, counts },
    name: `${day}.${number}.json`,
    openFrom: manifest.open_from,
    coversFrom: manifest.covers_from,
    deleted: deleted ?? null,
  };
}

/** Where an object is in the archive; null: its key is not below the root. */
function pathOf(key: string, root: string, base: string): string | null {
  if (root !== "" && !key.startsWith(`${root}/`)) return null;
  const below = root === "" ? key : key.slice(root.length + 1);
  return base === "" ? below : `${base}/${below}`;
}
