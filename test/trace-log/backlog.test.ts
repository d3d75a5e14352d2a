import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { findingsOf } from "../../src/status/rules.ts";
import { type Outcome, traceLog } from "../../src/trace-log/trace-log.ts";
import { account, facts } from "../status/samples.ts";
import { NOON, setClock } from "../support/runtime/pipeline.ts";

const ledger = () => traceLog(env.TRACE_LOG, 0);
const counted = (n: number, said: Partial<Outcome>) =>
  ledger().count({
    done: [
      {
        ...{ id: `${n}`.padStart(32, "0"), takenInMs: NOON, keyed: false },
        ...{ events: 1, routed: 1, notEnabled: 0, notRouted: 0, functions: [] },
      },
    ],
    ...{ failed: [], backlog: 7, state: "other.1" },
    ...said,
  });

it("the ledger knows what the queue last said of its backlog, and earlier code says less", async () => {
  setClock(NOON);
  const told = async () => {
    const { queueBacklog, queueBytes } = await ledger().status();
    return [queueBacklog, queueBytes];
  };
  expect(await told()).toEqual([null, null]);
  await counted(1, { backlogBytes: 20e9 });
  expect(await told()).toEqual([7, 20e9]);
  const status = await ledger().status();
  expect(findingsOf(facts({ account: account({ status }) })).map(({ kind }) => kind)).toContain("queue_large");
  await counted(2, {});
  expect(await told()).toEqual([7, null]);
});
