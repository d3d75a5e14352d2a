/** Secrets of destinations are visible only to callers who can change the job, exactly as sent. */
import { describe, expect, it } from "vitest";
import { ACCESS_KEY, SECRET_KEY } from "../../support/constants.ts";
import { destinationConf } from "../../support/runtime/api.ts";
import { call, freshBucket, type Job } from "./harness.ts";
import { type Headers, member, token } from "./principals.ts";

const READS = ["/logship/jobs", "/logpush/jobs/1", "/logship/jobs/1", "/logship/datasets/functions_trace_events/jobs"];

/** `destination_conf` in every route that reads a job, and everything else answered. */
async function reads(headers: Headers): Promise<{ conf: unknown; text: string }[]> {
  const seen: { conf: unknown; text: string }[] = [];
  for (const path of READS) {
    const { status, body } = await call<Job | Job[]>("GET", path, undefined, { headers });
    expect(status).toBe(200);
    seen.push({ conf: [body.result].flat()[0]?.destination_conf, text: JSON.stringify(body) });
  }
  return seen;
}

describe("the secrets of a destination", () => {
  it("are shown as they were sent to whoever can change the job, whatever else they can do", async () => {
    const conf = destinationConf(freshBucket().name);
    await call("POST", "/logship/jobs", { destination_conf: conf });
    const all = [(await token(["logs:read", "logs:edit"])).headers, (await member("Log Share")).headers, {}];
    for (const headers of all) for (const read of await reads(headers)) expect(read.conf).toBe(conf);
  });

  it("are **** to whoever can only read it, and nowhere in the answer", async () => {
    const conf = destinationConf(freshBucket().name);
    await call("POST", "/logship/jobs", { destination_conf: conf });
    const masked = conf.replace(ACCESS_KEY, "****").replace(SECRET_KEY, "****");
    const readers = [
      await token(["logs:read"]),
      await token(["logs:read", "access:edit", "events:write", "functions:edit"]),
      await member("Log Share Reader"),
    ];
    for (const { headers } of readers) {
      for (const { conf: shown, text } of await reads(headers)) {
        expect(shown).toBe(masked);
        expect(text).not.toContain(SECRET_KEY);
        expect(text).not.toContain(ACCESS_KEY);
      }
    }
  });

  it("are **** in the answers to changes by a caller that cannot read jobs", async () => {
    const conf = destinationConf(freshBucket().name);
    const { headers } = await token(["logs:edit", "access:edit", "events:write"]);
    const masked = conf.replace(ACCESS_KEY, "****").replace(SECRET_KEY, "****");
    const changes: [method: string, path: string, body: object][] = [
      ["POST", "/logship/jobs", { destination_conf: conf }],
      ["PUT", "/logship/jobs/1", {}],
      ["PUT", "/logpush/jobs/1", { destination_conf: masked }],
    ];
    for (const [method, path, body] of changes) {
      const answer = await call<Job>(method, path, body, { headers });
      expect([path, answer.body.result.destination_conf]).toEqual([path, masked]);
      expect(JSON.stringify(answer.body)).not.toContain(SECRET_KEY);
    }
    // They are stored all the same.
    expect((await call<Job>("GET", "/logship/jobs/1")).body.result.destination_conf).toBe(conf);
  });

  it("stay what they are when what a reader saw is sent back by somebody who can change it", async () => {
    const conf = destinationConf(freshBucket().name);
    await call("POST", "/logship/jobs", { destination_conf: conf, name: "before" });
    const { headers } = await token(["logs:read"]);
    const { result } = (await call<Job>("GET", "/logship/jobs/1", undefined, { headers })).body;
    const answer = await call<Job>("PUT", "/logship/jobs/1", { ...result, name: "after" });
    expect([answer.status, answer.body.result.destination_conf, answer.body.result.name]).toEqual([200, conf, "after"]);
  });
});
