/** An archive is tampered with in all the ways of docs/reading.md: each is found, and named. */
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeManifest, splitManifest } from "../../../src/formats/manifest/manifest.ts";
import { ROOT } from "../../../tools/paths.ts";
import { folderArchive } from "../../../tools/verify/archive.ts";
import { chainFindings, type Link } from "../../../tools/verify/chains.ts";
import { type Verified, type VerifyOptions, verifyArchive } from "../../../tools/verify/verify-archive.ts";
import { ArchivedJob, DAY_MS, START, signerWith } from "./world.ts";

const MANIFESTS = "logs/_logship/3";

/** An honest archive: five days of two jobs, with late objects, and one that was sent elsewhere. */
let honest: ArchivedJob;
/** Of job 3: keys by the day of their events. */
const keys: string[][] = [];

beforeAll(async () => {
  honest = new ArchivedJob();
  const other = new ArchivedJob({ id: 4, folder: honest.folder });
  for (let day = 0; day < 5; day++) {
    keys[day] = [honest.deliver(day), honest.deliver(day), honest.deliver(day)];
    other.deliver(day);
    if (day === 1) honest.deliver(day, { elsewhere: true });
    if (day === 2) keys[0]?.push(honest.deliver(0));
    await honest.list(day + 1);
    await other.list(day + 1);
  }
  honest.deliver(5);
});

afterAll(() => rmSync(honest.folder, { recursive: true }));

async function verify(folder: string, options: Partial<VerifyOptions> = {}): Promise<Verified & { said: string[] }> {
  const said: string[] = [];
  const sum = await verifyArchive(
    folderArchive(folder),
    {
      keys: [(await signerWith(1)).publicKey],
      ...{ expiredBefore: null, until: null, heads: [], nowMs: START + 5.5 * DAY_MS, salt: new Uint8Array(16) },
      ...options,
    },
    ({ what, why }) => said.push(`${what}: ${why}`),
  );
  expect(sum.findings).toBe(said.length);
  return { ...sum, said };
}

