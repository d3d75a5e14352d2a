/** Random faults for a chosen time. `npm run soak` sets the duration and the seed. */
import { inject, it, vi } from "vitest";
import { deleteLeftovers } from "../support/runtime/leftovers.ts";
import { episode } from "./episode.ts";

const { seed, first, episodes, minutes } = inject("soak");

/** Longer than any episode takes, in ms. */
const EPISODE_MAX_MS = 120_000;

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
      await deleteLeftovers();
    }
  }
  if (total.faults === 0) throw new Error("no fault took place");
  console.log(`soak: seed ${seed}: the end`);
  task.meta.fault = { row: `soak of seed ${seed}, ${total.episodes} episodes`, ...total };
});
