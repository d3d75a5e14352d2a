/** A canary through a real shipper into the local bucket, and back. */
import { it } from "vitest";
import { until } from "../../tools/until.ts";
import { readSingleMember } from "../support/gzip-member.ts";
import { ndjson } from "../support/oracle.ts";
import { IsolatedShipper, jobInto, RECEIVED_WITHIN_MS } from "./shipper.ts";

interface View {
  enabled: boolean;
  state: string | null;
  key: string | null;
  why: string | null;
}

it("is sent as soon as a job has one, stands where it says, and nothing counts it", async ({ expect }) => {
  await using shipper = await IsolatedShipper.start();
  const job = await shipper.api.createJob({ ...jobInto("guarded"), canary: true });
  const view = await until({
    what: "the canary to be read back",
    withinMs: RECEIVED_WITHIN_MS,
    look: async (): Promise<View> => {
      const url = `${shipper.url}/client/v4/accounts/local/logship/jobs/${job.id}/canary`;
      const answer = await fetch(url, { headers: { authorization: `Bearer ${shipper.token}` } });
      return ((await answer.json()) as { result: View }).result;
    },
    enough: ({ state }) => state !== "waiting",
  });
  expect(view).toMatchObject({ enabled: true, state: "ok", why: null });
  const member = readSingleMember(await shipper.bucket.get(view.key ?? ""));
  expect(member.ok && ndjson(member.raw)).toMatchObject([{ ScriptName: "logship-canary", EventType: "unknown" }]);
  expect((await shipper.bucket.list("guarded/")).filter((key) => key.endsWith(".log.gz"))).toEqual([]);
  expect(await shipper.api.jobLedger(job.id)).toMatchObject({ received: 0, delivered: 0, pending: 0 });
  expect(await shipper.api.objects(job.id)).toEqual([]);
});
