/** The links of a finding: to its subject, and to where it is fixed. */
import { expect, it, vi } from "vitest";
import { Watch } from "../../../src/operate/status/watch.ts";
import { lookAnew } from "../../operate/status/fresh.ts";
import { createJob } from "../../support/runtime/api.ts";
import { freshBucket, NOON, setClock } from "../../support/runtime/pipeline.ts";
import { token } from "../api/principals.ts";
import { OBEYED, SCRIPT } from "./hostile.ts";
import { textOf, Visitor } from "./support.ts";

lookAnew();

it("leads to where it is mended, names the job, and sends nobody to the page of one that is deleted", async () => {
  setClock(NOON);
  const job = await createJob(freshBucket().name, { name: `nightly ${SCRIPT}` });
  const of = (id: number, kind: string, severity: "error" | "warning" = "error") => ({
    ...{
      kind,
      severity,
      sinceMs: null,
      affected: null,
      summary: `Job ${id} is not well.`,
      advice: "Mend it.",
      incidentId: null,
    },
    subject: { type: "job" as const, id },
  });
  vi.spyOn(Watch.prototype, "look").mockResolvedValue({
    checkedMs: NOON,
    incidents: [],
    notices: [],
    keptSinceMs: null,
    findings: [of(job, "parked"), of(job, "filter_keeps_nothing"), of(99, "draining_stuck", "warning")],
  });
  const { html } = await (await Visitor.signedIn()).get("/status");
  expect(html).toContain(`<a href="/jobs/${job}/edit#destination">Change the destination</a>`);
  expect(html).toContain(`<a href="/jobs/${job}/edit#records">Change the filter</a>`);
  expect(textOf(html)).toContain(`About job ${job} ( nightly ${SCRIPT}`);
  expect([html.includes('href="/jobs#draining">job 99'), html.includes('href="/jobs/99')]).toEqual([true, false]);
  expect([textOf(html).includes("2 errors, 1 warning"), OBEYED.exec(html)]).toEqual([true, null]);
  const reader = await Visitor.signedIn({ token: (await token(["logs:read"])).secret });
  expect((await reader.get("/status")).html).not.toContain("Change the destination");
});
