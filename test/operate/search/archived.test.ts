/**
 * Sketches through the life of objects: words, groups, files in the bucket; and searches over days
 * that have left the lists of the readers. None hides a hit, whatever becomes of a file.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { readConfig } from "../../../src/config.ts";
import { SKETCH_PATH } from "../../../src/formats/manifest/place.ts";
import { markOf } from "../../../src/formats/sketch/group.ts";
import { type SketchStore, sketchesOf } from "../../../src/formats/sketch/sketch-store.ts";
import { listArchived } from "../../../src/operate/search/archived.ts";
import { openDestination } from "../../../src/ship/destinations/kinds.ts";
import { parseDestination } from "../../../src/ship/destinations/parse.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { createApp } from "../../../src/web/app.ts";
import { listed, manifestsIn, signerWith, signWith, verified } from "../../ship/reader/manifest-world.ts";
import { Random } from "../../soak/random.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob, destinationConf } from "../../support/runtime/api.ts";
import { deliver, freshBucket, jobObjects, NOON, pack, setClock, settle } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { readAnswer, type SearchAnswer } from "./searched.ts";

afterEach(() => void vi.restoreAllMocks());

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SIGNING_KEY = btoa(String.fromCharCode(...new Uint8Array(32).fill(1)));

/** A service that signs, asked as over HTTP. */
async function ask(question: object): Promise<SearchAnswer> {
  const app = createApp(platform);
  const url = `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/search`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(question) };
  return readAnswer(await app.request(url, init, { ...env, SIGNING_KEY } as unknown as Env));
}

async function askAll(question: object): Promise<{ pages: SearchAnswer[]; scripts: string[]; why: string }> {
  const pages: SearchAnswer[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: SearchAnswer = await ask({ ...question, ...(cursor !== null && { cursor }) });
    pages.push(page);
    cursor = page.end.cursor;
    if (cursor === null) break;
  }
  const scripts = pages.flatMap(({ hits }) => hits.map(({ record }) => String(record.ScriptName)));
  return { pages, scripts, why: JSON.stringify(pages.flatMap(({ end }) => end.not_searched)) };
}

const byScript = (value: string): string => JSON.stringify({ where: { key: "ScriptName", operator: "eq", value } });

async function archive() {
  signWith(1);
  const clock = setClock(NOON);
  const { name, control } = freshBucket();
  const job = await createJob(name);
  const oracle = new Oracle({ at: NOON });
  const reader = () => nodeAt(env.READERS, job, 0);
  const cron = async (): Promise<void> => {
    await reader().drive("scheduled", 10_000);
    await listed(job);
  };
  return {
    ...{ clock, control, job, cron, bucket: name },
    /** An object whose records have this word. */
    async ship(scriptName: string, at = clock.nowMs()): Promise<void> {
      await deliver(pack(oracle.mint(2, { at, scriptName }), clock.nowMs()));
      await settle(job, clock);
    },
    async nextDay(): Promise<void> {
      clock.advance(Math.ceil(clock.nowMs() / DAY_MS) * DAY_MS - clock.nowMs() + HOUR_MS);
      await cron();
    },
    store: (day = 0) => sketchesOf(env.SKETCHES, job, 0, Math.floor(NOON / DAY_MS) + day),
    files: async () => (await control.contents()).filter(({ key }) => SKETCH_PATH.test(key)),
    question: (scriptName: string, more: object = {}) => ({
      since: new Date(NOON - DAY_MS).toISOString(),
      until: new Date(clock.nowMs() + DAY_MS).toISOString(),
      filter: byScript(scriptName),
      limit: 1_000,
      ...more,
    }),
  };
}

/** A job of this bucket, as searches list it. */
function searchedJob(id: number, bucket: Parameters<typeof destinationConf>[0]) {
  const config = readConfig(env);
  if (!config.ok) throw new Error(config.faults.join("; "));
  const to = parseDestination(destinationConf(bucket), config.config.destinations);
  if (!to.ok) throw new Error(to.why);
  return { id, store: openDestination(to.value, platform), root: "logs", createdMs: NOON };
}

const groupsOf = (store: DurableObjectStub<SketchStore>) =>
  runInDurableObject(store, (_store, { storage }) =>
    storage.sql
      .exec<{ key: string | null; rows: number }>(
        "SELECT key, (SELECT count(*) FROM group_bytes) AS rows FROM object_group",
      )
      .toArray(),
  );