/** What is said of the archive after a change. */
async function changed(change: (at: (path: string) => string) => unknown, options?: Partial<VerifyOptions>) {
  const folder = mkdtempSync(join(tmpdir(), "tampered-"));
  cpSync(honest.folder, folder, { recursive: true });
  try {
    await change((path) => join(folder, path));
    return await verify(folder, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const key = (day: number, n = 0): string => keys[day]?.[n] ?? "";

function flip(file: string, at = 10): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

function swap(a: string, b: string): void {
  renameSync(a, `${a}.tmp`);
  renameSync(b, a);
  renameSync(`${a}.tmp`, b);
}

/** Signs what a manifest says, changed, with another key. */
async function signAgain(file: string, byte: number, keyId?: string): Promise<void> {
  const split = splitManifest(new Uint8Array(readFileSync(file)));
  const manifest = JSON.parse(new TextDecoder().decode(split?.signed));
  manifest.objects.pop();
  const text = new TextDecoder().decode(await encodeManifest(manifest, await signerWith(byte)));
  writeFileSync(file, keyId === undefined ? text : text.replace(/"key_id":"\w+"/, `"key_id":"${keyId}"`));
}

describe("an honest archive", () => {
  it("is as it was delivered: late objects, one sent elsewhere, a day that is not over", async () => {
    const { said, ...sum } = await verify(honest.folder, { until: "20261124" });
    expect(said).toEqual([]);
    expect(sum).toMatchObject({ objects: 21, records: 105, manifests: 11, open: 1, before: 0, expired: 0 });
    expect(sum.heads.map(({ job, openFrom }) => [job, openFrom])).toEqual([
      [3, "20261125"],
      [4, "20261125"],
    ]);
  });

  it("is so from any folder above and within, and beside what is not its own", async () => {
    expect((await verify(join(honest.folder, "logs"))).said).toEqual([]);
    const { said } = await changed((at) => {
      writeFileSync(at("notes.txt"), "");
      writeFileSync(at("logs/00010101/ownership-challenge-0123abcd.txt"), "");
      writeFileSync(at("logs/00010101/x.canary.gz"), "");
      writeFileSync(at("logs/00010101/x.parquet.canary"), "");
    });
    expect(said).toEqual([]);
    const { said: nothing, before } = await changed((at) => {
      mkdirSync(at("logs/20200101"));
      writeFileSync(at("logs/20200101/20200101T130000Z_20200101T130000Z_00000000.log.gz"), "");
    });
    expect([nothing, before]).toEqual([[], 1]);
  });

  it("is covered up to any day by a job that was deleted, and files of later days are added", async () => {
    const lasting = new ArchivedJob();
    const deleted = new ArchivedJob({ id: 4, folder: lasting.folder });
    deleted.deliver(0);
    await deleted.list(1);
    deleted.deliver(1);
    deleted.delete(1);
    const ahead = deleted.deliver(2);
    await deleted.list(2);
    for (let day = 0; day < 4; day++) {
      lasting.deliver(day);
      await lasting.list(day + 1);
    }
    const options = { nowMs: START + 4 * DAY_MS, until: "20261123" };
    expect(await verify(lasting.folder, options)).toMatchObject({ said: [], open: 1 });
    await deleted.list(3);
    await deleted.list(4);
    const added = ahead.replace(/\/20261122.*/, "/20261123/20261123T120000Z_20261123T120001Z_00000000.log.gz");
    writeFileSync(join(lasting.folder, added), "");
    const { said } = await verify(lasting.folder, options);
    rmSync(lasting.folder, { recursive: true });
    expect(said).toEqual([expect.stringContaining(`${added}: in no manifest`)]);
  });

  it("may have roots that lie in one another", async () => {
    const all = new ArchivedJob({ path: "{DATE}" });
    const jobs = [
      all,
      new ArchivedJob({ id: 4, folder: all.folder }),
      new ArchivedJob({ id: 5, folder: all.folder, path: "logs/deep/{DATE}" }),
    ];
    for (const job of jobs) {
      job.deliver(0);
      await job.list(1);
      job.deliver(1);
    }
    const { said, open } = await verify(all.folder, { nowMs: START + 1.5 * DAY_MS });
    rmSync(all.folder, { recursive: true });
    expect([said, open]).toEqual([[], 3]);
  });

  it("may have lost what has expired, and nothing else", async () => {
    const expire = (at: (path: string) => string) => {
      for (const day of [0, 1]) {
        rmSync(at(`logs/2026112${day}`), { recursive: true });
        for (const job of [3, 4]) rmSync(at(`logs/_logship/${job}/2026112${day}.1.json`));
      }
    };
    expect(await changed(expire, { expiredBefore: "20261122" })).toMatchObject({ said: [], expired: 1 });
    expect((await changed(expire, { expiredBefore: "20261121" })).said).toContainEqual(
      expect.stringMatching(/_logship\/3\/20261121\.1\.json: missing/),
    );
    const more = (at: (path: string) => string) => {
      expire(at);
      rmSync(at(key(2)));
    };
    expect((await changed(more, { expiredBefore: "20261122" })).said).toEqual([`${key(2)}: missing`]);
  });
});

it("npm run verify says so, with the key in a file or in its arguments", async (context) => {
  const { publicKey } = await signerWith(1);
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, "tools/verify.ts"), ...args], {
      encoding: "utf8",
    });
    return { status, out: stdout, err: stderr };
  };
  const pem = join(honest.folder, "key.pem");
  writeFileSync(pem, `-----BEGIN PUBLIC KEY-----\n${publicKey.text}\n-----END PUBLIC KEY-----\n`);
  const fine = run(honest.folder, "--key", pem);
  expect(fine.out).toContain("21 objects as delivered, 105 records");
  expect(fine).toMatchObject({ status: 0, err: "" });
  const head = "0".repeat(64);
  const wrong = run(honest.folder, "--key", (await signerWith(2)).publicKey.text, "--head", head);
  expect(wrong.out).toContain("logs/_logship/3/20261121.1.json: it is signed with a key that was not given");
  expect(wrong.out).toContain(`the manifest with the SHA-256 ${head}: missing`);
  expect(wrong.status).toBe(1);
  expect(run(honest.folder)).toMatchObject({ status: 2, err: expect.stringContaining("usage:") });
  const gone = join(honest.folder, "gone.pem");
  expect(run(honest.folder, "--key", gone)).toMatchObject({ status: 2, err: `--key: there is no file ${gone}\n` });
  // In a few lines, without this project: docs/reading.md.
  const manifest = join(honest.folder, MANIFESTS, "20261121.1.json");
  const shell = `sed -n 2p ${manifest} > body
    sed -n 's/.*"signature":"\\([^"]*\\)".*/\\1/p' ${manifest} | base64 -d > signature
    openssl pkeyutl -verify -pubin -inkey ${pem} -rawin -in body -sigfile signature`;
  // Others, such as LibreSSL, know no -rawin.
  const { stdout: version } = spawnSync("openssl", ["version"], { encoding: "utf8" });
  if (!/^OpenSSL [3-9]/.test(version ?? "")) context.skip("there is no OpenSSL 3 here, and others do not know -rawin");
  const openssl = spawnSync("sh", ["-c", shell], { cwd: mkdtempSync(join(tmpdir(), "openssl-")), encoding: "utf8" });
  expect(openssl).toMatchObject({ status: 0, stdout: expect.stringContaining("Verified Successfully") });
});

