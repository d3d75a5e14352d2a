import { type Page, seeOther } from "../../page.ts";
import { Panel } from "../../parts/panel.tsx";
import type { JobView } from "../../views/job.ts";
import { originOf } from "../shipping/destination.tsx";
import { enteredPage } from "../shipping/entered-page.tsx";
import { jobPath, jobTrail } from "./job-text.ts";
import {
  AllowDuplicates,
  Count,
  type Counted,
  confirmedIn,
  counted,
  type Span,
  sendBegin,
  spanIn,
  spanQuery,
} from "./replay-begin.tsx";

/** The folder of copies in a new form. */
const FOLDER = "replay";

interface Planned {
  job: JobView;
  span: Span;
  count: Extract<Counted, { ok: true }>;
}

/** A replay to a destination of its own, entered as that of a job. */
export const replayDestinationPage: Page = enteredPage<Planned>("/jobs/:job_id/replay/destination", {
  origin: (page) => originOf(page, `a replay of job ${Number(page.params.job_id)}`, FOLDER),
  /** Without a time, or where it cannot be counted, the page before this one. */
  async load(page, sent) {
    const job = await page.api.get<JobView>(jobPath(page));
    const span = spanIn(sent);
    if (span === null) return seeOther(`/jobs/${job.id}/replay`);
    const count = await counted(page, jobPath(page), span);
    return count.ok ? { job, span, count } : seeOther(`/jobs/${job.id}/replay?${spanQuery(span)}`);
  },
  about: ({ job, span, count: { result, messages } }, form, faults) => ({
    title: "Replay to another destination",
    trail: [...jobTrail(job), { href: `/jobs/${job.id}/replay?${spanQuery(span)}`, label: "Replay" }],
    panel: (
      <Panel id="count" title="Preview">
        <Count estimate={result} notes={messages} />
      </Panel>
    ),
    carried: (
      <>
        <input type="hidden" name="since" value={span.since} />
        <input type="hidden" name="until" value={span.until} />
      </>
    ),
    controls: (
      <AllowDuplicates
        estimate={result}
        checked={form?.has("allow_duplicates") ?? false}
        error={faults.at("allow_duplicates")}
      />
    ),
    hint: "logship deletes the keys when the replay ends.",
    start: "Test and start",
    failure: "The replay was not started",
    disabled: result.planned.objects === 0,
  }),
  async send(page, { span }, conf, form) {
    const answer = await sendBegin(page, "replay", span, { destination_conf: conf, ...confirmedIn(form) });
    return answer.ok ? seeOther(`/jobs/${answer.result.job_id}/replay#replays`) : answer.errors;
  },
});
