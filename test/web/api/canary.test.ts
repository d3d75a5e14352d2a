import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { nodeAt } from "../../../src/ship/reader/job-nodes.ts";
import { JobReader } from "../../../src/ship/reader/job-reader.ts";
import { CANARY_GET, ended, tick } from "../../ship/reader/canary-world.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { NOON, readAll, setClock } from "../../support/runtime/pipeline.ts";
import { rule } from "../../support/s3-script.ts";
import { call, errorsOf, freshBucket, type Job } from "./harness.ts";

const NONE = { enabled: false, state: null, since: null, last_ok: null, last_run: null, next_run: null, key: null };
const at = (ms: number): string => new Date(ms).toISOString();

async function job(fields: object = {}) {
  const clock = setClock(NOON);
  const bucket = freshBucket();
  const body = { destination_conf: destinationConf(bucket.name), enabled: true, canary: true, ...fields };
  const created = await call<Job>("POST", "/logship/jobs", body);
  expect([created.status, created.body.errors]).toEqual([201, []]);
  const { id } = created.body.result;
  const read = async () => (await call("GET", `/logship/jobs/${id}/canary`)).body.result;
  const change = async (fields: object) => {
    await call<Job>("PUT", `/logship/jobs/${id}`, fields);
    await begun(id);
  };
  return { clock, id, read, change, ...bucket };
}

/** Its reader has the job as it is now, and the canary that it began at once has ended. */
async function begun(id: number): Promise<void> {
  await readAll();
  await ended(id);
}

describe("the canary of a job", () => {
  it("is waited for, and well; under both names of the path", async () => {
    const { clock, id, read, control } = await job();
    await control.script([rule({ do: "answer", status: 503 }, CANARY_GET)]);
    await begun(id);
    expect(await read()).toMatchObject({ enabled: true, state: "waiting", since: at(NOON), last_ok: null, why: null });
    await control.script([]);
    clock.advance(60_000);
    expect(await tick(id)).toBe(true);
    const found = await read();
    expect(found).toEqual({
      enabled: true,
      state: "ok",
      since: at(NOON + 60_000),
      last_ok: at(NOON + 60_000),
      last_run: at(NOON),
      next_run: expect.stringMatching(/^2100-11-20T1[23]:\d\d:00\.000Z$/),
      key: expect.stringMatching(/^logs\/00010101\/canary\/job-1-[0-9a-f]{8}\.canary\.gz$/),
      why: null,
    });
    expect((await call("GET", `/logpush/jobs/${id}/canary`)).body.result).toEqual(found);
  });

  it("says that write-only credentials can have none, and the job itself says nothing of it", async () => {
    const { id, read, control } = await job();
    await control.script([rule({ do: "answer", status: 403, code: "AccessDenied" }, CANARY_GET)]);
    await begun(id);
    expect(await read()).toMatchObject({
      state: "unreadable",
      last_ok: null,
      why: expect.stringMatching(/HTTP 403 AccessDenied.*write-only credentials cannot have a canary/),
    });
    const { body } = await call<Job>("GET", `/logship/jobs/${id}`);
    expect(body.result).toMatchObject({ canary: true, last_error: null, error_message: null });
  });

  it("is switched off and on, and stops while the job is disabled", async () => {
    const { id, read, change, control } = await job();
    await begun(id);
    await change({ canary: false });
    expect(await read()).toEqual({ ...NONE, why: "the job has no canary: its option is off" });
    await change({ canary: true });
    expect(await read()).toMatchObject({ state: "ok" });
    await change({ enabled: false });
    expect(await read()).toEqual({ ...NONE, why: "no canary is sent while the job is disabled" });
    await change({ enabled: true, canary: null });
    expect(await read()).toEqual({ ...NONE, why: "the job has no canary: its option is off" });
    expect((await control.puts()).filter(({ key }) => key.includes("canary/")).length).toBe(2);
  });

  it("is none unless somebody asks for it, nor of a job that is not there", async () => {
    const { id, read } = await job({ canary: undefined });
    expect(await read()).toEqual({ ...NONE, why: "the job has no canary: its option is off" });
    expect((await call<Job>("GET", `/logship/jobs/${id}`)).body.result).not.toHaveProperty("canary");
    await call("DELETE", `/logship/jobs/${id}`);
    for (const missing of [99, id]) expect((await call("GET", `/logship/jobs/${missing}/canary`)).status).toBe(404);
  });

  it("is 503 while the job's log does not say, or has not confirmed the job", async () => {
    const { id } = await job();
    expect((await call("GET", `/logship/jobs/${id}/canary`)).status).toBe(503);
    await begun(id);
    const said = vi.spyOn(JobReader.prototype, "canaryReport");
    said.mockReturnValue({ report: null, sealed: false });
    expect(errorsOf(await call("GET", `/logship/jobs/${id}/canary`))).toEqual([
      [1053, undefined, expect.stringMatching(/not confirmed/)],
    ]);
    said.mockImplementation(() => {
      throw new Error("broken");
    });
    expect((await call("GET", `/logship/jobs/${id}/canary`)).status).toBe(503);
    expect(await nodeAt(env.READERS, id, 0).status()).toMatchObject({ canary: { state: "ok" } });
  });
});
