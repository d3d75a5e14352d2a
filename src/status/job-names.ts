/** What owners call the jobs that findings are about. */
import { controlPlane } from "../control/plane.ts";
import { errorText, log } from "../log.ts";
import { answered } from "../platform.ts";
import type { Finding } from "./types.ts";

/** How long the names may delay a look, in ms. */
const NAMES_MS = 2_000;

/** By id; jobs without a name are absent, as are deleted ones. */
export type JobNames = ReadonlyMap<number, string>;

/** Never throws: without names, jobs are told by number. */
export async function jobNames({ CONTROL }: Pick<Env, "CONTROL">): Promise<JobNames> {
  try {
    const jobs = await answered("the names of jobs", NAMES_MS, controlPlane(CONTROL).list());
    return new Map(jobs.flatMap(({ config, body: { name } }) => (name?.trim() ? [[config.id, name] as const] : [])));
  } catch (error) {
    log.warn("no answer to the watch", { who: "the names of jobs", error: errorText(error) });
    return new Map();
  }
}

/** Adds the names. @param ask is called only where a finding is about a job. */
export async function named(findings: readonly Finding[], ask: () => Promise<JobNames>): Promise<Finding[]> {
  if (!findings.some(({ subject }) => subject.type === "job")) return [...findings];
  const names = await ask();
  return findings.map((finding) => {
    const jobName = finding.subject.type === "job" ? names.get(finding.subject.id) : undefined;
    return jobName === undefined ? finding : { ...finding, jobName };
  });
}
