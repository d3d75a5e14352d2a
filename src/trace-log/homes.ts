import { errorText, log } from "../log.ts";
import { TimeoutError } from "../platform.ts";
import type { TakenId } from "../storage/id-memory.ts";
import { ROOT } from "../storage/splits.ts";
import { type KnownSplits, learning, REFUSED, splitsIn } from "./known-splits.ts";
import { type CommitCount, type MessageCount, type Outcome, Partly, readWatched, type Work } from "./outcome.ts";
import type { Noted, NotedMessage } from "./redeliveries.ts";
import type { SetAsideMessage } from "./set-aside-messages.ts";

/**
 * Calls to one shard, with their deadlines. Each answers unchecked, or with the splits of which the
 * caller did not know.
 * @param known how many splits of the shard are known.
 */
export interface HomeCalls {
  count(outcome: Outcome, shard: number, known: number): Promise<unknown>;
  counted(messages: readonly TakenId[], shard: number, known: number): Promise<unknown>;
  expectAgain(messages: readonly NotedMessage[], shard: number, known: number, how?: Noted): Promise<unknown>;
  setAside(message: SetAsideMessage, shard: number, known: number): Promise<unknown>;
  asideAs(notes: readonly TakenId[], shard: number, known: number): Promise<unknown>;
}

/** The messages of one shard, and its answer. */
interface Part<M> {
  shard: number;
  messages: readonly M[];
  answer: PromiseSettledResult<unknown>;
}

/**
 * Calls the home of each message, all homes side by side. What a shard refuses, as it was split,
 * goes to where it belongs.
 */
async function atHomes<M extends TakenId>(
  messages: readonly M[],
  splits: KnownSplits,
  call: (messages: readonly M[], shard: number, known: number) => Promise<unknown>,
): Promise<Part<M>[]> {
  const parts: Part<M>[] = [];
  let open = messages;
  while (open.length > 0) {
    const homes = [...Map.groupBy(open, (message) => splits.homeOf(message))];
    const answers = await Promise.allSettled(
      homes.map(([shard, part]) => learning(splits, shard, (known) => call(part, shard, known))),
    );
    open = homes.flatMap(([shard, part], i) => {
      const answer = answers[i];
      if (answer === undefined || (answer.status === "fulfilled" && answer.value === REFUSED)) return part;
      parts.push({ shard, messages: part, answer });
      return [];
    });
  }
  return parts;
}

/** @throws what a shard threw; a timeout before anything else. */
function valuesOf(parts: readonly Part<unknown>[]): unknown[] {
  const errors = parts.flatMap(({ answer }) => (answer.status === "rejected" ? [answer.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => error instanceof TimeoutError) ?? errors[0];
  return parts.flatMap(({ answer }) => (answer.status === "fulfilled" ? [answer.value] : []));
}

/** @throws if a shard did not answer, or with something else than a list. */
export async function countedAtHomes(
  messages: readonly TakenId[],
  splits: KnownSplits,
  call: HomeCalls["counted"],
): Promise<readonly string[]> {
  const values = valuesOf(await atHomes(messages, splits, call));
  if (!values.every((value) => Array.isArray(value))) throw new Error("the ledger's answer is not a list");
  return values.flat() as string[];
}

/**
 * @returns the lists of all shards as one, unchecked; a release before answers none.
 * @throws if a shard has not noted its part.
 */
export async function expectAgainAtHomes(
  messages: readonly NotedMessage[],
  splits: KnownSplits,
  call: HomeCalls["expectAgain"],
): Promise<unknown[]> {
  return valuesOf(await atHomes(messages, splits, call)).flat();
}

/** @throws unless it is set aside, and the notes under its other ids are gone. */
export async function setAsideAtHome(
  { noted, alsoNoted = [], ...message }: SetAsideMessage,
  splits: KnownSplits,
  { setAside, asideAs }: Pick<HomeCalls, "setAside" | "asideAs">,
): Promise<void> {
  const notes = noted === undefined ? alsoNoted : [noted, ...alsoNoted];
  let away: TakenId[] = [];
  let answer: unknown = REFUSED;
  while (answer === REFUSED) {
    const home = splits.homeOf(message.taken);
    const [first, ...others] = notes.filter((note) => splits.homeOf(note) === home);
    away = notes.filter((note) => splits.homeOf(note) !== home);
    const whole = { ...message, ...(first && { noted: first }), ...(others.length > 0 && { alsoNoted: others }) };
    answer = await learning(splits, home, (known) => setAside(whole, home, known));
  }
  valuesOf(await atHomes(away, splits, asideAs));
}

const NO_WORK: Work = { batches: 0, appends: 0, offered: 0 };

/**
 * Counts messages, each at its home.
 * @param call as {@link CommitCount}, of one shard.
 * @throws if no shard answered; where only some did, the answer is {@link Partly}.
 */
export async function countAtHomes(
  outcome: Outcome,
  splits: KnownSplits,
  call: HomeCalls["count"],
): ReturnType<CommitCount> {
  const { done, failed, owes, ...rest } = outcome;
  if (done.length + failed.length === 0) return call(outcome, ROOT, splits.of(ROOT).length);
  const isDone = new Set<TakenId>(done);
  // The first shard alone is asked whether anything is owed, so it knows before any other counts.
  const noteOwed = once(() =>
    call({ ...rest, done: [], failed: [], owes: true, work: NO_WORK }, ROOT, splits.of(ROOT).length),
  );
  /** The shard that is told of the work: one of them, the first. */
  let worked: number | null = null;
  const parts = await atHomes<TakenId>([...done, ...failed], splits, async (messages, shard, known) => {
    const newer = owes && shard !== ROOT ? await noteOwed() : null;
    if (newer !== null) return newer;
    const isFirst = worked === null;
    if (isFirst) worked = shard;
    const part: Outcome = {
      ...rest,
      done: messages.filter((message) => isDone.has(message)) as MessageCount[],
      failed: messages.filter((message) => !isDone.has(message)),
      ...(owes && shard === ROOT && { owes }),
      ...(rest.work !== undefined && !isFirst && { work: NO_WORK }),
    };
    const answer = await call(part, shard, known);
    if (isFirst && splitsIn(answer) !== undefined) worked = null;
    return answer;
  });
  return joined(parts, isDone, worked);
}

function joined(parts: readonly Part<TakenId>[], isDone: ReadonlySet<TakenId>, worked: number | null): unknown {
  const answered = parts.filter(({ answer }) => answer.status === "fulfilled");
  const values = answered.length === 0 || parts.length === 1 ? valuesOf(parts) : valuesOf(answered);
  if (parts.length === 1) return values[0];
  for (const { shard, answer } of parts) {
    if (answer.status === "rejected")
      log.error("a shard of the ledger did not count", { shard, error: errorText(answer.reason) });
  }
  const counting = answered.filter((_part, i) => values[i] === null || readWatched(values[i]) !== null);
  const watched = values.flatMap((value) => readWatched(value) ?? []);
  if (counting.length === parts.length) return watched.length > 0 ? { watched } : null;
  const counted = counting.flatMap(({ messages }) => messages.filter((message) => isDone.has(message)));
  return new Partly({
    counted: new Set(counted.map(({ id }) => id)),
    watched,
    hasWork: counting.some(({ shard }) => shard === worked),
    newer: values.find((value) => value !== null && readWatched(value) === null),
  });
}

function once<T>(run: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= run();
    return result;
  };
}
