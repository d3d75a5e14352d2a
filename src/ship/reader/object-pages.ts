import { type Following, nodeOfNumber, placeOf } from "../log/nodes.ts";
import { findNode, nodeWith } from "./all-readers.ts";
import { eachNode, nodeAt, type Reader, type ReaderBindings } from "./job-nodes.ts";
import type { EventSpan } from "./objects.ts";
import type { AsideObject, ObjectEntry } from "./statuses.ts";
import type { UnmadeNote } from "./unmade.ts";

interface Page<E> {
  entries: E[];
  total: number;
}

/**
 * Objects of a job from the oldest to the newest, and how many there are in all: those with a
 * number above `after`, by number, if the log has one shard. Numbers of different shards tell
 * nothing about time: there, `after` stands for the time at which that object was cut, and what was
 * cut at the same time goes by number. Clocks of shards may differ by a moment.
 * @param span only those that have events of this time.
 */
export async function jobObjects(
  env: ReaderBindings,
  jobId: number,
  after: number,
  limit: number,
  span?: EventSpan,
): Promise<Page<ObjectEntry>> {
  const ask = (log: Reader, _before: number, atMost: number) => log.objects(after, atMost, undefined, span);
  const page = await paged(env, jobId, limit, ask);
  if (isOfOneShard(page.nodes)) return page;
  const from = await cursor(env, jobId, after, 1, page.nodes);
  const counts = await Promise.all(
    page.nodes.map((node) => nodeAt(env.READERS, jobId, node).objects(from.number, 0, from.cutMs, span)),
  );
  const nodes = page.nodes.filter((_, i) => (counts[i]?.total ?? 0) > 0);
  const entries = await byTime(nodes, from, limit, 1, async (node, { number, cutMs }, atMost) => {
    return (await nodeAt(env.READERS, jobId, node).objects(number, atMost, cutMs, span)).entries;
  });
  return { entries, total: counts.reduce((sum, { total }) => sum + total, 0) };
}

/** The same from the newest to the oldest, of what was before; `total` is of all. */
export async function jobObjectsBefore(
  env: ReaderBindings,
  jobId: number,
  before: number,
  limit: number,
  span?: EventSpan,
): Promise<Page<ObjectEntry>> {
  const answers = await eachNode(env, jobId, (log) => log.objects(0, 0, undefined, span));
  const total = answers.reduce((sum, { answer }) => sum + answer.total, 0);
  const nodes = answers.filter(({ answer }) => answer.total > 0).map(({ node }) => node);
  const ask = async (node: number, { number, cutMs }: Cursor, atMost: number): Promise<ObjectEntry[]> =>
    nodeAt(env.READERS, jobId, node).objectsBefore(number, atMost, cutMs, span);
  if (!isOfOneShard(answers.map(({ node }) => node))) {
    const from = await cursor(env, jobId, before, -1, nodes);
    return { entries: await byTime(nodes, from, limit, -1, ask), total };
  }
  const entries: ObjectEntry[] = [];
  for (const node of nodes.reverse()) {
    if (entries.length < limit) entries.push(...(await ask(node, { number: before }, limit - entries.length)));
  }
  return { entries, total };
}

/** One object of a job; null: there is none of this number (any more). */
export async function jobObject(env: ReaderBindings, jobId: number, number: number): Promise<ObjectEntry | null> {
  const { entries = [] } = (await (await findNode(env, jobId, number))?.objects(number - 1, 1)) ?? {};
  return entries[0]?.number === number ? entries[0] : null;
}

/**
 * A page of a job's set-aside objects, node by node, the oldest first in each, and how many there
 * are in all.
 */
export async function jobAside(
  env: ReaderBindings,
  jobId: number,
  offset: number,
  limit: number,
): Promise<Page<AsideObject> & { unmade: (UnmadeNote & { node: number })[] }> {
  const unmade: (UnmadeNote & { node: number })[] = [];
  const { entries, total } = await paged(env, jobId, limit, async (reader, before, atMost, node) => {
    const page = await reader.asideObjects(Math.max(0, offset - before), atMost);
    if (!unmade.some((each) => each.node === node)) unmade.push(...page.unmade.map((note) => ({ ...note, node })));
    return { ...page, entries: page.entries as AsideObject[] };
  });
  return { entries, total, unmade };
}

