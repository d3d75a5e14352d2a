/** Races of the shards of a log that take a consumer in the middle of an append. */
import { env } from "cloudflare:workers";
import { it } from "vitest";
import { appendToChain } from "../../src/delivery/append-to-chain.ts";
import { KnownLog } from "../../src/delivery/known-logs.ts";
import type { TakenId } from "../../src/storage/id-memory.ts";
import { nodeName, nodeOf } from "../../src/trace-log/nodes.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";
import { builder, message, ShardedLog } from "./sharded.ts";

/** The logs as a consumer sees them while one node is slow to say what it holds. */
function slow(node: string, meanwhile: () => Promise<void>): typeof env.READERS {
  const getByName = (name: string): unknown => {
    const log = env.READERS.getByName(name);
    if (name !== node) return log;
    return {
      append: (append: never) => log.append(append),
      holds: async (messages: TakenId[]) => {
        await meanwhile();
        return log.holds(messages);
      },
    };
  };
  return { getByName } as unknown as typeof env.READERS;
}

it("what comes to a segment between a question and its seal is asked for again", async ({ expect }) => {
  setClock(NOON);
  const log = await ShardedLog.create();
  await log.split();
  const known = new KnownLog();
  known.learn(0, { sealed: false, splits: await log.splitsOf(0) });
  await log.split();
  const at = await log.beyond();
  const [own, first, second] = [message(1, 0), message(2, 1, at), message(3, 2, at)];
  // Shard 0 does not hold the first message, and says that the third is not its own. While shard 1
  // is slow, another consumer brings the first one, and this isolate hears that the segment is
  // full.
  const logs = slow(nodeName(log.job.id, nodeOf(1, 0)), async () => {
    await log.offer([own]);
    await log.fill(0);
    await log.offer([message(4, 0)], { known });
  });
  const batch = [own, first, second];
  const candidates = batch.map((each) => ({ ...each, isSuspect: true }));
  await appendToChain(logs, log.job, builder(log.job, batch), candidates, known);
  expect(await log.copies(batch)).toEqual([1, 1, 1]);
  expect(await log.received()).toEqual({ 0: 1, 1: 1, [nodeOf(1, 0)]: 1, [nodeOf(2, 0)]: 1 });
});
