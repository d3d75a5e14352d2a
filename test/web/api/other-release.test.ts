/** A control plane of another release: for minutes after a deployment, and after going back. */
import { describe, expect, it, vi } from "vitest";
import { ControlPlane } from "../../../src/index.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { call, errorsOf, freshBucket, type Job, listJobs } from "./harness.ts";

type Stored = { kind: string; job: { body: object; config: object } };

/** The control plane stores jobs without a part that it does not know. */
function leavingOut(method: "create" | "update", change: (stored: Stored["job"]) => object): void {
  const own = ControlPlane.prototype[method] as (...args: unknown[]) => Promise<Stored>;
  vi.spyOn(ControlPlane.prototype, method).mockImplementationOnce(async function (
    this: ControlPlane,
    ...args: unknown[]
  ) {
    const answer = await own.apply(this, args);
    return { ...answer, job: { ...answer.job, ...change(answer.job) } };
  } as never);
}

const job = () => ({ destination_conf: destinationConf(freshBucket().name), name: "one", max_upload_records: 1_000 });

describe("a control plane of another release", () => {
  it.each([
    ["a setting", ({ body }: Stored["job"]) => ({ body: { ...body, name: undefined } })],
    ["what it means", ({ config }: Stored["job"]) => ({ config: { ...config, limits: { bytes: 1, records: 2 } } })],
    ["the path", ({ config }: Stored["job"]) => ({ config: { ...config, path: "elsewhere" } })],
  ])("that leaves out %s of a new job is noticed", async (_, change) => {
    leavingOut("create", change);
    const answer = await call<Job>("POST", "/logship/jobs", job());
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("300");
    expect(errorsOf(answer)[0]?.[2]).toMatch(/^job \d+ was stored by another release/);
    // Sent again, as the answer asks for, it is one job, and not the second one.
    expect(await listJobs()).toEqual([]);
    expect((await call<Job>("POST", "/logship/jobs", job())).status).toBe(201);
    expect(await listJobs()).toHaveLength(1);
  });

  it("that leaves out a part of a change is noticed; the same change mends it later", async () => {
    await call<Job>("POST", "/logship/jobs", job());
    const [{ id } = { id: 0 }] = await listJobs();
    leavingOut("update", ({ body }) => ({ body: { ...body, max_upload_records: 1_000 } }));
    const change = () => call<Job>("PUT", `/logship/jobs/${id}`, { max_upload_records: 2_000 });
    expect((await change()).status).toBe(503);
    expect(await change()).toMatchObject({ status: 200, body: { result: { max_upload_records: 2_000 } } });
  });

  it("that leaves out a part of a function's setting is noticed", async () => {
    setClock(NOON);
    const own = ControlPlane.prototype.setFunction;
    vi.spyOn(ControlPlane.prototype, "setFunction").mockImplementationOnce(function (this: ControlPlane, name) {
      return own.call(this, name, {});
    });
    const change = () => call("PATCH", "/functions/scripts/shop/script-settings", { logpush: false });
    expect((await change()).status).toBe(503);
    expect((await change()).status).toBe(200);
  });
});