/** Its numbers tell the order of time. */
function isOfOneShard(nodes: readonly number[]): boolean {
  return nodes.every((node) => placeOf(node).shard === placeOf(nodes[0] ?? 0).shard);
}

/**
 * The first entries of a job, node by node, and how many there are. The first node is asked for
 * them at once; the others for their number alone, until it is known whose entries are needed.
 * @param ask for at most so many entries; `before`: how many the nodes before have in all.
 */
async function paged<E>(
  env: ReaderBindings,
  jobId: number,
  limit: number,
  ask: (reader: Reader, before: number, atMost: number, node: number) => Promise<Following & Page<E>>,
): Promise<Page<E> & { nodes: number[] }> {
  const answers = await eachNode(env, jobId, (log, node) => ask(log, 0, node === 0 ? limit : 0, node));
  const entries: E[] = [];
  let total = 0;
  for (const { node, answer } of answers) {
    const missing = limit - entries.length;
    const isAsked = node === 0 || missing === 0 || answer.total === 0;
    entries.push(...(isAsked ? answer : await ask(nodeAt(env.READERS, jobId, node), total, missing, node)).entries);
    total += answer.total;
  }
  return { entries, total, nodes: answers.map(({ node }) => node) };
}

/** From where a list goes on: beyond this number; or this time, in ms, and then this number. */
interface Cursor {
  number: number;
  cutMs?: number | undefined;
}

/** Later than any time, in ms, and beyond any number. */
const END = Number.MAX_SAFE_INTEGER;

/**
 * Where a list begins that goes on from this number. If there is no such object (any more), it is
 * the nearest one of its node that leaves nothing out.
 * @param sign as in {@link byTime}. @param nodes that there are.
 */
async function cursor(
  env: ReaderBindings,
  jobId: number,
  number: number,
  sign: 1 | -1,
  nodes: readonly number[],
): Promise<Cursor> {
  if (!nodes.includes(nodeOfNumber(number))) return { number: END, cutMs: END };
  const node = nodeWith(env, jobId, number);
  const nearest = sign === 1 ? await node.objectsBefore(number + 1, 1) : (await node.objects(number - 1, 1)).entries;
  const [entry] = nearest as ObjectEntry[];
  if (entry !== undefined) return cursorAt(entry);
  return sign === 1 ? { number: 0, cutMs: 0 } : { number: END, cutMs: END };
}

/** Times are in ISO 8601. */
const cursorAt = ({ number, cut_at }: ObjectEntry): Cursor => ({ number, cutMs: Date.parse(cut_at) });

/**
 * Objects of several nodes in the order of their cuts. Of each node a part is asked for at a time:
 * all together are not to be many times as much as is needed.
 * @param sign 1: the oldest first; -1: the newest.
 * @param ask for objects of a node beyond the cursor, in that order.
 */
async function byTime(
  nodes: readonly number[],
  from: Cursor,
  limit: number,
  sign: 1 | -1,
  ask: (node: number, from: Cursor, atMost: number) => Promise<ObjectEntry[]>,
): Promise<ObjectEntry[]> {
  const atMost = Math.max(10, Math.ceil((2 * limit) / nodes.length));
  const first = async (node: number): Promise<Part> => ({ node, entries: await ask(node, from, atMost) });
  let parts = await Promise.all(nodes.map(first));
  const isEarlier = (a: ObjectEntry, b: ObjectEntry): boolean =>
    a.cut_at === b.cut_at ? sign * (a.number - b.number) < 0 : a.cut_at < b.cut_at === (sign === 1);
  const entries: ObjectEntry[] = [];
  while (entries.length < limit) {
    parts = parts.filter((part) => part.entries.length > 0);
    let next: Part | undefined;
    for (const part of parts) {
      const [head, best] = [part.entries[0], next?.entries[0]];
      if (head !== undefined && (best === undefined || isEarlier(head, best))) next = part;
    }
    const entry = next?.entries.shift();
    if (next === undefined || entry === undefined) return entries;
    entries.push(entry);
    if (next.entries.length === 0) next.entries = await ask(next.node, cursorAt(entry), atMost);
  }
  return entries;
}

/** What is known of a node's objects. */
interface Part {
  node: number;
  entries: ObjectEntry[];
}
