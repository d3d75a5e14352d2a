/** Jobs that are changed, made and deleted between the pages of a search. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { Oracle } from "../../support/oracle.ts";
import { api, createJob } from "../../support/runtime/api.ts";
import { deliver, freshBucket, NOON, pack, readAll, setClock, settle } from "../../support/runtime/pipeline.ts";
import { type SearchAnswer, searchFor } from "./searched.ts";

afterEach(() => void vi.restoreAllMocks());

const FEW = { output_options: { field_names: ["EventTimestampMs", "Outcome", "Logs"] } };
const FAILED = '{"where":{"key":"Outcome","operator":"eq","value":"exception"}}';

const idOf = ({ record }: SearchAnswer["hits"][number]): string =>
  (record as { Logs: { Message: string[] }[] }).Logs[0]?.Message[0] ?? "none";

/** @param kinds a job each. */
async function shipped(kinds: readonly object[]) {
  const clock = setClock(NOON);
  const jobs: number[] = [];
  for (const kind of kinds) jobs.push(await createJob(freshBucket().name, kind));
  await readAll();
  const oracle = new Oracle({ at: NOON });
  // All of one moment: a cursor ends within it.
  const some = ["ok", "exception"].flatMap((outcome) => oracle.mint(3, { at: NOON, outcome, stepMs: 0 }));
  await deliver(pack(some, clock.nowMs()));
  for (const job of jobs) await settle(job, clock);
  const span = { since: new Date(NOON - 60_000).toISOString(), until: new Date(NOON + 60_000).toISOString() };
  return { jobs, question: { ...span, limit: 2 } };
}

async function pagesOf(question: object, between: () => Promise<unknown>): Promise<SearchAnswer[]> {
  const pages = [await searchFor(question)];
  await between();
  for (let { cursor } = (pages[0] as SearchAnswer).end; cursor !== null; ) {
    const page = await searchFor({ ...question, cursor });
    pages.push(page);
    cursor = page.end.cursor;
  }
  return pages;
}

describe("a search of several pages", () => {
  it("goes on with the jobs that its first page had, in their order", async () => {
    const { jobs, question } = await shipped([FEW, { filter: FAILED }]);
    const pages = await pagesOf(question, async () => {
      await api("PUT", `/logship/jobs/${jobs[0]}`, { filter: FAILED });
      await createJob(freshBucket().name);
    });
    const hits = pages.flatMap((page) => page.hits);
    expect(new Set(hits.map(idOf)).size).toBe(6);
    expect(hits).toHaveLength(6);
    expect(pages.at(-1)?.end).toMatchObject({ complete: true, not_searched: [] });
  });

  it("does not tell again what it told of one job, where a second one comes", async () => {
    const { question } = await shipped([FEW]);
    const pages = await pagesOf(question, () => createJob(freshBucket().name));
    expect(pages.flatMap((page) => page.hits.map(idOf))).toHaveLength(6);
    expect(pages.at(-1)?.end.complete).toBe(true);
  });

  it("finds in other jobs what a deleted one had, and says that it is gone", async () => {
    const { jobs, question } = await shipped([FEW, { filter: FAILED }]);
    const pages = await pagesOf(question, () => api("DELETE", `/logship/jobs/${jobs[0]}`));
    const hits = pages.flatMap((page) => page.hits.map(idOf));
    expect(hits).toHaveLength(new Set(hits).size);
    const all = pages.flatMap((page) => page.hits);
    expect(new Set(all.filter(({ record }) => record.Outcome === "exception").map(idOf)).size).toBe(3);
    expect(pages.at(-1)?.end).toMatchObject({
      complete: false,
      not_searched: [{ what: `job ${jobs[0]}`, why: "it was deleted since the first page" }],
    });
  });
});
