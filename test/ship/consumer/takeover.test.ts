/**
 * Large messages from each way of intake to the objects that take them over, which searches read
 * like any other.
 */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { concat, latin1 } from "../../../src/base/bytes.ts";
import { searchFor } from "../../operate/search/searched.ts";
import { readSingleMember } from "../../support/gzip-member.ts";
import type { Minted } from "../../support/oracle.ts";
import { NOON } from "../../support/runtime/pipeline.ts";
import { isTakeover, takingOver } from "../../support/runtime/takeover.ts";
import { World } from "../../support/runtime/world.ts";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

const LARGE = { padding: 3_000 };

const WAYS: readonly [string, (world: World, events: readonly Minted[]) => Promise<unknown>][] = [
  ["HTTP", (world, events) => world.take(events)],
  ["RPC", (world, events) => world.ship(events)],
  ["tail()", (world, events) => world.tail(events)],
];

/** The stream of a message, without its last block. */
function streamOf(body: Uint8Array): string {
  const head = new DataView(body.buffer, body.byteOffset).getUint32(28);
  // Behind the type and length of its block.
  return latin1(body.subarray(head + 5, -2));
}

const idOf = ({ Logs }: { [name: string]: unknown }): unknown => (Logs as { Message: string[] }[])[0]?.Message[0];

describe("what came by", () => {
  it.each(WAYS)("%s is in an object as it was compressed, and is found there", async (_way, send) => {
    const world = new World(NOON);
    const job = await world.createJob({ fields: { max_upload_interval_seconds: 30 } });
    await takingOver(world, () => send(world, world.mint(90, LARGE)));
    const events = world.mint(90, { ...LARGE, scriptName: "till" });
    await send(world, events);
    const streams = world.queue.held.filter(isTakeover).map(({ body }) => streamOf(body));
    expect(streams.length).toBeGreaterThan(1);
    await world.settle();
    const objects = (await job.buckets[0]?.control.contents()) ?? [];
    const members = objects.filter(({ key }) => key.endsWith(".log.gz")).map(({ bytes }) => bytes);
    const bytes = latin1(concat(members));
    for (const stream of streams) expect(bytes.includes(stream)).toBe(true);
    expect(members.every((member) => readSingleMember(member).ok)).toBe(true);
    const span = { since: new Date(NOON - 1_000).toISOString(), until: new Date(NOON + 3_600_000).toISOString() };
    const searched = (scriptName: string) =>
      searchFor({
        ...span,
        job_id: job.id,
        limit: 1_000,
        filter: `{"where":{"key":"ScriptName","operator":"eq","value":"${scriptName}"}}`,
      });
    const found = await searched("till");
    expect(found.hits.map(({ record }) => idOf(record)).sort()).toEqual(events.map(({ id }) => id).sort());
    expect(found.end).toMatchObject({ complete: true, not_searched: [] });
    // As their sketches say.
    const { progress, hits } = await searched("cart");
    expect([hits, progress.at(-1)]).toMatchObject([[], { objects: members.length, skipped: members.length, read: 0 }]);
    await world.finish();
  });
});
