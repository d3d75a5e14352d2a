/**
 * Questions of an engineer on call about a made incident set. tools/bench/questions.ts asks all of
 * them.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { Player } from "../../tools/bench/questions/player.ts";
import { MOST, played, QUESTIONS } from "../../tools/bench/questions/twelve.ts";
import { IncidentWorld, QUICK_MS, SETTINGS } from "../../tools/bench/questions/world.ts";
import { complaints } from "./browser.ts";
import { ownStage } from "./shared.ts";

const stage = ownStage(SETTINGS);

let world: IncidentWorld;
let player: Player;
let said: string[];
beforeAll(async () => {
  world = await IncidentWorld.on(stage().shipper, Date.now() - QUICK_MS);
  await world.happened(Date.now());
  await world.settled();
  await world.found("function_failing");
  const page = await stage().signedIn({ viewport: { width: 1_440, height: 900 } });
  said = complaints(page);
  player = new Player(page);
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** Those that need no time to pass. */
const ASKED: ReadonlySet<number> = new Set([1, 4, 5, 7, 8]);

it.each(QUESTIONS.filter(({ number }) => ASKED.has(number)))("$asks", async (question) => {
  const { fault, answer, clicks } = await played(question, player, world);
  expect(fault).toBeNull();
  expect(answer).not.toBe("");
  expect(clicks).toBeLessThanOrEqual(MOST.clicks);
  expect(said).toEqual([]);
});