describe("sketches of a day that is over", () => {
  it("are in the bucket, named in its manifest, and searched there", async () => {
    const { ship, nextDay, store, files, question, control, clock, job } = await archive();
    for (const name of ["alpha", "beta", "gamma"]) await ship(name);
    await nextDay();
    const [file] = await files();
    expect(file?.key).toMatch(new RegExp(`^logs/_logship/${job}/sketch/21001120\\.0\\.[0-9a-f]{16}\\.sketch$`));
    const [manifest] = await manifestsIn(control);
    const objects = await jobObjects(job);
    expect(manifest?.sketches).toMatchObject([{ key: file?.key, bytes: file?.bytes.length, objects: 3 }]);
    expect(await groupsOf(store())).toEqual([{ key: file?.key, rows: 0 }]);
    const found = await askAll(question("beta"));
    expect(found.scripts).toEqual(["beta", "beta"]);
    expect(found.pages.at(-1)?.progress.at(-1)).toMatchObject({ objects: 3, read: 1, skipped: 2 });
    expect(found.pages.at(-1)?.end).toMatchObject({ complete: true, not_searched: [] });
    expect(await verified(control, clock.nowMs())).toMatchObject({
      said: [],
      objects: 3,
      sketches: 1,
      lostSketches: 0,
    });
    expect(objects).toHaveLength(3);
  });

  it("are written once, though the log died between sketch and manifest, and again for what comes late", async () => {
    const { ship, nextDay, cron, files, control, clock, question } = await archive();
    await ship("alpha");
    await control.script([rule({ do: "reset", when: "after" }, { method: "PUT", keyIncludes: "/sketch/" }, 1)]);
    await nextDay();
    expect(await manifestsIn(control)).toEqual([]);
    for (let turn = 0; turn < 3; turn++) {
      clock.advance(HOUR_MS);
      await cron();
    }
    expect((await manifestsIn(control)).map(({ sketches }) => sketches?.length)).toEqual([1]);
    await ship("late", NOON);
    clock.advance(HOUR_MS);
    await cron();
    expect((await manifestsIn(control)).map(({ number, sketches }) => [number, sketches?.length])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(await files()).toHaveLength(2);
    const twice = (await control.puts()).filter(({ key, version }) => key.includes("/sketch/") && version > 1);
    expect(twice).toEqual([]);
    expect(await verified(control, clock.nowMs())).toMatchObject({ said: [], sketches: 2 });
    for (const name of ["alpha", "late"]) expect((await askAll(question(name))).scripts).toEqual([name, name]);
  });

  it("do not hold up a manifest for what another object stands in the way of", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const { ship, nextDay, control, store, question } = await archive();
    await ship("alpha");
    await control.script([
      rule({ do: "answer", status: 413, code: "EntityTooLarge" }, { method: "PUT", keyIncludes: "/sketch/" }),
    ]);
    await nextDay();
    expect((await manifestsIn(control)).map(({ sketches }) => sketches)).toEqual([undefined]);
    expect(JSON.stringify(warn.mock.calls)).toContain("a sketch stays where it is");
    expect(await groupsOf(store())).toEqual([{ key: null, rows: 1 }]);
    expect((await askAll(question("alpha"))).scripts).toHaveLength(2);
    expect((await askAll(question("beta"))).pages[0]?.progress.at(-1)).toMatchObject({ read: 0, skipped: 1 });
  });

  const DAMAGES = {
    "was removed": { do: "answer", status: 404, code: "NoSuchKey" },
    "has other bytes": { do: "answer", status: 200, body: "x".repeat(500) },
    "is refused": { do: "answer", status: 403, code: "AccessDenied" },
    "does not come": { do: "reset", when: "before" },
  } as const;
  it.each(Object.entries(DAMAGES))("make a search read what they know, where their file %s", async (_what, action) => {
    const { ship, nextDay, control, question, clock, cron } = await archive();
    for (const name of ["alpha", "beta"]) await ship(name);
    await nextDay();
    await control.script([rule(action, { method: "GET", keyIncludes: "/sketch/" })]);
    for (let old = 0; old < 2; old++) {
      const found = await askAll(question("beta"));
      expect(found.scripts).toEqual(["beta", "beta"]);
      expect(found.pages.at(-1)?.progress.at(-1)).toMatchObject({ objects: 2, read: 2, skipped: 0 });
      expect(found.pages.at(-1)?.end.complete).toBe(true);
      // By the manifests alone.
      clock.advance(31 * DAY_MS);
      await cron();
    }
  });
});