it("says which manifest is not the one after which the next was written", () => {
  const link = (position: number, sha256: string, previous: string | null): Link => ({
    ...{ file: `${position}`, base: "", job: 1, name: `2026112${position}.1.json`, sha256, root: "", path: "" },
    chain: { id: "c", position, previous: previous === null ? null : { name: "20261120.1.json", sha256: previous } },
    ...{ openFrom: "", coversFrom: "", deleted: null, written: "", deliveries: [], counts: {} },
  });
  const options = { expiredBefore: null, broken: new Set<string>() };
  expect(chainFindings([link(1, "a", null), link(2, "b", "a")], options)).toEqual([]);
  expect(chainFindings([link(1, "a", null), link(2, "b", "x")], options)).toEqual([
    { what: "1", why: "it is not the manifest after which 20261122.1.json was written" },
  ]);
});

it("finds a day removed before a late manifest of a day that has expired", async () => {
  const job = new ArchivedJob();
  const delivered: string[] = [];
  for (let day = 0; day < 6; day++) {
    delivered.push(job.deliver(day));
    if (day === 4) job.deliver(0);
    await job.list(day + 1);
  }
  const options = { nowMs: job.nowMs, expiredBefore: "20261121" };
  for (const gone of ["logs/20261120", `${MANIFESTS}/20261120.1.json`, `${MANIFESTS}/20261120.2.json`])
    rmSync(join(job.folder, gone), { recursive: true });
  const honestly = await verify(job.folder, options);
  for (const gone of [delivered[3] ?? "", `${MANIFESTS}/20261123.1.json`]) rmSync(join(job.folder, gone));
  const { said } = await verify(job.folder, options);
  rmSync(job.folder, { recursive: true });
  expect(honestly.said).toEqual([]);
  expect(said).toEqual([`${MANIFESTS}/20261123.1.json: missing: its day has no manifest`]);
});

it("finds an object added to a day before another job began below the same root", async () => {
  const older = new ArchivedJob();
  const younger = new ArchivedJob({ id: 4, folder: older.folder });
  const first = older.deliver(0);
  for (let day = 1; day < 41; day++) await older.list(day);
  younger.deliver(40);
  await younger.list(41);
  const added = first.replace(/\w{8}\.log\.gz$/, "00000000.log.gz");
  writeFileSync(join(older.folder, added), "");
  const { said } = await verify(older.folder, { nowMs: START + 41 * DAY_MS });
  rmSync(older.folder, { recursive: true });
  expect(said).toEqual([expect.stringContaining(`${added}: in no manifest`)]);
});

