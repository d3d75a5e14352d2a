/**
 * Large messages are taken over as they are compressed, between others that are compressed anew, in
 * objects of one log that dies meanwhile.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, vi } from "vitest";
import { ControlPlane } from "../../src/index.ts";
import { isTakeover, takingOver } from "../support/runtime/takeover.ts";
import type { World } from "../support/runtime/world.ts";
import { rule } from "../support/s3-script.ts";
import { row } from "./row.ts";
import { controlOf, PUTS, pass } from "./stores.ts";

const DAY_MS = 86_400_000;

/** Records of which some fifty fill what is taken over at least. */
const LARGE = { padding: 3_000 };

/** Logging of `till` is switched this long before and after events are taken in, in ms. */
const CLOCKS_MS = 1_000;

/** Large messages of every kind, and small ones. @returns how many are to be taken over. */
async function takeMixed(world: World): Promise<number> {
  const at = world.clock.nowMs();
  const [shop, till] = [world.mint(50, LARGE), world.mint(50, { ...LARGE, scriptName: "till" })];
  const truncated = world.mint(1, { padding: 20_000 });
  for (const request of [
    world.mint(90, LARGE),
    world.mint(5),
    shop.flatMap((event, i) => [event, till[i] ?? event]),
    [...world.mint(50, LARGE), ...truncated, ...world.mint(40, LARGE)],
    world.mint(90, { ...LARGE, days: 2 }),
    world.mint(90, { ...LARGE, at: at - DAY_MS }),
    world.mint(90, { ...LARGE, outcome: "exception" }),
  ])
    await world.take(request);
  return world.queue.held.filter(isTakeover).length;
}

const FILTER = JSON.stringify({ where: { key: "Outcome", operator: "eq", value: "ok" } });

describe("messages that are taken over", () => {
  for (const [what, action] of [
    ["the store takes nothing", { do: "answer", status: 503 }],
    ["every answer of the store is lost", { do: "reset", when: "after" }],
  ] as const)
    row(
      `a log dies with what was taken over and what was compressed anew in its objects, while ${what}`,
      async (world) => {
        const job = await world.createJob();
        await world.createJob({ path: "logs/{SCRIPT}/dt={DATE_ISO}/hour={HOUR}" });
        await world.createJob({ fields: { filter: FILTER }, keeps: ({ record }) => record.Outcome === "ok" });
        for (const options of [{ rows: "log" }, { truncate: false }]) {
          const output_options = { field_names: ["EventTimestampMs", "ScriptName"], ...options };
          await world.createJob({ fields: { output_options }, audit: { idOf: world.oracle.idByTime } });
        }
        await takingOver(world, () => world.take(world.mint(90, LARGE)));
        const control = controlOf(job);
        await control.script([rule(action, PUTS)]);
        expect(await takeMixed(world)).toBeGreaterThan(5);
        await world.deliverDue();
        await pass(world, 60_000);
        await abortAllDurableObjects();
        world.injected();
        await world.jobs.setLogging("till", false);
        world.clock.advance(CLOCKS_MS);
        expect(await takeMixed(world)).toBeGreaterThan(5);
        // Its readers make it from the messages.
        const configSince = vi
          .spyOn(ControlPlane.prototype, "configSince")
          .mockRejectedValue(new Error("out of reach"));
        world.coldIsolate();
        await world.deliverDue();
        configSince.mockRestore();
        await control.script([]);
        await world.settle();
      },
    );
});
