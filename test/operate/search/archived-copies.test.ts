/** Records of several jobs whose objects have left the list: each is one, by manifests alone. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { platform } from "../../../src/base/platform.ts";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { createApp } from "../../../src/web/app.ts";
import { listed, signWith } from "../../ship/reader/manifest-world.ts";
import { ACCOUNT, ADMIN_TOKEN } from "../../support/constants.ts";
import { Oracle } from "../../support/oracle.ts";
import { createJob } from "../../support/runtime/api.ts";
import {
  deliver,
  freshBucket,
  jobObjects,
  NOON,
  pack,
  readAll,
  setClock,
  settle,
} from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { type CountAnswer, readCount } from "./counted.ts";
import { type HitLine, readAnswer, type SearchAnswer } from "./searched.ts";

afterEach(() => void vi.restoreAllMocks());

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SIGNING_KEY = btoa(String.fromCharCode(...new Uint8Array(32).fill(1)));

/** A service that signs, asked as over HTTP. */
async function ask(question: object): Promise<Response> {
  const url = `http://logship.test/client/v4/accounts/${ACCOUNT}/logship/search`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(question) };
  return createApp(platform).request(url, init, { ...env, SIGNING_KEY } as unknown as Env);
}

/** The broadest first. */
const KINDS = [
  { output_options: { field_names: ["EventTimestampMs", "Outcome", "Logs"] } },
  { output_options: { field_names: ["EventTimestampMs", "Outcome", "Logs"], sample_rate: 0.5 } },
  { filter: '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}' },
];

/** Two days of records, of which each job has its own, long ago. */
async function archive() {
  signWith(1);
  const clock = setClock(NOON);
  const buckets = KINDS.map(() => freshBucket());
  const jobs: number[] = [];
  for (const [i, kind] of KINDS.entries()) jobs.push(await createJob(buckets[i]?.name ?? "", kind));
  const oracle = new Oracle({ at: NOON });
  const cron = async (): Promise<void> => {
    for (const job of jobs) {
      await nodeAt(env.READERS, job, 0).drive("scheduled", 10_000);
      await listed(job);
    }
  };
  await readAll();
  let records = 0;
  for (let day = 0; day < 2; day++) {
    for (const outcome of ["ok", "exception", "ok"]) {
      await deliver(pack(oracle.mint(4, { at: clock.nowMs(), outcome, stepMs: 1_000 }), clock.nowMs()));
      for (const job of jobs) await settle(job, clock);
      records += 4;
    }
    clock.advance(Math.ceil(clock.nowMs() / DAY_MS) * DAY_MS - clock.nowMs() + HOUR_MS);
    await cron();
  }
  for (const days of [60, 1]) {
    clock.advance(days * DAY_MS);
    await cron();
  }
  for (const job of jobs) expect(await jobObjects(job)).toEqual([]);
  const question = { since: new Date(NOON - DAY_MS).toISOString(), until: new Date(clock.nowMs()).toISOString() };
  return { jobs, buckets, records, question };
}

type Archived = Awaited<ReturnType<typeof archive>>;

const idOf = ({ record }: HitLine): string =>
  (record as { Logs: { Message: string[] }[] }).Logs[0]?.Message[0] ?? "none";

/** All pages. Each record is told once. */
async function found(question: object) {
  const pages: SearchAnswer[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: SearchAnswer = await readAnswer(await ask({ ...question, ...(cursor !== null && { cursor }) }));
    pages.push(page);
    cursor = page.end.cursor;
    if (cursor === null) break;
  }
  const hits = pages.flatMap((page) => page.hits);
  const ids = hits.map(idOf).sort();
  expect(ids).toEqual([...new Set(ids)]);
  return { hits, ids, why: JSON.stringify(pages.flatMap(({ end }) => end.not_searched)), end: pages.at(-1)?.end };
}

async function counted(question: object): Promise<{ all: number; end: CountAnswer["end"] }> {
  const { rows, end } = await readCount(await ask({ ...question, count: { by: ["outcome"] } }));
  return { all: rows.reduce((sum, { values }) => sum + Number(values[0]), 0), end };
}

/** From now on, a bucket has none of the objects with this in their keys. */
const lose = ({ buckets }: Archived, which: number, keyIncludes: string) =>
  buckets[which]?.control.script([
    rule({ do: "answer", status: 404, code: "NoSuchKey" }, { method: "GET", keyIncludes }),
  ]);

describe("records of several jobs that have left the list", () => {
  it("are one hit each and count once, whatever the pages, with most fields and all jobs", async () => {
    const { jobs, records, question } = await archive();
    const [broad = 0, sampled = 0, filtered = 0] = jobs;
    for (const [order, limit] of [["newest", 1_000] as const, ["oldest", 9] as const]) {
      const { hits, why, end } = await found({ ...question, order, limit });
      expect([hits.length, why, end?.complete]).toEqual([records, "[]", true]);
      for (const { job_id, also_in, record } of hits) {
        const all = [job_id, ...also_in];
        expect(all).toContain(broad);
        expect(all.includes(filtered)).toBe(record.Outcome === "exception");
        expect(job_id === filtered).toBe(record.Outcome === "exception");
      }
      expect(hits.some(({ also_in }) => also_in.includes(sampled))).toBe(true);
    }
    const { all, end } = await counted(question);
    expect([all, end.complete, end.not_searched]).toEqual([records, true, []]);
  });

  it("are found in another job where an object is gone, and named where none else has them", async () => {
    const archived = await archive();
    const { jobs, question } = archived;
    const before = await found(question);
    const elsewhere = before.hits.filter(({ job_id, also_in }) => [job_id, ...also_in].some((job) => job !== jobs[0]));
    await lose(archived, 0, ".log.gz");
    const { ids, why, end } = await found(question);
    expect(ids).toEqual(elsewhere.map(idOf).sort());
    expect([why, end?.complete]).toEqual([expect.stringContaining("it is not there"), false]);
    const { all, end: said } = await counted(question);
    expect([all, said.complete]).toEqual([ids.length, false]);
  });

  it.each([0, 1, 2])("are not told twice where the sketches of job %i are gone, and that is said", async (which) => {
    const archived = await archive();
    const { jobs, records, question } = archived;
    await lose(archived, which, "/sketch/");
    const { hits, why, end } = await found(question);
    expect([hits.length, end?.complete]).toEqual([records, false]);
    expect(why).toContain("may ship the same records, and it is not known which");
    expect(why).toContain(`job ${jobs[which === 0 ? 2 : which]}`);
    const { all, end: said } = await counted(question);
    expect([all, said.complete]).toEqual([records, false]);
  });

  it("are found by what other jobs have, where a manifest is gone, and that is said", async () => {
    const archived = await archive();
    const { jobs, question } = archived;
    const before = await found(question);
    const isFirstDay = ({ record }: HitLine) => Number(record.EventTimestampMs) < NOON + DAY_MS / 2;
    const there = before.hits.filter(
      (hit) => !isFirstDay(hit) || [hit.job_id, ...hit.also_in].some((job) => job !== jobs[0]),
    );
    await lose(archived, 0, "21001120.1.json");
    const { ids, why } = await found(question);
    expect(ids).toEqual(there.map(idOf).sort());
    expect(why).toContain(`"manifest 21001120.1.json of job ${jobs[0]}","why":"cannot be read`);
    expect((await counted(question)).all).toBe(ids.length);
  });
});
