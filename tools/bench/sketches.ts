/**
 * The figures of docs/search.md: what searches read in days of 86 million records, and what
 * sketches take. The code of src makes one group of a hundred objects with random words, as one day
 * has 29 of; the rest is computed. Not part of the tests: nothing here passes or fails.
 *
 *     node tools/bench/sketches.ts
 */
import { createHash } from "node:crypto";
import { encodeHead, entryOf, GROUP_OBJECTS, membersIn, segmentsOf, shapeOf } from "../../src/formats/sketch/group.ts";
import { partAt, partsOf } from "../../src/formats/sketch/sketch.ts";

/** As measured with records rich in random ids: a day at 1,000 events a second, cut every 30 s. */
const DAY = { objects: 2_880, objectBytes: 4_400_000, records: 30_000, words: 206_000 };

/** A manifest names an object in so many bytes. */
const LISTED_BYTES = 440;

/** Days that the readers list; those before are in manifests. */
const LISTED_DAYS = 30;

const SAMPLE = 2_000;

const dayBytes = DAY.objects * DAY.objectBytes;

/** @returns ms of CPU, and what it has made. */
function timed<T>(run: () => T): [ms: number, made: T] {
  const before = process.cpuUsage();
  const made = run();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1_000, made];
}

const objects = Array.from({ length: GROUP_OBJECTS }, () => {
  const words = new Uint32Array(DAY.words);
  for (let at = 0; at < words.length; at += 16_384) crypto.getRandomValues(words.subarray(at, at + 16_384));
  return words;
});
const [partMs, parts] = timed(() => objects.map(partsOf));
const most = parts[0]?.length ?? 1;
const shape = shapeOf(objects.length, objects.length * DAY.words, most);
const [foldMs, segments] = timed(() => [
  ...segmentsOf(shape, most, (part) => parts.map((own) => own[part] as Uint32Array)),
]);
const [hashMs, sums] = timed(() => {
  for (const algorithm of ["sha256", "md5"])
    segments.reduce((hash, each) => hash.update(each), createHash(algorithm)).digest();
  return segments.map(entryOf).join("");
});
const members = objects.map((_, i) => `${i}`.padStart(16, "0"));
const headBytes = encodeHead({ bits: shape.bits, members, segments: sums }).length;
const segmentBytes = segments.reduce((sum, { length }) => sum + length, 0) / segments.length;
const asked = crypto.getRandomValues(new Uint32Array(SAMPLE));
const [lookMs, wrong] = timed(() =>
  asked.reduce((sum, hash) => {
    const held = membersIn(segments[partAt(hash, shape.segments)] as Uint8Array, shape, hash);
    return sum + held.toString(2).replaceAll("0", "").length;
  }, 0),
);
const wrongObjects = wrong / SAMPLE;
const records = objects.length * DAY.records;
const fileBytes = segmentBytes * segments.length + headBytes;
const groupsADay = Math.ceil(DAY.objects / GROUP_OBJECTS);

const percent = (bytes: number, days: number): string => `${((100 * bytes) / (dayBytes * days)).toFixed(3)} %`;
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

console.log(`a group: ${objects.length} objects, ${shape.bits} bits of a hash, ${shape.segments} segments`);
console.log(
  `  ${mb(fileBytes)}, ${((fileBytes * 8) / (objects.length * DAY.words)).toFixed(2)} bits a word, ${(fileBytes / records).toFixed(1)} B a record`,
);
console.log(
  `  segment ${(segmentBytes / 1e3).toFixed(1)} kB, head ${(headBytes / 1e3).toFixed(1)} kB, ${wrongObjects.toFixed(3)} objects wrong for a word`,
);
console.log(
  `  µs a record: ${((1e3 * partMs) / records).toFixed(3)} parts, ${((1e3 * foldMs) / records).toFixed(3)} group, ${((1e3 * hashMs) / records).toFixed(3)} checksums; ${(lookMs / SAMPLE).toFixed(2)} ms a look`,
);
console.log(`  a day: ${mb(groupsADay * fileBytes)} in the bucket, ${percent(groupsADay * fileBytes, 1)} of it`);

console.log(
  "\n| | days | objects read | of sketches | of manifests | in all |\n| --- | ---: | ---: | ---: | ---: | ---: |",
);
for (const [what, ids] of [
  ["one id", 1],
  ["ten ids", 10],
] as const) {
  for (const days of [1, 7, 30, 90]) {
    const groups = groupsADay * days;
    const read = ids + ids * wrongObjects * groups;
    const old = Math.max(0, days - LISTED_DAYS);
    const sketches = groups * headBytes + ids * groups * segmentBytes;
    const manifests = old * DAY.objects * LISTED_BYTES;
    const all = read * DAY.objectBytes + sketches + manifests;
    console.log(
      `| ${what} | ${days} | ${read.toFixed(0)} of ${DAY.objects * days}, ${percent(read * DAY.objectBytes, days)} | ${percent(sketches, days)} | ${percent(manifests, days)} | ${percent(all, days)} |`,
    );
  }
}
