/** What handlers say of messages that no shard of the log knows of. */
import { evictDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { NOON, setClock } from "../../support/runtime/pipeline.ts";
import { control } from "./copies.ts";

it("the oldest of them counts for four hours after the last word, on disk, and then another may be the oldest", async () => {
  const clock = setClock(NOON);
  const HOUR_MS = 3_600_000;
  const oldest = async () => (await control().standing()).unnotedMs;
  expect(await oldest()).toBeNull();
  await control().unnoted(NOON - 2_000);
  await control().unnoted(NOON - 3_000);
  await control().unnoted(NOON - 1_000);
  expect(await oldest()).toBe(NOON - 3_000);
  clock.advance(4 * HOUR_MS - 1);
  await evictDurableObject(control());
  expect(await oldest()).toBe(NOON - 3_000);
  // Said again, as it comes again.
  await control().unnoted(NOON - 1_000);
  clock.advance(4 * HOUR_MS - 1);
  expect(await oldest()).toBe(NOON - 3_000);
  clock.advance(1);
  expect(await oldest()).toBeNull();
  await control().unnoted(NOON);
  expect(await oldest()).toBe(NOON);
  // What a clock that was ahead has said holds nothing back.
  clock.advance(-5 * HOUR_MS);
  expect(await oldest()).toBeNull();
});