describe("records of another path, with their manifests", () => {
  /** An archive of two jobs, `logs` and another root, after a change. */
  async function mixed(path: string, change: (at: (path: string) => string) => unknown, below = "", prefix?: string) {
    const own = new ArchivedJob();
    const other = new ArchivedJob({ id: 9, folder: own.folder, path });
    for (const job of [own, other]) {
      job.deliver(0);
      await job.list(1);
    }
    await change((at) => join(own.folder, at));
    const said: string[] = [];
    const options = { expiredBefore: null, until: null, heads: [], nowMs: START + DAY_MS, salt: new Uint8Array() };
    const archive = folderArchive(join(own.folder, below));
    await verifyArchive(
      prefix === undefined ? archive : { ...archive, prefix },
      { ...options, keys: [(await signerWith(1)).publicKey] },
      ({ what, why }) => said.push(`${what}: ${why}`),
    );
    rmSync(own.folder, { recursive: true });
    return said;
  }
  const STAGING = /^logs\/_logship\/9: manifests of another place, staging,/;
  const copy = (from: string, to: string) => (at: (path: string) => string) =>
    cpSync(at(from), at(to), { recursive: true });
  const move = (from: string, to: string) => (at: (path: string) => string) => {
    rmSync(at(to), { recursive: true, force: true });
    renameSync(at(from), at(to));
  };

  it.each([
    ["copied into a job's folder", "staging/{DATE}", copy("staging", "logs"), "", undefined, [STAGING]],
    ["moved into its place", "staging/{DATE}", move("staging", "logs"), "", undefined, [STAGING]],
    ["copied into a bucket's folder", "staging/{DATE}", copy("staging", "logs"), "", "", [STAGING]],
    ["of a deeper folder", "a/staging/{DATE}", copy("a/staging", "logs"), "", undefined, [/^logs\/_logship\/9/]],
    [
      "one folder deeper",
      "staging/{DATE}",
      copy("staging", "logs/staging"),
      "",
      undefined,
      [/^logs\/staging\/_logship/],
    ],
    ["in a folder of their own", "staging/{DATE}", copy("staging", "more"), "", undefined, [/^more\/_logship\/9/]],
    ["in that folder of a bucket alone", "staging/{DATE}", move("staging", "logs"), "logs", "logs", [/^_logship\/9/]],
    [
      "of the bucket's root",
      "{DATE}",
      copy("_logship", "logs/_logship"),
      "",
      "",
      [/logs\/_logship\/9/, /^logs/, /missing/],
    ],
    [
      "copied there, from within",
      "staging/{DATE}",
      copy("staging", "logs"),
      "logs",
      undefined,
      [/ logs,/, / staging,/],
    ],
  ] as const)("%s are found", async (_what, path, change, below, prefix, expected) => {
    const said = await mixed(path, change, below, prefix);
    expect(said).toHaveLength(expected.length);
    for (const each of expected) expect(said).toContainEqual(expect.stringMatching(each));
  });

  it.each([
    ["beside it", "staging/{DATE}", () => {}, "", undefined],
    ["as a folder of a bucket", "staging/{DATE}", () => {}, "", ""],
    ["of a bucket, from within", "logs/more/{DATE}", () => {}, "logs", "logs"],
    ["in a copy of all of it", "staging/{DATE}", copy("staging", "backup/staging"), "", undefined],
    ["in a copy in another bucket", "staging/{DATE}", () => {}, "", "backup/2026"],
  ] as const)("stand as they should: %s", async (_what, path, change, below, prefix) => {
    expect(await mixed(path, change, below, prefix)).toEqual([]);
  });
});

