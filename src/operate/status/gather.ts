import type * as z from "zod";
import { errorText, log } from "../../base/logger.ts";
import { Patience, type Platform, settled } from "../../base/platform.ts";
import { readConfig, readFunctionFailing } from "../../config.ts";
import type { AlertedSearch } from "../../ship/job/searches.ts";
import { readSnapshot } from "../../ship/job/snapshot.ts";
import type { AccountStatus } from "../../ship/log/account-status.ts";
import type { FunctionCount } from "../../ship/log/function-counts.ts";
import { LogShards } from "../../ship/log/log-shards.ts";
import type { ProblemList } from "../../ship/log/problems.ts";
import { jobStatus, shardsStatus } from "../../ship/reader/job-status.ts";
import type { JobStatus } from "../../ship/reader/statuses.ts";
import type { FunctionSetting } from "../../state/control/function-settings.ts";
import { controlPlane } from "../../state/control/plane.ts";
import type { ReplayTrouble } from "../replay/replay-status.ts";
import { replays } from "../replay/replays.ts";
import { ANSWER, checked } from "./answer-shapes.ts";
import type { AccountFacts, Answer, Facts, JobFacts, KnownAttachment, KnownJob } from "./facts.ts";
import { NO_ANSWER } from "./facts.ts";
import { failingOf, nameOf } from "./failing.ts";
import { candidates, functionFacts, heardOf, unnamedMs } from "./function-facts.ts";
import { goneKinds, heardKinds, isKindQuiet, knownKinds } from "./function-kinds.ts";
import { knownJob, knownUnreadable } from "./known-jobs.ts";
import { type ProblemFact, problemFacts } from "./problem-rules.ts";
import type { ProblemStates } from "./problem-states.ts";
import { withQueue } from "./queue-waits.ts";
import type { Rhythm } from "./rhythm.ts";
import { type SampleState, type Samples, sampled } from "./samples.ts";
import { searchFacts } from "./search-facts.ts";
import { slowOf } from "./slow.ts";
import { AFTER, PROBLEMS_NAMED_MAX } from "./thresholds.ts";

/** Memory of earlier checks, in the storage of the watch; gathering updates it. */
export interface WatchMemory {
  samples: Samples;
  rhythm: Rhythm;
  /** Of kinds of events. */
  kinds: Rhythm;
  problems: Pick<ProblemStates, "all">;
}

/** Asked beside the readers, the log and the control plane. */
export interface Sources {
  replays(env: Env): Promise<readonly ReplayTrouble[]>;
  attachments(env: Env): Promise<readonly KnownAttachment[]>;
}

export const SOURCES: Sources = {
  replays: ({ REPLAYS }) => replays(REPLAYS).status(),
  attachments: ({ CONTROL }) => controlPlane(CONTROL).attachments(),
};

/** Deadlines for one answer and for all together, in ms. Tests override them. */
export const GATHER_PATIENCE = { oneMs: 3_000, allMs: 20_000 };

/** Logs asked at the same time. */
const LOGS_AT_ONCE = 8;

/** The answers of the other parts. */
interface Answers {
  known: Answer<KnownJob[]>;
  alerted: Answer<readonly AlertedSearch[]>;
  settings: Answer<FunctionSetting[]>;
  account: Answer<AccountStatus>;
  lately: Answer<FunctionCount[]>;
  replays: Answer<readonly ReplayTrouble[]>;
  attachments: Answer<readonly KnownAttachment[]>;
  problems: Answer<ProblemList>;
}