describe("objects that have left the list", () => {
  it("are found by the manifests in the bucket, a word by one read of their sketch", async () => {
    const { ship, nextDay, cron, clock, question, job } = await archive();
    for (const name of ["alpha", "beta", "gamma"]) await ship(name);
    await nextDay();
    await ship("delta");
    await nextDay();
    for (const days of [60, 1]) {
      clock.advance(days * DAY_MS);
      await cron();
    }
    expect(await jobObjects(job)).toEqual([]);
    for (const order of ["newest", "oldest"] as const) {
      const found = await askAll(question("beta", { order }));
      expect(found.scripts).toEqual(["beta", "beta"]);
      expect(found.pages.at(-1)?.progress.at(-1)).toMatchObject({ objects: 4, read: 1, skipped: 3 });
      expect(found.pages.at(-1)?.end).toMatchObject({ complete: true, not_searched: [] });
      const all = await askAll({ ...question("", { order, limit: 3 }), filter: "" });
      const names = ["alpha", "alpha", "beta", "beta", "gamma", "gamma", "delta", "delta"];
      expect(all.scripts).toEqual(order === "oldest" ? names : names.toReversed());
      expect(all.pages.length).toBeGreaterThan(1);
    }
    const estimate = await createApp(platform).request(
      `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/search`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ ...question("beta"), dry_run: true }),
      },
      { ...env, SIGNING_KEY } as unknown as Env,
    );
    expect(((await estimate.json()) as { result: object }).result).toMatchObject({
      ...{ objects: 4, skipped: 3, records: 2, not_searched: [] },
      sketch_bytes: expect.any(Number),
    });
  });

  it("are listed day by day, and none is left out between two lists", async () => {
    const { ship, nextDay, cron, clock, job, bucket } = await archive();
    for (const name of ["alpha", "beta", "gamma"]) {
      await ship(name);
      await nextDay();
    }
    for (const days of [60, 1]) {
      clock.advance(days * DAY_MS);
      await cron();
    }
    const searched = searchedJob(job, bucket);
    const { publicKey } = await signerWith(1);
    const keys = new Map([[publicKey.id, publicKey]]);
    for (const order of ["newest", "oldest"] as const) {
      const stamps: string[][] = [];
      let span = { sinceMs: NOON - DAY_MS, untilMs: NOON + 9 * DAY_MS };
      for (let listed: number | null = 0; listed !== null && stamps.length < 9; ) {
        const archive = { keys, listedFromMs: clock.nowMs() - 30 * DAY_MS };
        const list = await listArchived(env, [searched], { ...span, order, without: [] }, archive, 1);
        expect(list.notSearched).toEqual([]);
        stamps.push(list.found.map(({ object }) => object.key.slice(5, 13)));
        listed = list.listedToMs;
        if (listed !== null)
          span = order === "newest" ? { ...span, untilMs: listed + 1 } : { ...span, sinceMs: listed };
      }
      const days = [["21001120"], ["21001121"], ["21001122"]];
      expect(stamps.filter(({ length }) => length > 0)).toEqual(order === "oldest" ? days : days.toReversed());
    }
  });

  it("are listed in parts of a day that has more of them than a page", async () => {
    const { ship, nextDay, cron, clock, job, bucket } = await archive();
    for (let i = 0; i < 5; i++) {
      await ship("alpha");
      clock.advance(60_000);
    }
    for (const days of [0, 60, 1]) {
      clock.advance(days * DAY_MS);
      if (days === 0) await nextDay();
      else await cron();
    }
    const searched = searchedJob(job, bucket);
    const { publicKey } = await signerWith(1);
    const by = { keys: new Map([[publicKey.id, publicKey]]), listedFromMs: clock.nowMs() - 30 * DAY_MS };
    for (const order of ["newest", "oldest"] as const) {
      const seen = new Set<string>();
      let span = { sinceMs: NOON - DAY_MS, untilMs: NOON + 9 * DAY_MS };
      for (let listed: number | null = 0, page = 0; listed !== null && page < 9; page++) {
        const without = [...seen].map((batch) => [job, 0, Number(batch)] as const);
        const list = await listArchived(env, [searched], { ...span, order, without }, by, 2);
        expect(list.found.length).toBeLessThanOrEqual(2);
        for (const { object } of list.found) seen.add(String(object.batch));
        listed = list.listedToMs;
        if (listed !== null)
          span = order === "newest" ? { ...span, untilMs: listed + 1 } : { ...span, sinceMs: listed };
      }
      expect(seen.size).toBe(5);
    }
  });

  it("are named where a manifest is gone, edited, or of another key", async () => {
    const { ship, nextDay, cron, clock, question, control, job } = await archive();
    await ship("alpha");
    await nextDay();
    await ship("beta");
    await nextDay();
    clock.advance(40 * DAY_MS);
    await cron();
    const key = `logs/_logship/${job}/21001120.1.json`;
    const edited = new TextDecoder().decode(await control.object(key)).replace('"records":2', '"records":3');
    const rules = [
      ["cannot be read (HTTP 404 NoSuchKey)", { do: "answer", status: 404, code: "NoSuchKey" }],
      ["is not as it was signed", { do: "answer", status: 200, body: '{"manifest":\n{}\n' }],
      ["is not as it was signed", { do: "answer", status: 200, body: edited }],
    ] as const;
    for (const [why, action] of rules) {
      await control.script([rule(action, { method: "GET", keyIncludes: "21001120.1.json" })]);
      const found = await askAll(question("beta"));
      expect(found.scripts).toEqual(["beta", "beta"]);
      expect(found.why).toContain(`"manifest 21001120.1.json of job ${job}"`);
      expect(found.why).toContain(`"${why}: what it lists is listed nowhere else"`);
      expect(found.pages.at(-1)?.end.complete).toBe(false);
    }
    await control.script([]);
    signWith(2);
    vi.spyOn(platform, "now").mockReturnValue(clock.nowMs());
    expect((await askAll(question("beta"))).scripts).toEqual(["beta", "beta"]);
  });

  it("are named where they are gone, and where the job ships elsewhere now", async () => {
    const { ship, nextDay, cron, clock, question, control, job } = await archive();
    await ship("alpha");
    await nextDay();
    clock.advance(40 * DAY_MS);
    await cron();
    await control.script([
      rule({ do: "answer", status: 404, code: "NoSuchKey" }, { method: "GET", keyIncludes: ".log.gz" }),
    ]);
    const gone = await askAll(question("alpha"));
    expect([gone.scripts, gone.pages.at(-1)?.end.complete]).toEqual([[], false]);
    expect(gone.why).toContain("it is not there (HTTP 404 NoSuchKey)");
    await control.script([]);
    const other = freshBucket();
    await api("PUT", `/logship/jobs/${job}`, { destination_conf: destinationConf(other.name) });
    await cron();
    const moved = await askAll(question("alpha"));
    expect([moved.scripts, moved.pages.at(-1)?.end.complete]).toEqual([[], false]);
    expect(moved.why).toMatch(new RegExp(`"13 manifests of job ${job} \\(.*","why":"cannot be read \\(`));
    expect(moved.why).toContain('"21001120.1.json"');
  });
});