describe("found and named:", () => {
  const CASES: readonly [
    what: string,
    change: (at: (path: string) => string) => unknown,
    said: () => readonly (string | RegExp)[],
    options?: Partial<VerifyOptions>,
  ][] = [
    ["a byte of an object flipped", (at) => flip(at(key(1))), () => [`${key(1)}: altered`]],
    ["an object removed", (at) => rmSync(at(key(1))), () => [`${key(1)}: missing`]],
    [
      "an object added",
      (at) => copyFileSync(at(key(1)), at("logs/20261121/20261121T120000Z_20261121T120001Z_00000000.log.gz")),
      () => [/^logs\/20261121\/\S+_00000000\.log\.gz: in no manifest/],
    ],
    [
      "an object added under another name",
      (at) => writeFileSync(at("logs/20261121/more.log.gz"), ""),
      () => [/more\.log\.gz: in no manifest/],
    ],
    [
      "an object added to a day that is over, named as one of today",
      (at) => writeFileSync(at("logs/20261121/20261125T130000Z_20261125T130000Z_00000000.log.gz"), ""),
      () => [/20261121\/20261125T130000Z.*: in no manifest/],
    ],
    [
      "an object added to a day that is listed, named as one from before all manifests",
      (at) => writeFileSync(at("logs/20261121/20200101T130000Z_20200101T130000Z_00000000.log.gz"), ""),
      () => [/20261121\/20200101T130000Z.*: in no manifest/],
    ],
    [
      "an object renamed",
      (at) => renameSync(at(key(1)), at(key(1).replace(/\w{8}\.log/, "00000000.log"))),
      () => [`${key(1)}: missing`, new RegExp(`_00000000.log.gz: in no manifest; it has the bytes of ${key(1)}`)],
    ],
    [
      "an object swapped with another day's",
      (at) => swap(at(key(1)), at(key(2))),
      () => [`${key(1)}: altered; it has the bytes of ${key(2)}`, `${key(2)}: altered; it has the bytes of ${key(1)}`],
    ],
    [
      "an object truncated",
      (at) => truncateSync(at(key(1)), 10),
      () => [`${key(1)}: altered: it has 10 bytes instead of 64`],
    ],
    [
      "a manifest edited",
      (at) => flip(at(`${MANIFESTS}/20261121.1.json`), 200),
      () => [/20261121\.1\.json: its signature does not fit/, /^3 files of 20261121: in no manifest that can be read/],
    ],
    [
      "a manifest cut off",
      (at) => truncateSync(at(`${MANIFESTS}/20261121.1.json`), 300),
      () => [/20261121\.1\.json: it is not a manifest any more/, /^3 files of 20261121/],
    ],
    [
      "a manifest signed again with another key",
      (at) => signAgain(at(`${MANIFESTS}/20261121.1.json`), 9),
      () => [/20261121\.1\.json: it is signed with a key that was not given: [0-9a-f]{16}/, /^3 files of 20261121/],
    ],
    [
      "a manifest signed again with another key, in the name of the right one",
      async (at) => signAgain(at(`${MANIFESTS}/20261121.1.json`), 9, (await signerWith(1)).publicKey.id),
      () => [/20261121\.1\.json: its signature does not fit/, /^3 files of 20261121/],
    ],
    [
      "a manifest removed",
      (at) => rmSync(at(`${MANIFESTS}/20261121.1.json`)),
      () => [
        /20261121\.1\.json: missing: written before 20261120\.2\.json, after 20261120\.1\.json/,
        /^3 files of 20261121/,
      ],
    ],
    [
      "a day removed, with its manifest",
      (at) => {
        rmSync(at("logs/20261122"), { recursive: true });
        for (const job of [3, 4]) rmSync(at(`logs/_logship/${job}/20261122.1.json`));
      },
      () => [/3\/20261122\.1\.json: missing: written before/, /4\/20261122\.1\.json: missing: written before/],
    ],
    [
      "the first day removed, with its manifest",
      (at) => {
        for (const job of [3, 4]) rmSync(at(`logs/_logship/${job}/20261120.1.json`));
        for (const name of readdirSync(at("logs/20261120")))
          if (!key(0, 3).endsWith(name)) rmSync(at(`logs/20261120/${name}`));
      },
      () => [/3\/20261120\.1\.json: missing: written before/, /4\/20261120\.1\.json: missing: written before/],
    ],
    [
      "the last day removed, with its manifest, where one is said to be there",
      (at) => {
        rmSync(at("logs/20261124"), { recursive: true });
        for (const job of [3, 4]) rmSync(at(`logs/_logship/${job}/20261124.1.json`));
      },
      () => [
        /it is the newest of job 3: manifests of 20261124 to 20261124 are missing/,
        /it is the newest of job 4: manifests of 20261124 to 20261124 are missing/,
      ],
      { until: "20261124" },
    ],
    [
      "the newest manifest removed, whose hash is known",
      (at) => {
        rmSync(at("logs/20261124"), { recursive: true });
        rmSync(at(`${MANIFESTS}/20261124.1.json`));
        rmSync(at("logs/_logship/4/20261124.1.json"));
      },
      () => [`the manifest with the SHA-256 ${"0".repeat(64)}: missing`],
      { heads: ["0".repeat(64)] },
    ],
    [
      "the chain reordered",
      (at) => swap(at(`${MANIFESTS}/20261121.1.json`), at(`${MANIFESTS}/20261122.1.json`)),
      () => [
        /20261121\.1\.json: it is the manifest 20261122\.1\.json of job 3/,
        /20261122\.1\.json: it is the manifest 20261121\.1\.json of job 3/,
      ],
    ],
    [
      "a manifest of another job",
      (at) => copyFileSync(at("logs/_logship/4/20261121.1.json"), at(`${MANIFESTS}/20261121.2.json`)),
      () => [/3\/20261121\.2\.json: it is the manifest 20261121\.1\.json of job 4/],
    ],
    [
      "a manifest of another job in place of the right one",
      (at) => copyFileSync(at("logs/_logship/4/20261121.1.json"), at(`${MANIFESTS}/20261121.1.json`)),
      () => [
        /3\/20261121\.1\.json: it is the manifest 20261121\.1\.json of job 4/,
        /3\/20261121\.1\.json: missing: written before/,
        /^3 files of 20261121/,
      ],
    ],
    [
      "an old manifest beside the others, under another number",
      (at) => copyFileSync(at(`${MANIFESTS}/20261121.1.json`), at(`${MANIFESTS}/20261121.7.json`)),
      () => [/20261121\.7\.json: it is the manifest 20261121\.1\.json of job 3/],
    ],
    [
      "all manifests removed",
      (at) => rmSync(at("logs/_logship"), { recursive: true }),
      () => ["_logship: there is no manifest: nothing is proven"],
    ],
    [
      "an object added, named as a canary is not",
      (at) => writeFileSync(at("logs/20261121/x.canary.parquet"), ""),
      () => [/x\.canary\.parquet: in no manifest/],
    ],
    [
      "a link to another object added",
      (at) => symlinkSync(at(key(1)), at("logs/20261121/more.log.gz")),
      () => [/more\.log\.gz: in no manifest/],
    ],
    [
      "all of it copied below itself",
      (at) => {
        cpSync(at("logs"), at("copy"), { recursive: true });
        renameSync(at("copy"), at("logs/20261121/copy"));
      },
      () => [3, 4].map((job) => new RegExp(`logs/20261121/copy/_logship/${job}: manifests of another place, logs,`)),
    ],
    [
      "another file among the manifests",
      (at) => writeFileSync(at(`${MANIFESTS}/20261121.2.json.bak`), ""),
      () => [/20261121\.2\.json\.bak: in no manifest/],
    ],
  ];
  it.each(CASES)("%s", async (_what, change, expected, options) => {
    const { said } = await changed(change, options);
    expect(said).toEqual(expected().map((each) => (typeof each === "string" ? each : expect.stringMatching(each))));
  });
});
