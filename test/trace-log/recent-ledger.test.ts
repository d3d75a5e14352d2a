import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { encodeUtf8 } from "../../src/bytes.ts";
import type { JobsSnapshot } from "../../src/job/config.ts";
import { recordLine } from "../../src/record/encode.ts";
import { type MessageCount, traceLog } from "../../src/trace-log/trace-log.ts";
import { NOON, traceRecord } from "../record/samples.ts";

it("a ledger that holds what is no record takes new opt-outs all the same, and lets go of it", async () => {
  const ledger = traceLog(env.TRACE_LOG, 0);
  const line = (ScriptName: string) => recordLine(traceRecord({ ScriptName }));
  const lines = [line("shop"), "{}", line("till").replace('"till"', "till"), line("till")];
  const message: MessageCount = {
    ...{ id: "0".repeat(32), takenInMs: NOON, keyed: false },
    ...{ events: 4, routed: 4, notEnabled: 0, notRouted: 0, functions: [] },
    recent: { ndjson: encodeUtf8(lines.map((each) => `${each}\n`).join("")), tooLarge: 0 },
  };
  const held = async () =>
    new TextDecoder()
      .decode((await ledger.recent()).ndjson)
      .split("\n")
      .slice(0, -1);
  expect(await ledger.count({ done: [message], failed: [], backlog: 0, state: "epoch.1.a" })).toBeNull();
  expect(await held()).toEqual(lines);
  const optOuts = [{ scriptName: "till", windows: [{ fromMs: NOON, untilMs: null }] }];
  const newer: JobsSnapshot = { state: "epoch.2.b", jobs: [], optOuts, optOutVersion: 2 };
  expect(await ledger.keepJobs(newer)).toBe("epoch.2.b");
  expect(await held()).toEqual([line("shop")]);
  // An older snapshot changes nothing.
  const older = { ...newer, state: "epoch.1.a", optOuts: [{ ...optOuts[0], scriptName: "shop" }] } as JobsSnapshot;
  expect(await ledger.keepJobs(older)).toBe("epoch.2.b");
  expect(await held()).toEqual([line("shop")]);
});
