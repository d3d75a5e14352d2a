import { shardsOf } from "../log/log-shards.ts";
import { type Following, nodeName, nodeOf } from "../log/nodes.ts";

export type Reader = ReturnType<Env["READERS"]["getByName"]>;

/** Bindings by which the readers of a job are found. */
export type ReaderBindings = Pick<Env, "READERS" | "CONTROL">;

/** What a node of a job has answered. */
export interface Answered<A> {
  node: number;
  answer: A;
}

/** A node of a job, by its number. */
export function nodeAt(readers: Env["READERS"], jobId: number, node: number): Reader {
  return readers.getByName(nodeName(jobId, node));
}

/**
 * Asks every node of a job: side by side for the shards of the log, and of each the segments one
 * after another.
 * @param ask null: the node has no job yet.
 * @param shards absent: the control plane is asked.
 * @returns the answers in the order of the nodes.
 * @throws if one does not answer.
 */
export async function eachNode<A extends Following>(
  env: ReaderBindings,
  jobId: number,
  ask: (reader: Reader, node: number) => Promise<A | null>,
  shards?: readonly number[],
): Promise<Answered<A>[]> {
  const chain = async (shard: number): Promise<Answered<A>[]> => {
    const found: Answered<A>[] = [];
    for (let segment = 0; ; segment++) {
      const node = nodeOf(shard, segment);
      const answer = await ask(nodeAt(env.READERS, jobId, node), node);
      if (answer === null) return found;
      found.push({ node, answer });
      if (!answer.sealed) return found;
    }
  };
  return (await Promise.all((shards ?? (await shardsOf(env))).map(chain))).flat();
}