/** Asks all parts. Never throws, and takes at most 20 s: a missing answer is a fact. */
export async function gather(
  env: Env,
  memory: WatchMemory,
  platform: Pick<Platform, "now">,
  sources: Sources = SOURCES,
): Promise<Facts> {
  const patience = new Patience(GATHER_PATIENCE.allMs);
  const ask = async <T>(who: string, shape: z.ZodType | null, question: () => Promise<T>): Promise<Answer<T>> => {
    try {
      const answer = await patience.answer(who, GATHER_PATIENCE.oneMs, question);
      return shape === null ? answer : checked(shape, answer);
    } catch (error) {
      log.warn("no answer to the watch", { who, error: errorText(error) });
      return NO_ANSWER;
    }
  };
  try {
    const answers = await askAll(env, sources, ask);
    const before = memory.samples.state();
    if (answers.account !== NO_ANSWER && platform.now() - (before.queue?.askedMs ?? 0) <= AFTER.queueAsked)
      answers.account = withQueue(answers.account, before.queue);
    const known = answers.known === NO_ANSWER ? (before.known ?? []) : answers.known;
    const statuses = await askLogs(env, known, ask);
    // No await between reading the memory and writing it: another check may be running.
    const nowMs = platform.now();
    const state = remembered(memory.samples, answers, statuses, nowMs);
    const functions = await askFunctions(env, memory, answers, nowMs, ask);
    const { alerted } = answers;
    const searches =
      alerted === NO_ANSWER
        ? NO_ANSWER
        : await ask("searches", null, () => searchFacts(env, alerted, memory.samples, platform));
    const config = readConfig(env);
    return {
      nowMs,
      configFaults: config.ok ? [] : config.faults,
      controlAnswered: answers.known !== NO_ANSWER && answers.settings !== NO_ANSWER,
      jobs: known.map((job) => jobFacts(job, statuses, state)),
      account: accountFacts(answers.account, state, memory.rhythm),
      functions,
      failing:
        answers.account === NO_ANSWER ? NO_ANSWER : failingOf(answers.account.failing, readFunctionFailing(env), nowMs),
      slow: answers.account === NO_ANSWER ? [] : slowOf(answers.account.slower ?? [], nowMs),
      replays: answers.replays,
      attachments: answers.attachments,
      searches,
      problems:
        answers.problems === NO_ANSWER
          ? NO_ANSWER
          : await tagged(env, problemFacts(answers.problems.problems, memory.problems.all(), nowMs), ask),
    };
  } finally {
    patience.end();
  }
}

/** @param shape of the answer; null: `question` has checked it. */
type Ask = <T>(who: string, shape: z.ZodType | null, question: () => Promise<T>) => Promise<Answer<T>>;

async function askAll(env: Env, sources: Sources, ask: Ask): Promise<Answers> {
  const ledger = new LogShards(env);
  const [control, settings, account, lately, replays, attachments, problems] = await Promise.all([
    ask("the control plane", null, async () => {
      const snapshot = readSnapshot(await controlPlane(env.CONTROL).configSince(""));
      if (snapshot === null) throw new Error("no snapshot of jobs");
      const config = readConfig(env);
      const readable = snapshot.jobs.map((job) => knownJob(job, config));
      const known = [...readable, ...(snapshot.unreadable ?? []).map(knownUnreadable)];
      const alerted: Answers["alerted"] = snapshot.searches ?? NO_ANSWER;
      return { known, alerted };
    }),
    ask("the settings of functions", ANSWER.Settings, () => controlPlane(env.CONTROL).functionSettings()),
    ask("the ledger", ANSWER.Account, () => ledger.status()),
    ask("the counts of functions", ANSWER.Counts, () => ledger.functionsLately()),
    ask("replays", ANSWER.Replays, () => sources.replays(env)),
    ask("attachments", ANSWER.Attachments, () => sources.attachments(env)),
    ask("problems", ANSWER.Problems, () => ledger.problems()),
  ]);
  return {
    ...(control === NO_ANSWER ? { known: NO_ANSWER, alerted: NO_ANSWER } : control),
    settings,
    account,
    lately,
    replays,
    attachments,
    problems,
  };
}

async function askLogs(
  env: Env,
  jobs: readonly KnownJob[],
  ask: Ask,
): Promise<ReadonlyMap<number, Answer<JobStatus | null>>> {
  const ids = jobs.map(({ id }) => id);
  const before = await ask("the log", null, () => shardsStatus(env, ids));
  const answers = await settled(
    jobs,
    LOGS_AT_ONCE,
    async ({ id }): Promise<Answer<JobStatus | null>> =>
      before === NO_ANSWER ? NO_ANSWER : ask(`job ${id}`, ANSWER.Log, () => jobStatus(env, id, { before })),
  );
  return new Map(
    jobs.map(({ id }, i) => {
      const answer = answers[i];
      return [id, answer?.status === "fulfilled" ? answer.value : NO_ANSWER];
    }),
  );
}

