import { expect, it } from "vitest";
import { findingsOf } from "../../../src/operate/status/rules.ts";
import { account, facts } from "../../operate/status/samples.ts";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { control, message, open, shard } from "./shard.ts";

it("a shard knows what the queue last said of its backlog, and what does not come from the queue says nothing", async () => {
  setClock(NOON);
  control();
  const told = async () => {
    const { queueBacklog, queueBytes } = await shard().accountStatus();
    return [queueBacklog, queueBytes];
  };
  expect(await told()).toEqual([null, null]);
  await shard().append(open([message(1)], { queue: { backlog: 7, backlogBytes: 20e9, doneMs: 0 } }));
  expect(await told()).toEqual([7, 20e9]);
  const status = await shard().accountStatus();
  expect(findingsOf(facts({ account: account({ status }) })).map(({ kind }) => kind)).toContain("queue_large");
  await shard().append(open([message(2)]));
  expect(await told()).toEqual([7, 20e9]);
  await shard().append(open([message(3)], { queue: { backlog: 8, backlogBytes: null, doneMs: 0 } }));
  expect(await told()).toEqual([8, null]);
});
