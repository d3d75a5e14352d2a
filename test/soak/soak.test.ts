/** Random faults for a chosen time. `npm run soak` sets the duration and the seed. */
import { abortAllDurableObjects, listDurableObjectIds, reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { inject, it, vi } from "vitest";
import { alive } from "../support/runtime/world-jobs.ts";
import { episode } from "./episode.ts";

const { seed, first, episodes, minutes } = inject("soak");

/** Longer than any episode takes, in ms. */
const EPISODE_MAX_MS = 120_000;

/** Bindings whose objects an episode uses. */
const OBJECTS = [env.CONTROL, env.TRACE_LOG, env.READERS, env.REPLAYS];

/**
 * Deletes all storage. `reset()` leaves an object as it is that a call still reaches, which its
 * caller has given up.
 */
async function deleteAll(): Promise<void> {
  await reset();
  for (const objects of OBJECTS as DurableObjectNamespace[]) {
    for (const id of await listDurableObjectIds(objects)) {
      await alive(() =>
        runInDurableObject(objects.get(id), async (_object, { storage }) => {
          await storage.deleteAlarm();
          await storage.deleteAll();
          await storage.sync();
        }),
      );
    }
  }
  // What they remember goes, too.
  await abortAllDurableObjects();
}

it(`soak of seed ${seed}`, { timeout: minutes * 60_000 + EPISODE_MAX_MS }, async ({ task }) => {
  const total = { episodes: 0, events: 0, faults: 0, objects: 0 };
  const endMs = Date.now() + minutes * 60_000;
  for (let number = first; number < first + episodes && Date.now() < endMs; number++) {
    try {
      const summary = await episode(seed * 1_000_003 + number);
      console.log(`soak: seed ${seed}, episode ${number}: ${JSON.stringify(summary)}`);
      total.episodes += 1;
      total.events += summary.events;
      total.faults += summary.faults;
      total.objects += summary.objects;
    } catch (error) {
      const again = `npm run soak -- --seed ${seed} --episode ${number}`;
      console.log(`soak: seed ${seed}, episode ${number} failed: ${(error as Error).message}`);
      throw new Error(`episode ${number} of seed ${seed} (again: ${again}): ${(error as Error).message}`);
    } finally {
      vi.restoreAllMocks();
      await deleteAll();
    }
  }
  if (total.faults === 0) throw new Error("no fault took place");
  console.log(`soak: seed ${seed}: the end`);
  task.meta.fault = { row: `soak of seed ${seed}, ${total.episodes} episodes`, ...total };
});
