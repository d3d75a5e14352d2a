import { childOf, ROOT } from "../storage/splits.ts";
import { KnownLog } from "./known-logs.ts";
import { type Following, nodeOf } from "./nodes.ts";

/** What a node of a log has answered. */
export interface Answered<A> {
  node: number;
  answer: A;
}

/**
 * Asks every node of a log, and follows what they say of others: a name that is merely computed
 * would create an empty object. The segments of a shard are asked one after another, then
 * its children side by side.
 * @param ask null: the node has no job yet.
 * @param known learns what they say; while a shard is asked, all that lead to it are known.
 * @returns the answers in the order of the nodes.
 * @throws if one does not answer.
 */
export async function walk<A extends Following>(
  ask: (node: number) => Promise<A | null>,
  known: KnownLog = new KnownLog(),
): Promise<Answered<A>[]> {
  const shardAndChildren = async (shard: number): Promise<Answered<A>[]> => {
    const found: Answered<A>[] = [];
    for (let segment = 0; ; segment++) {
      const node = nodeOf(shard, segment);
      const answer = await ask(node);
      if (answer === null) break;
      known.learn(node, answer);
      found.push({ node, answer });
      if (!answer.sealed) break;
    }
    const children = (known.splits.get(shard) ?? []).map(({ bit }) => shardAndChildren(childOf(shard, bit)));
    return [...found, ...(await Promise.all(children)).flat()];
  };
  return (await shardAndChildren(ROOT)).sort((a, b) => a.node - b.node);
}