describe("no sketch of any level hides a hit", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "while objects are added, grouped, moved and expire, and files are lost: course %i",
    async (seed) => {
      const random = new Random(seed);
      const world = await archive();
      const { ship, nextDay, cron, clock, control, store, question, files } = world;
      // Of a job that has never read anything, there are no manifests.
      await ship("word0");
      const shipped = ["word0", "word0"];
      const lost = new Set<string>();
      for (let step = 0; step < 12; step++) {
        const deed = random.pick(["ship", "ship", "ship", "group", "day", "spoil", "expire"] as const);
        const today = Math.floor(clock.nowMs() / DAY_MS) - Math.floor(NOON / DAY_MS);
        if (deed === "ship") {
          const name = `word${random.int(0, 6)}`;
          await ship(name);
          shipped.push(name, name);
        } else if (deed === "group") await store(today).seal();
        else if (deed === "day") await nextDay();
        else if (deed === "expire") {
          clock.advance(16 * DAY_MS);
          await cron();
        } else {
          const all = (await files()).map(({ key }) => key).filter((key) => !lost.has(key));
          if (all.length > 0) lost.add(random.pick(all));
          await control.script(
            [...lost].map((key) =>
              rule({ do: "answer", status: 200, body: "another" }, { method: "GET", keyIncludes: key }),
            ),
          );
        }
        const name = `word${random.int(0, 6)}`;
        const order = random.pick(["newest", "oldest"] as const);
        const found = await askAll(question(name, { order, limit: random.pick([3, 1_000]) }));
        expect([name, found.why, found.scripts.length]).toEqual([
          name,
          "[]",
          shipped.filter((each) => each === name).length,
        ]);
      }
    },
  );

  it("when a batch is cut anew with other bytes: its mark is another one", () => {
    expect(markOf({ sha256: "ab".repeat(32) })).toBe("ab".repeat(8));
  });
});
