import type { JobsSnapshot } from "../job/config.ts";
import { APPEND_MAX_RAW_BYTES, ID_MEMORY_MS } from "../limits.ts";
import type { CommitAppend } from "../object/append.ts";
import { type Loaded, load } from "../object/load.ts";
import { commitAndCount } from "../pipeline/commit.ts";
import type { Platform } from "../platform.ts";
import { decodeEnvelope } from "../queue/message.ts";
import { InForce } from "../set-aside/in-force.ts";
import type { DebtRows, Payable } from "./debt-rows.ts";

/** Read at once, as stored: messages, and bytes of bodies and blobs. */
const READ = { messages: 50, bytes: 2_000_000 };

/**
 * From this age on, in ms, it may be forgotten whether a job was enabled when a message came. Until
 * then the control plane knows; after it, what was noted with the debt decides.
 */
const WINDOWS_LAST_MS = ID_MEMORY_MS - 86_400_000;

export interface PayContext {
  append: CommitAppend;
  platform: Pick<Platform, "now">;
  /** Whether to stop after the group that is under way. */
  isOver(): boolean;
  /** A transaction of the store. */
  commit(change: () => void): void;
}

/**
 * Pays one job what it is owed, in groups of bounded size, in the order in which it came. It is the
 * consumer's own commit: a message that the log has already changes nothing, and filter and format
 * are those of now.
 * @returns whether all was paid; false: the time is over.
 * @throws if the job could not take a group. What it took before is paid.
 */
export async function payJob(job: number, jobs: JobsSnapshot, rows: DebtRows, context: PayContext): Promise<boolean> {
  const own = jobs.jobs.filter(({ id }) => id === job);
  let last = 0;
  for (;;) {
    const read = rows.payable(job, last, READ.messages, READ.bytes);
    if (read.length === 0) return true;
    last = read.at(-1)?.number ?? last;
    for (const group of await groupsOf(read, context.platform.now())) {
      if (own.length > 0) await payGroup(job, group, { ...jobs, jobs: own }, context);
      context.commit(() =>
        rows.paid(
          job,
          group.map(({ payable }) => payable.number),
        ),
      );
      if (context.isOver()) return rows.payable(job, 0, 1, 1).length === 0;
    }
  }
}

interface Member {
  payable: Payable;
  /** Its parts. */
  loaded: readonly Loaded[];
}

/** An old message stands alone: what was in force at its intake is noted with it. */
async function groupsOf(payables: readonly Payable[], nowMs: number): Promise<Member[][]> {
  const groups: Member[][] = [];
  let size = 0;
  for (const payable of payables) {
    const loaded = await read(payable);
    const added = loaded.reduce((sum, part) => sum + part.size, 0);
    const last = groups.at(-1);
    const isApart = isOld(payable, nowMs) || (last?.[0] !== undefined && isOld(last[0].payable, nowMs));
    if (last === undefined || isApart || size + added > APPEND_MAX_RAW_BYTES) {
      groups.push([{ payable, loaded }]);
      size = added;
    } else {
      last.push({ payable, loaded });
      size += added;
    }
  }
  return groups;
}

/** As a redelivery: the log is asked first whether it has the message. */
async function read({ number, body, blob }: Payable): Promise<readonly Loaded[]> {
  const delivery = { body, envelope: decodeEnvelope(body), attempts: 2 };
  const loading = await load(delivery, { get: async () => (blob === null ? null : new Uint8Array(blob)) });
  // It was read when it was owed.
  if (loading.kind !== "loaded") throw new Error(`what is owed cannot be read any more: message ${number}`);
  return loading.loaded;
}

const isOld = ({ takenInMs }: Payable, nowMs: number): boolean => nowMs - takenInMs > WINDOWS_LAST_MS;

async function payGroup(job: number, group: readonly Member[], jobs: JobsSnapshot, context: PayContext): Promise<void> {
  const nowMs = context.platform.now();
  const first = group[0]?.payable;
  const inForce =
    first !== undefined && isOld(first, nowMs)
      ? // The log of a deleted job stays while it is owed anything.
        new InForce({ jobs: [job], off: [...first.off], kept: [] }, first.takenInMs, () => true)
      : null;
  const append: CommitAppend = async (config, build, messages) => {
    const result = await context.append(inForce?.original(config) ?? config, build, messages);
    return result.kind === "stale" && inForce !== null ? { kind: "stale", job: inForce.jobOf(result.job) } : result;
  };
  const { failed } = await commitAndCount(
    group.flatMap(({ loaded }) => loaded),
    inForce?.snapshotOf(jobs) ?? jobs,
    { backlog: null, doneMs: 0, isFirst: false },
    // They were counted when they came.
    { append, count: async () => null },
  );
  if (failed.size > 0) throw new Error("the log did not take what is owed");
}
