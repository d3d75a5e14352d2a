import { describe, expect, it } from "vitest";
import { appendToChain } from "../../src/delivery/append-to-chain.ts";
import type { DeliveryLog } from "../../src/delivery/delivery-log.ts";
import type { Append, AppendResult } from "../../src/object/append.ts";
import { id, job } from "../pipeline/scripted.ts";
import { NOON } from "../record/samples.ts";

const MESSAGES = [1, 2, 3].map((n) => ({
  id: id(n),
  takenInMs: NOON,
  keyed: false,
  received: 1,
  filtered: 0,
  sampledOut: 0,
}));

const CANDIDATES = MESSAGES.map((message) => ({ ...message, isSuspect: false }));

/** Logs that answer appends as the script says, and repeat its last answer. */
function logs(script: AppendResult[]): { namespace: DurableObjectNamespace<DeliveryLog>; calls: string[] } {
  const calls: string[] = [];
  const getByName = (name: string) => ({
    async append({ messages }: Append): Promise<AppendResult> {
      calls.push(`${name}: ${messages.length}`);
      const [answer] = script.length > 1 ? script.splice(0, 1) : script;
      return answer ?? { kind: "taken" };
    },
    configure: async () => ({ sealed: false, version: 1 }),
  });
  return { namespace: { getByName } as unknown as DurableObjectNamespace<DeliveryLog>, calls };
}

const build = (without: ReadonlySet<string>): Append => ({
  version: 1,
  messages: MESSAGES.filter((message) => !without.has(message.id)),
  fragments: [],
  queueDoneMs: 0,
});

describe("an append", () => {
  it.for<[string, AppendResult]>([
    ["that it is behind, however often it is configured", { kind: "behind" }],
    ["of every segment that it is full", { kind: "full", ids: [] }],
    ["that it knows messages, and not which", { kind: "known", ids: [] }],
    ["that it knows messages that it was not asked about", { kind: "known", ids: ["another"] }],
  ])("is given up where the log says %s", async ([_what, answer]) => {
    const { namespace, calls } = logs([answer]);
    await expect(appendToChain(namespace, job(1), build, CANDIDATES)).rejects.toThrow("no answer that leads on");
    expect(calls.length).toBeLessThan(1_010);
  });

  it("goes on as long as each answer leads on, over as many segments as there are", async () => {
    const full = (...ids: string[]): AppendResult => ({ kind: "full", ids });
    const { namespace, calls } = logs([
      { kind: "behind" },
      full(id(1)),
      ...Array.from({ length: 20 }, () => [{ kind: "behind" } as const, full()]).flat(),
      { kind: "known", ids: [id(2)] },
      { kind: "taken" },
    ]);
    expect(await appendToChain(namespace, job(1), build, CANDIDATES)).toEqual({ kind: "taken" });
    expect(calls.slice(0, 3)).toEqual(["job 1 segment 0: 3", "job 1 segment 0: 3", "job 1 segment 1: 2"]);
    expect(calls.slice(-2)).toEqual(["job 1 segment 21: 2", "job 1 segment 21: 1"]);
  });
});