function remembered(
  samples: Samples,
  { known, account }: Answers,
  statuses: ReadonlyMap<number, Answer<JobStatus | null>>,
  nowMs: number,
): SampleState {
  const told = [...statuses].flatMap(([id, status]): [number, JobStatus | null][] =>
    status === NO_ANSWER ? [] : [[id, status]],
  );
  const check = { known: orUndefined(known), statuses: new Map(told), account: orUndefined(account) };
  const state = sampled(samples.state(), check, nowMs);
  samples.keep(state);
  return state;
}

function jobFacts(
  job: KnownJob,
  statuses: ReadonlyMap<number, Answer<JobStatus | null>>,
  { jobs }: SampleState,
): JobFacts {
  const past = jobs[job.id] ?? { filter: null, sample: null, setAside: null };
  return { ...job, status: statuses.get(job.id) ?? null, past };
}

function accountFacts(
  status: Answer<AccountStatus>,
  { account: past, backlogSinceMs }: SampleState,
  rhythm: Rhythm,
): Answer<AccountFacts> {
  if (status === NO_ANSWER || past === null) return NO_ANSWER;
  return { status, setAside: status.setAsideMessages, past, backlogSinceMs, usual: rhythm.account() };
}

/** Learns from the events of functions, and asks about those that would become a finding. */
async function askFunctions(
  env: Env,
  { rhythm, kinds }: Pick<WatchMemory, "rhythm" | "kinds">,
  { account, lately, settings }: Answers,
  nowMs: number,
  ask: Ask,
): Promise<Facts["functions"]> {
  if (account === NO_ANSWER || lately === NO_ANSWER) return NO_ANSWER;
  const countedUntilMs = Math.min(nowMs, account.oldestUnfinishedMs ?? nowMs, account.queueOldestMs ?? nowMs);
  const notWatched = rhythm.listen(heardOf(lately), account.queueSeenMs, countedUntilMs, nowMs);
  const set = settings === NO_ANSWER ? [] : settings;
  const known = { lately, settings: set, usual: rhythm.functions() };
  kinds.listen(heardKinds(lately, set), null, countedUntilMs, nowMs);
  const each = knownKinds(kinds.pulses(), set, lately);
  const quiet = each.flatMap(({ facts }) => (isKindQuiet(facts, countedUntilMs) ? [facts.name] : []));
  const names = [...new Set([...candidates(known, countedUntilMs), ...quiet])];
  let last = new Map<string, number>();
  if (names.length > 0) {
    const answer = await ask("the events of functions", ANSWER.Last, () => new LogShards(env).lastEvents(names));
    if (answer === NO_ANSWER) return NO_ANSWER;
    last = new Map(answer.map(({ scriptName, lastEventMs }) => [scriptName, lastEventMs]));
    // Deleted, or silent for thirty days: no longer watched.
    const gone = names.filter((name) => !last.has(name));
    rhythm.forget(new Set(gone));
    for (const name of gone) known.usual.delete(name);
  }
  const asked = new Set(names);
  const gone = goneKinds(each, (name) => asked.has(name) && !last.has(name), nowMs);
  kinds.forget(gone);
  // Without the settings it is unknown which functions are off, and quiet on purpose.
  return {
    countedUntilMs,
    each: settings === NO_ANSWER ? [] : functionFacts(known, last),
    unnamedMs: unnamedMs(lately),
    notWatched,
    kinds:
      settings === NO_ANSWER ? [] : each.flatMap(({ key, facts }) => (facts === null || gone.has(key) ? [] : [facts])),
  };
}

/** With what their owners call the versions of those that are named, as far as it is known. */
async function tagged(env: Env, problems: readonly ProblemFact[], ask: Ask): Promise<ProblemFact[]> {
  const inOne = problems.slice(0, PROBLEMS_NAMED_MAX).flatMap(({ name, version }) => (version ? [name] : []));
  const tags = new Map<string, string>();
  await settled([...new Set(inOne)], LOGS_AT_ONCE, async (name) => {
    const told = await ask("versions", ANSWER.Versions, () => new LogShards(env).functionVersions(name));
    for (const { version, tag } of orUndefined(told) ?? []) tags.set(`${version} ${name}`, tag);
  });
  return problems.map(({ version, ...rest }) =>
    version === undefined
      ? rest
      : { ...rest, version: nameOf({ version, tag: tags.get(`${version} ${rest.name}`) ?? "" }) },
  );
}

function orUndefined<T>(told: Answer<T>): T | undefined {
  return told === NO_ANSWER ? undefined : told;
}
